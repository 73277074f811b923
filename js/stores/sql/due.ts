/** Due tasks, and the next moments: the lanes and tasks that a claim looks at, and the moments that a turn tells. */

import type { Claim } from '../../api/store.ts'
import { LANES_SHOWN } from '../../api/store.ts'
import { FOREVER } from '../../platform/clock.ts'
import { boundsOf } from '../engine/claim.ts'
import type { Heads, Moments } from '../engine/port.ts'
import { lateAt } from '../engine/rules.ts'
import type { Database, Value } from './database.ts'
import type { LaneRow } from './lane-rows.ts'
import { rowFound, type TaskRow } from './rows.ts'
import { ENDED, EXPIRING, WAITING } from './tables.ts'

/** Lanes of a claim whose first task may start by `now`; limits of lanes are not looked at. */
export function readyLanes(database: Database, now: number, { lanes, principal }: Claim): LaneRow[] {
  if (lanes === 'any') {
    const ready = 'SELECT * FROM lanes WHERE principal IS ? AND readyAt <= ? ORDER BY name'
    return database.all<LaneRow>(ready, principal, now)
  }
  return listedLanes(database, lanes, principal).filter(({ readyAt }) => readyAt !== null && readyAt <= now)
}

function listedLanes(database: Database, lanes: Exclude<Claim['lanes'], 'any'>, principal: string | null): LaneRow[] {
  const names = new Set(lanes.map(({ lane }) => lane))
  return [...names].flatMap(
    (name) => database.one<LaneRow>('SELECT * FROM lanes WHERE name = ? AND principal IS ?', name, principal) ?? [],
  )
}

/** The first due task of a lane, as the index has it. */
interface Head {
  readonly row: number
  readonly rank: number
  readonly dueAt: number
}

/** The due tasks of a lane: a few steps down an index for each priority in it. Only a task that is claimed is read whole. */
export class DueHeads implements Heads {
  first: Head | undefined
  readonly #database: Database
  readonly #now: number
  readonly #lane: string
  readonly #ours: readonly [condition: string, ...values: string[]]

  constructor(database: Database, now: number, lane: string, owner: string, claim: Claim) {
    this.#database = database
    this.#now = now
    this.#lane = lane
    this.#ours = oursOf(owner, claim)
  }

  read(): undefined {
    this.next()
  }

  row(): TaskRow | undefined {
    return this.first && rowFound(this.#database, 'SELECT * FROM tasks WHERE row = ?', this.first.row)
  }

  /** Looks again: a task that was claimed has no due time any more. */
  next(): undefined {
    const [ours, ...values] = this.#ours
    this.first = undefined
    let priority = this.#highestPriority(FOREVER)
    while (priority !== undefined && !this.first) {
      this.first = this.#database.one<Head>(
        `SELECT row, 0 - priority AS rank, dueAt FROM tasks INDEXED BY tasks_due WHERE lane = ? AND ${WAITING} AND priority = ? AND dueAt <= ? ${ours}
          ORDER BY dueAt, seq LIMIT 1`,
        this.#lane,
        priority,
        this.#now,
        ...values,
      )
      if (!this.first) priority = this.#highestPriority(priority)
    }
  }

  #highestPriority(below: number): number | undefined {
    return this.#database.one<{ priority: number }>(
      `SELECT priority FROM tasks INDEXED BY tasks_due WHERE lane = ? AND ${WAITING} AND priority < ? ORDER BY priority DESC LIMIT 1`,
      this.#lane,
      below,
    )?.priority
  }
}

/** A condition on `home`, and its value where it has one. */
function oursOf(owner: string, { skipHomes, ownHomeOnly }: Claim): [string, ...string[]] {
  if (ownHomeOnly) return ['AND home = ?', owner]
  if (skipHomes.length === 0) return ['']
  const homes = JSON.stringify(skipHomes.filter((home) => home !== owner))
  return ['AND (home IS NULL OR home NOT IN (SELECT value FROM json_each(?)))', homes]
}

/** Each of its parts is looked for when it is asked for. */
export function momentsOf(database: Database, now: number, claim: Claim | null): Moments {
  return {
    lanes: lanesShown(database, now, claim),
    get leaseAt() {
      return firstLease(database)
    },
    get deadlineAt() {
      return firstDeadline(database)
    },
    get readyAt() {
      return claim ? nextReady(database, now, claim) : (soonestReady(database) ?? FOREVER)
    },
  }
}

/** Soonest first, then those of which no task is due, each by name; more than are told. */
function lanesShown(database: Database, now: number, claim: Claim | null): readonly LaneRow[] {
  const isShown = ({ pending, inFlight, heldUntil }: LaneRow): boolean => pending > 0 || inFlight > 0 || heldUntil > now
  const mostOf = claim ? boundsOf(claim) : () => FOREVER
  const isOpen = ({ name }: LaneRow): boolean => mostOf(name) > 0
  if (claim && claim.lanes !== 'any') {
    return listedLanes(database, claim.lanes, claim.principal).filter((lane) => isOpen(lane) && isShown(lane))
  }
  const shut = claim?.bounds?.length ?? 0
  const shown: LaneRow[] = []
  // each value by a `?` of its own: Node 22 miscounts those that have a number
  // those ready by now are equally soon, so they come by name: the index has them by time
  for (const [ready, order] of [
    ['readyAt <= ?', 'name'],
    ['readyAt > ?', 'readyAt, name'],
    ['readyAt IS NULL', 'name'],
  ] as const) {
    const rows = database.all<LaneRow>(
      `SELECT * FROM lanes WHERE ${claim ? 'principal IS ?' : '? IS NULL'} AND ${ready}
        AND (pending > 0 OR inFlight > 0 OR heldUntil > ?) ORDER BY ${order} LIMIT ?`,
      claim?.principal ?? null,
      ...(ready.endsWith('?') ? [now] : []),
      now,
      LANES_SHOWN + shut,
    )
    shown.push(...rows.filter(isOpen))
    if (shown.length >= LANES_SHOWN) break
  }
  return shown
}

/** When the first lease is over, or the first deadline has passed; null: there is neither. */
export function nextLapse(database: Database): number | null {
  const at = Math.min(firstLease(database), lateAt({ deadlineAt: firstDeadline(database) }))
  return at === FOREVER ? null : at
}

const firstLease = (database: Database): number =>
  least(database, "SELECT leaseUntil AS at FROM tasks INDEXED BY tasks_leases WHERE status = 'IN_FLIGHT'") ?? FOREVER

const firstDeadline = (database: Database): number =>
  least(database, `SELECT deadlineAt AS at FROM tasks INDEXED BY tasks_deadlines WHERE ${EXPIRING}`) ?? FOREVER

/** When the first task of any lane but `except` may be claimed; null: none waits for a time. */
export const soonestReady = (database: Database, except: Iterable<string> = []): number | null =>
  least(
    database,
    'SELECT readyAt AS at FROM lanes WHERE readyAt IS NOT NULL AND name NOT IN (SELECT value FROM json_each(?))',
    JSON.stringify([...except]),
  )

/** When the first of a kind ended; null: there is none. */
export const firstEnded = (database: Database, deadLetters: 0 | 1): number | null =>
  database.one<{ endedAt: number }>(`SELECT endedAt ${ENDED} ORDER BY endedAt LIMIT 1`, deadLetters)?.endedAt ?? null

const least = (database: Database, sql: string, ...values: readonly Value[]): number | null =>
  database.one<{ at: number }>(`${sql} ORDER BY at LIMIT 1`, ...values)?.at ?? null

/** When the claim would next find something: what is due now and was not claimed is kept back by something else. */
function nextReady(database: Database, now: number, claim: Claim): number {
  let best = FOREVER
  for (const { name, readyAt, heldUntil } of openLanes(database, now, claim)) {
    if (readyAt === null || readyAt >= best) continue
    best = Math.min(best, heldUntil > now || readyAt > now ? readyAt : nextDue(database, now, name))
  }
  return best
}

function openLanes(database: Database, now: number, claim: Claim): readonly LaneRow[] {
  const mostOf = boundsOf(claim)
  const { lanes, principal, bounds = [] } = claim
  const all = (): readonly LaneRow[] => {
    const ready = 'SELECT * FROM lanes WHERE principal IS ? AND readyAt'
    // of those still to come the first will do
    const coming = database.all<LaneRow>(`${ready} > ? ORDER BY readyAt LIMIT ?`, principal, now, bounds.length + 1)
    return [...database.all<LaneRow>(`${ready} <= ?`, principal, now), ...coming]
  }
  return (lanes === 'any' ? all() : listedLanes(database, lanes, principal)).filter(({ name }) => mostOf(name) > 0)
}

function nextDue(database: Database, now: number, lane: string): number {
  return (
    database.one<{ at: number | null }>(
      `SELECT min(dueAt) AS at FROM tasks INDEXED BY tasks_soonest WHERE lane = ? AND ${WAITING} AND dueAt > ?`,
      lane,
      now,
    )?.at ?? FOREVER
  )
}
