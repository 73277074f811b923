/**
 * The layout of an object's storage. `PRAGMA user_version` may not be used there, so a table says which it is: a higher one
 * than ours is left as it is (S20), a lower one is brought up step by step.
 */

import { addSums } from '../sql/add-sums.ts'
import type { Database } from '../sql/database.ts'
import { LINE, LISTS, ROOM, SUMS, TABLES, WITH_SUMS } from '../sql/tables.ts'
import { newer, unavailable } from './errors.ts'

const FIRST = `${TABLES}
CREATE TABLE bodies (task INTEGER NOT NULL, part INTEGER NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY (task, part)) STRICT, WITHOUT ROWID;
CREATE TABLE redrive_layout (id INTEGER PRIMARY KEY CHECK (id = 1), layout INTEGER NOT NULL) STRICT;
INSERT INTO redrive_layout VALUES (1, 0);
`

/** The i-th brings layout i to layout i + 1. Never changed once published: objects in the field were made by them. */
const MIGRATIONS: readonly string[] = [FIRST, LINE, ROOM, SUMS, LISTS]

export const LAYOUT: number = MIGRATIONS.length

/** Throws, and has changed nothing, where the layout is a later version's, or the tables are another program's. */
export function bringUp(database: Database): void {
  const layout = layoutOf(database)
  if (layout > LAYOUT) throw newer(layout, LAYOUT)
  if (layout === LAYOUT) return
  database.apart(() => {
    if (layout === 0) refuseOthers(database)
    for (const step of MIGRATIONS.slice(layout)) database.run(step)
    if (layout > 0 && layout < WITH_SUMS) addSums(database)
    database.run('UPDATE redrive_layout SET layout = ?', LAYOUT)
  })
}

/** 0: there is none yet. */
function layoutOf(database: Database): number {
  if (!database.one("SELECT 1 FROM sqlite_schema WHERE name = 'redrive_layout'")) return 0
  return database.one<{ readonly layout: number }>('SELECT layout FROM redrive_layout')?.layout ?? 0
}

function refuseOthers(database: Database): void {
  const names = [...FIRST.matchAll(/CREATE (?:TABLE|INDEX) (\w+)/g)].map(([, name = '']) => name)
  const [taken] = database.all<{ readonly name: string }>(
    `SELECT name FROM sqlite_schema WHERE name IN (${names.map(() => '?').join(', ')}) ORDER BY name`,
    ...names,
  )
  if (!taken) return
  throw unavailable(
    `it has a '${taken.name}' of its own, where the queue would make one; rename that, or keep tasks in a class by itself`,
  )
}
