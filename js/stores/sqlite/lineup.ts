/**
 * How the lanes of a file stand, and what stands still in it: read from the row of counters, which every transaction reads anyhow.
 *
 * In a file for everyone all lanes are written as those of no principal. Their names still say whose they are, and tasks keep their
 * principals. So one index holds one line, in which a claim finds the first as fast as in any.
 */

import type { Pause } from '../../api/registry.ts'
import type { Lineup } from '../engine/lineup.ts'
import { parsed } from '../engine/shown.ts'
import { areCounts } from '../engine/tally.ts'
import { pausedBy } from '../shared-settings.ts'
import type { Database } from '../sql/database.ts'
import { ORIGIN } from '../sql/line.ts'
import { OWNER } from '../sql/own-counts.ts'
import type { State } from '../sql/state.ts'
import { otherLine } from './errors.ts'
import { areSharesSound, countShares, laneIndexes } from './shares.ts'
import { restoreTokens, type Tokens } from './tokens.ts'
import { endedIndexes } from './unreported.ts'

/** Layout 5, of a file alone: which way its lanes stand, what is paused, and the settings that processes share. */
export const SHARED: string = `
ALTER TABLE state ADD COLUMN line TEXT NOT NULL DEFAULT 'own';
ALTER TABLE state ADD COLUMN pauses INTEGER NOT NULL DEFAULT 0;
ALTER TABLE state ADD COLUMN registry INTEGER NOT NULL DEFAULT 0;
CREATE TABLE pauses (id TEXT PRIMARY KEY, pause TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE registry (name TEXT PRIMARY KEY, version INTEGER NOT NULL, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
`

/** Its columns in the row of counters. */
export interface SharedState {
  /** 'everyone', or 'own': each principal has a line of its own. */
  readonly line: string
  /** How many there are. */
  readonly pauses: number
  /** The version of the registry. */
  readonly registry: number
}

const lineOf = (everyone: boolean): 'everyone' | 'own' => (everyone ? 'everyone' : 'own')

/** The lanes as a transaction finds them. Throws where tasks stand in the other way. */
export function lineupIn(
  database: Database,
  state: State & Partial<SharedState>,
  everyone: boolean,
  path: string,
): Lineup {
  if (state.line === lineOf(!everyone)) turnLanes(database, everyone, path)
  if ((state.pauses ?? 0) > 0) return { everyone, isPaused: pausedBy(pausesIn(database)) }
  return everyone ? { everyone, openOrigins: (isOpen) => openOrigins(database, isOpen) } : { everyone }
}

/** More open ones than this are not looked at one by one. */
const FEW = 64

/** A step down an index for each origin that has lanes in line, which may be thousands each. */
const ORIGINS = `WITH RECURSIVE origins (origin) AS (
    SELECT (SELECT ${ORIGIN} FROM line INDEXED BY line_origin ORDER BY ${ORIGIN} LIMIT 1)
    UNION ALL
    SELECT (SELECT ${ORIGIN} FROM line INDEXED BY line_origin WHERE ${ORIGIN} > origin ORDER BY ${ORIGIN} LIMIT 1)
      FROM origins WHERE origin IS NOT NULL
  ) SELECT json_group_array(origin) AS origins FROM origins WHERE origin IS NOT NULL`

function openOrigins(database: Database, isOpen: (origin: string) => boolean): readonly string[] | undefined {
  const { origins } = database.one<{ readonly origins: string }>(ORIGINS) ?? { origins: '[]' }
  const open = (JSON.parse(origins) as readonly string[]).filter(isOpen)
  return open.length > FEW ? undefined : open
}

/** By whatever order they lie in; one that other code has made unreadable is none. */
export const pausesIn = (database: Database): readonly Pause[] =>
  database
    .all<{ readonly pause: string }>('SELECT pause FROM pauses')
    .flatMap(({ pause }) => (parsed(pause) as Pause | undefined) ?? [])

export const sharedState = (database: Database): SharedState | undefined =>
  database.one('SELECT line, pauses, registry FROM state WHERE id = 1')

/** Throws where a file has tasks that stand in the other way. */
export function refuseOtherLine(database: Database, everyone: boolean, path: string): void {
  const found = 'SELECT 1 FROM state WHERE id = 1 AND line = ? AND EXISTS (SELECT 1 FROM tasks)'
  if (database.one(found, lineOf(!everyone))) throw otherLine(path, everyone)
}

/** In a transaction. A file without tasks has holds of lanes at most, which may stand in either way. */
export function turnLanes(database: Database, everyone: boolean, path: string): void {
  refuseOtherLine(database, everyone, path)
  database.run(`UPDATE lanes SET principal = ${everyone ? 'NULL' : OWNER}`)
  database.run('DELETE FROM line')
  database.run('DELETE FROM shares')
  database.run('DELETE FROM lanes WHERE heldUntil = 0')
  database.run('UPDATE lanes SET tat = 0, tokenAt = 0')
  indexForEveryone(database, everyone)
  database.run('UPDATE state SET line = ? WHERE id = 1', lineOf(everyone))
}

const indexed = (database: Database): number =>
  database.one<{ readonly n: number }>(
    "SELECT count(*) AS n FROM sqlite_schema WHERE name IN ('line_origin', 'tasks_untold', 'lanes_rated', 'lanes_own')",
  )?.n ?? 0

/** Indexes that only files for everyone have: others have no use for them, and would write the line by origin with each place. */
function indexForEveryone(database: Database, everyone: boolean): void {
  database.run('DROP INDEX IF EXISTS line_origin')
  if (everyone)
    database.run(`CREATE INDEX line_origin ON line (${ORIGIN}, home, principal, inFlight, rank, served, dueAt, lane)`)
  for (const sql of [...endedIndexes(everyone), ...laneIndexes(everyone)]) database.run(sql)
}

const PAUSES = '(SELECT count(*) FROM pauses)'
const VERSION = "(SELECT coalesce(max(version), 0) FROM registry WHERE typeof(version) = 'integer')"

/** A lane that stands apart, as only those of a file for everyone do. */
const APART = `SELECT 1 FROM line JOIN lanes ON name = lane WHERE line.principal IS NOT NULL AND lanes.principal IS NULL LIMIT 1`

/** Whether lanes stand as they are asked for, and no other code has written here what this cannot go by. */
export function isSharedSound(database: Database, everyone: boolean, now: number): boolean {
  const found = database.one<SharedState & Readonly<Record<'counted' | 'last', number>>>(
    `SELECT line, pauses, registry, ${PAUSES} AS counted, ${VERSION} AS last FROM state WHERE id = 1`,
  )
  if (found?.line !== lineOf(everyone) || indexed(database) !== (everyone ? 4 : 0)) return false
  if (found.pauses !== found.counted || !areCounts(found.registry) || found.registry < found.last) return false
  return areSharesSound(database, everyone, now) && (everyone || !database.one(APART))
}

/** Whether the lanes of a file stand in one line. `asked`: where the file does not say so any more, it stands as it is opened. */
export function isForEveryone(database: Database, asked: boolean): boolean {
  const line = sharedState(database)?.line
  return line === 'own' ? false : line === 'everyone' || asked
}

/** In a transaction, after `mend`, which has made its lanes so. `tokens`: as they were before. */
export function mendShared(database: Database, everyone: boolean, tokens: Tokens): void {
  const registry = sharedState(database)?.registry
  indexForEveryone(database, everyone)
  countShares(database, everyone)
  if (everyone) restoreTokens(database, tokens)
  database.run(
    `UPDATE state SET line = ?, pauses = ${PAUSES}, registry = max(?, ${VERSION}) WHERE id = 1`,
    lineOf(everyone),
    areCounts(registry) ? (registry as number) : 0,
  )
}
