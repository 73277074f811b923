/**
 * The shares of principals and origins in a file for everyone: how much each has of it, the tokens that the lanes of an origin share, and
 * whether lanes wait in a line of their own, since it has as much as it may. They are kept as tasks change, so that no enqueue and no
 * claim has to count.
 *
 * A share goes by the name of a lane with the other part left out: an origin, or a space and a principal, and nothing for no principal.
 */

import { laneName, originIn, principalIn } from '../../api/records.ts'
import { type OwnCounts, SWEEP } from '../../api/store.ts'
import { LONGEST_HOLD_MS } from '../engine/bounds.ts'
import { type Bucket, type Rate, takeToken } from '../engine/limits.ts'
import { isOurs, takesRoom } from '../engine/row.ts'
import { firstTag, nextTag, TURN } from '../engine/turns.ts'
import { type Database, LIMIT } from '../sql/database.ts'
import { OWNER } from '../sql/own-counts.ts'
import { type TaskRow, tasksFrom } from '../sql/rows.ts'
import type { State } from '../sql/state.ts'
import type { Owner } from '../sql/transaction.ts'
import { keepToken } from './tokens.ts'

/** Kept for its tag alone. */
const IDLE = 'held = 0 AND inFlight = 0 AND done = 0 AND waits = 0 AND tat = 0'

export const SHARES: string = `
CREATE TABLE shares (
  name TEXT PRIMARY KEY,
  held INTEGER NOT NULL DEFAULT 0,
  bytes INTEGER NOT NULL DEFAULT 0,
  inFlight INTEGER NOT NULL DEFAULT 0,
  tat REAL NOT NULL DEFAULT 0,
  tokenAt REAL NOT NULL DEFAULT 0,
  waits INTEGER NOT NULL DEFAULT 0,
  dead INTEGER NOT NULL DEFAULT 0,
  done INTEGER NOT NULL DEFAULT 0,
  tag INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX shares_dead ON shares (dead DESC, name) WHERE dead > 0;
CREATE INDEX shares_done ON shares (done DESC, name) WHERE done > 0;
CREATE INDEX shares_waiting ON shares (tokenAt, name) WHERE waits = 1;
CREATE INDEX shares_idle ON shares (tag) WHERE ${IDLE};
CREATE INDEX shares_rated ON shares (tat) WHERE tat > 0;

ALTER TABLE state ADD COLUMN limited INTEGER NOT NULL DEFAULT 0;
ALTER TABLE lanes ADD COLUMN tat REAL NOT NULL DEFAULT 0;
ALTER TABLE lanes ADD COLUMN tokenAt REAL NOT NULL DEFAULT 0;
`

interface Counted {
  /** Tasks pending, in flight or dead letters; of an origin not counted, nor are their bytes. */
  held: number
  bytes: number
  /** Counted from the first claim on that has limits: `limited` in the row of counters says so. */
  inFlight: number
  /** Dead letters. */
  dead: number
  /** Tasks that have succeeded, or were cancelled. */
  done: number
}

export type Share = Readonly<Counted> & Readonly<Bucket>

export const shareOfPrincipal = (principal: string | null): string => laneName(principal, '')
export const isOfPrincipal = (name: string): boolean => name === '' || name.startsWith(' ')

const IS_PRINCIPALS = "substr(name, 1, 1) IN ('', ' ')"
/** Lanes that are kept for their tokens alone. */
const RATED_LANE = 'tasks = 0 AND tat > 0'

/** The indexes of lanes that no other file has: of such lanes, and of the lanes of a principal. */
export const laneIndexes = (everyone: boolean): readonly string[] => [
  'DROP INDEX IF EXISTS lanes_rated',
  'DROP INDEX IF EXISTS lanes_own',
  ...(everyone
    ? [`CREATE INDEX lanes_rated ON lanes (tat) WHERE ${RATED_LANE}`, `CREATE INDEX lanes_own ON lanes (${OWNER})`]
    : []),
]

interface Kept extends Counted, Bucket {
  /** A turn after the last that a principal's lanes were given (see `turns.ts`). */
  tag: number
}

const NOTHING_COUNTED: Counted = { held: 0, bytes: 0, inFlight: 0, dead: 0, done: 0 }
const NONE: Kept = { ...NOTHING_COUNTED, tat: 0, tokenAt: 0, tag: 0 }
const COUNTED = Object.keys(NOTHING_COUNTED) as readonly (keyof Counted)[]

const CHANGE = `INSERT INTO shares (name, ${COUNTED}, tag) VALUES (?, ${COUNTED.map(() => 'max(0, ?)')}, coalesce(?, 0))
  ON CONFLICT (name) DO UPDATE SET ${COUNTED.map((each) => `${each} = max(0, ${each} + ?)`)}, tag = coalesce(?, tag)
  RETURNING ${COUNTED}, tat, waits, tag`

export class Shares {
  readonly #database: Database
  /** The sums that the table has. */
  readonly #kept = new Map<string, Kept>()
  /** Those whose tags have changed since. */
  readonly #tagged = new Set<string>()
  /** Changes of them since. */
  readonly #more = new Map<string, Counted>()
  /** Answers about their lines. */
  readonly #waits = new Map<string, boolean>()
  #isLimited: boolean

  /** `isLimited`: what is in flight is counted. */
  constructor(database: Database, isLimited: boolean) {
    this.#database = database
    this.#isLimited = isLimited
  }

  /** Counts what is in flight, from now on, and what was before this transaction: its lanes are not written yet. */
  countInFlight(): void {
    if (this.#isLimited) return
    this.#isLimited = true
    this.#database.run('UPDATE state SET limited = 1 WHERE id = 1')
    const lanes = 'SELECT name, inFlight FROM lanes WHERE inFlight > 0'
    for (const { name, inFlight } of this.#database.all<{ readonly name: string; readonly inFlight: number }>(lanes)) {
      this.#add(shareOfPrincipal(principalIn(name)), { inFlight })
      this.#add(originIn(name), { inFlight })
    }
  }

  of(name: string): Share {
    const kept = this.#keptOf(name)
    const more = this.#more.get(name)
    if (!more) return kept
    const { held, bytes, inFlight } = more
    return { ...kept, held: kept.held + held, bytes: kept.bytes + bytes, inFlight: kept.inFlight + inFlight }
  }

  inFlightOf(name: string): number {
    return this.#keptOf(name).inFlight + (this.#more.get(name)?.inFlight ?? 0)
  }

  count(row: TaskRow, by: 1 | -1): void {
    const isRunning = row.status === 'IN_FLIGHT'
    // by its lane, which is text whatever other code has made of the row
    const own = shareOfPrincipal(principalIn(row.lane))
    const dead = row.status === 'EXHAUSTED' ? by : 0
    const held = { held: by, bytes: by * row.bodyBytes, inFlight: isRunning ? by : 0, dead }
    this.#add(own, takesRoom(row) ? held : { done: by })
    if (isRunning) this.#add(originIn(row.lane), { inFlight: by })
  }

  /** Takes the next tag of a principal. */
  takeTag(name: string, time: number): number {
    const kept = this.#keptOf(name)
    const tag = nextTag(time, kept.tag, this.of(name).held)
    kept.tag = tag + TURN
    this.#tagged.add(name)
    return tag
  }

  /** Takes one of the tokens that the lanes of an origin share. */
  takeToken(origin: string, rate: Rate, now: number): void {
    const kept = this.#keptOf(origin)
    takeToken(kept, rate, now)
    keepToken(this.#database, origin, kept)
  }

  /** Says that lanes wait in its line, or that none does any more. */
  setWaiting(name: string, waits: boolean): void {
    if (this.#waits.get(name) === waits) return
    this.#waits.set(name, waits)
    this.#database.run(
      'INSERT INTO shares (name, waits) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET waits = excluded.waits',
      name,
      waits ? 1 : 0,
    )
  }

  /** Those in whose lines lanes wait, by the moment of their next token: at most `most`, those behind `after`. */
  waiting(most: number, after?: Waiting): readonly Waiting[] {
    return this.#database.all<Waiting>(
      `SELECT name, tokenAt FROM shares INDEXED BY shares_waiting WHERE waits = 1 AND (tokenAt, name) > (?, ?)
        ORDER BY tokenAt, name ${LIMIT}`,
      after?.tokenAt ?? Number.NEGATIVE_INFINITY,
      after?.name ?? '',
      most,
    )
  }

  /** The principals that have most of a kind. */
  most(kind: 'dead' | 'done', count: number): readonly Owner[] {
    const most = `FROM shares INDEXED BY shares_${kind} WHERE ${kind} > 0 ORDER BY ${kind} DESC, name ${LIMIT}`
    return this.#database
      .all<{ readonly name: string; readonly count: number }>(`SELECT name, ${kind} AS count ${most}`, count)
      .map(({ name, count }) => ({ principal: principalIn(name), count }))
  }

  /** Forgets tokens that are as good as new, tags that are no later than the time of the line, and what was nothing else: most often there is none. */
  forget(now: number, time: number): void {
    this.#database.run(
      `DELETE FROM shares WHERE name IN
        (SELECT name FROM shares INDEXED BY shares_idle WHERE ${IDLE} AND tag <= ? LIMIT ${SWEEP})`,
      firstTag(time),
    )
    const lanes = `SELECT name FROM lanes INDEXED BY lanes_rated WHERE ${RATED_LANE} AND tat <= ? LIMIT ${SWEEP}`
    for (const { name } of this.#database.all<{ readonly name: string }>(lanes, now)) {
      this.#database.run('DELETE FROM lanes WHERE name = ? AND heldUntil = 0', name)
      this.#database.run('UPDATE lanes SET tat = 0, tokenAt = 0 WHERE name = ?', name)
    }
    const shares = `SELECT name FROM shares INDEXED BY shares_rated WHERE tat > 0 AND tat <= ? LIMIT ${SWEEP}`
    for (const { name } of this.#database.all<{ readonly name: string }>(shares, now)) {
      this.#database.run(
        'DELETE FROM shares WHERE name = ? AND held = 0 AND inFlight = 0 AND done = 0 AND waits = 0',
        name,
      )
      this.#database.run('UPDATE shares SET tat = 0, tokenAt = 0 WHERE name = ?', name)
    }
  }

  /** Writes what has changed. `time`: of the line. */
  write(time: number): void {
    for (const name of this.#tagged) this.#add(name, {})
    for (const [name, more] of this.#more) {
      if (!this.#isLimited) more.inFlight = 0
      const by = COUNTED.map((each) => more[each])
      const tag = this.#tagged.has(name) ? this.#keptOf(name).tag : null
      if (tag === null && by.every((each) => each === 0)) continue
      const left = this.#database.one<Kept & { readonly waits: number }>(CHANGE, name, ...by, tag, ...by, tag)
      if (left && left.held + left.inFlight + left.done + left.waits + left.tat === 0 && left.tag <= firstTag(time))
        this.#database.run('DELETE FROM shares WHERE name = ?', name)
    }
    this.#more.clear()
    this.#kept.clear()
    this.#tagged.clear()
  }

  #add(name: string, by: Partial<Counted>): void {
    const more = this.#more.get(name)
    if (!more) this.#more.set(name, { ...NOTHING_COUNTED, ...by })
    else for (const each of COUNTED) more[each] += by[each] ?? 0
  }

  #keptOf(name: string): Kept {
    const known = this.#kept.get(name)
    if (known) return known
    const found = this.#database.one<Kept>(`SELECT ${COUNTED}, tat, tokenAt, tag FROM shares WHERE name = ?`, name)
    const share = { ...NONE, ...found }
    this.#kept.set(name, share)
    return share
  }
}

export interface Waiting {
  readonly name: string
  readonly tokenAt: number
}

/** The bytes of a principal's bodies, and its dead letters. */
export const ownShare = (
  database: Database,
  principal: string | null,
): Required<Pick<OwnCounts, 'bytes' | 'exhausted'>> =>
  database.one('SELECT bytes, dead AS exhausted FROM shares WHERE name = ?', shareOfPrincipal(principal)) ?? {
    bytes: 0,
    exhausted: 0,
  }

type Counters = Pick<State, 'pending' | 'inFlight' | 'succeeded' | 'exhausted' | 'cancelled' | 'bytes'>

/** Whether shares together are what is counted, and none is one that cannot be. `now`: the wall clock's. */
export function areSharesSound(database: Database, everyone: boolean, now: number): boolean {
  const found = database.one<
    Counted & { readonly least: number | null; readonly running: number; readonly latest: number | null }
  >(
    `SELECT total(iif(${IS_PRINCIPALS}, held, 0)) AS held, total(iif(${IS_PRINCIPALS}, bytes, 0)) AS bytes,
      total(iif(${IS_PRINCIPALS}, inFlight, 0)) AS inFlight, total(iif(${IS_PRINCIPALS}, 0, inFlight)) AS running,
      total(dead) AS dead, total(done) AS done, min(min(${COUNTED}, tag)) AS least, max(tokenAt) AS latest FROM shares`,
  )
  const state = database.one<Counters & Pick<State, 'highWater'> & { readonly limited: number }>(
    'SELECT * FROM state WHERE id = 1',
  )
  if (!found || !state) return false
  const { pending, inFlight, succeeded, exhausted, cancelled, bytes } = everyone ? state : NOTHING
  return (
    (found.least ?? 0) >= 0 &&
    (found.latest ?? 0) <= Math.max(now, state.highWater) + LONGEST_HOLD_MS &&
    found.held === pending + inFlight + exhausted &&
    found.dead === exhausted &&
    found.done === succeeded + cancelled &&
    found.bytes === bytes &&
    (state.limited === 0 || state.limited === 1) &&
    found.inFlight === inFlight * state.limited &&
    found.running === inFlight * state.limited
  )
}

const NOTHING: Counters = { pending: 0, inFlight: 0, succeeded: 0, exhausted: 0, cancelled: 0, bytes: 0 }

const PIECE = 256

/** Counts all tasks anew, as `mend` has left them. No lane waits apart any more. */
export function countShares(database: Database, everyone: boolean): void {
  database.run('DELETE FROM shares')
  database.run('UPDATE line SET principal = NULL WHERE ?', everyone ? 1 : 0)
  if (!everyone) return
  database.run('UPDATE state SET limited = 1 WHERE id = 1')
  const shares = new Shares(database, true)
  let last = 0
  for (let rows = tasksFrom(database, 0, PIECE); rows.length > 0; rows = tasksFrom(database, last, PIECE)) {
    for (const row of rows) {
      last = row.row
      if (isOurs(row.aside ? { ...row, isStray: false } : row)) shares.count(row, 1)
    }
  }
  shares.write(0)
}
