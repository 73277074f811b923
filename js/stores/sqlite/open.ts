/**
 * Opening the file, and its layout. A file is looked at without writing first, so that what is not ours, or is a later
 * version's, stays as it is. `user_version` numbers the layout: a higher one than ours is never opened (S20), a lower one is
 * brought up step by step, each in the transaction that raises the number.
 */

import { existsSync, statSync } from 'node:fs'
import { LINE, TABLES } from '../sql/tables.ts'
import { Connection } from './connection.ts'
import { isBusy, isReadOnly, newer, translated, unavailable } from './errors.ts'

/** 'rdrv': says whose file it is. */
export const APPLICATION_ID = 0x72647276

const FIRST = `${TABLES}
-- Apart from the tasks: claims never read them.
CREATE TABLE bodies (task INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT;
PRAGMA application_id = ${APPLICATION_ID};
`

/** The i-th brings layout i to layout i + 1. Never changed once published: files in the field were made by them. */
export const MIGRATIONS: readonly string[] = [FIRST, LINE]

export const LAYOUT: number = MIGRATIONS.length

/** How long a statement waits for another process's transaction. */
const BUSY_TIMEOUT_MS = 5_000
const TURN_TO_WAL_TRIES = 100
const TURN_TO_WAL_PAUSE_MS = 50

export function openDatabase(path: string): Connection {
  let database: Connection | undefined
  try {
    if (existsSync(path)) look(path)
    database = new Connection(path, { readOnly: false })
    database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`)
    turnToWal(database, path)
    database.exec('PRAGMA synchronous = NORMAL')
    migrate(database, path)
    return database
  } catch (error) {
    database?.close()
    throw translated(error, path)
  }
}

function look(path: string): void {
  const file = statSync(path)
  if (file.isDirectory()) throw unavailable(path, 'it is a folder; give the path of a file')
  if (file.size === 0) return
  try {
    lookAt(path, true)
  } catch (error) {
    if (!isReadOnly(error)) throw error
    // a process that was killed while it made the file has left a journal: a reader cannot undo what that undoes
    lookAt(path, false)
  }
}

function lookAt(path: string, readOnly: boolean): void {
  const database = new Connection(path, { readOnly })
  try {
    database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}; BEGIN`) // one sight of a file that another process may be making
    const layout = database.pragma('user_version')
    const owner = database.pragma('application_id')
    const tables = database.one<{ n: number }>('SELECT count(*) AS n FROM sqlite_schema')?.n ?? 0
    if (owner !== APPLICATION_ID && (tables > 0 || owner !== 0 || layout !== 0)) {
      throw unavailable(path, "it is another program's database; give another path")
    }
    refuseNewer(layout, path)
  } finally {
    database.close()
  }
}

export function refuseNewer(layout: number, path: string): void {
  if (layout > LAYOUT) throw newer(path, layout, LAYOUT)
}

/** The one step for which SQLite does not wait by itself when another process takes it too. */
function turnToWal(database: Connection, path: string): void {
  for (let tries = 1; ; tries++) {
    try {
      const mode = database.one<{ journal_mode: string }>('PRAGMA journal_mode = WAL')?.journal_mode
      if (mode === 'wal') return
      throw unavailable(path, 'its file system cannot hold a write-ahead log; give a path on a local disk')
    } catch (error) {
      if (!isBusy(error) || tries === TURN_TO_WAL_TRIES) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, TURN_TO_WAL_PAUSE_MS)
    }
  }
}

function migrate(database: Connection, path: string): void {
  if (database.pragma('user_version') === LAYOUT) return
  database.exec('BEGIN IMMEDIATE')
  try {
    const layout = database.pragma('user_version') // another process may have been first
    refuseNewer(layout, path)
    for (const step of MIGRATIONS.slice(layout)) database.exec(step)
    database.exec(`PRAGMA user_version = ${LAYOUT}; COMMIT`)
  } catch (error) {
    database.exec('ROLLBACK')
    throw error
  }
}
