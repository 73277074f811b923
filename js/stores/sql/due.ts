/** Due tasks, and the next moments: the lanes and tasks that a claim looks at, and the moments that a turn tells. */

import type { Claim } from '../../api/store.ts'
import { LANES_SHOWN, SHUT_LOOKED_AT } from '../../api/store.ts'
import { FOREVER } from '../../platform/clock.ts'
import { boundsOf, type Lineup } from '../engine/lineup.ts'
import type { Heads, Moments } from '../engine/port.ts'
import { lateAt } from '../engine/rules.ts'
import { type Database, instantIn, LIMIT, type Value } from './database.ts'
import type { LaneRow } from './lane-rows.ts'
import { type Head, notShut, openAmongFirst } from './line.ts'
import { rowFound, type TaskRow } from './rows.ts'
import { ENDED, EXPIRING, UNDUE } from './tables.ts'

function listedLanes(database: Database, lanes: Exclude<Claim['lanes'], 'any'>, principal: string | null): LaneRow[] {
  const names = new Set(lanes.map(({ lane }) => lane))
  return [...names].flatMap(
    (name) => database.one<LaneRow>('SELECT * FROM lanes WHERE name = ? AND principal IS ?', name, principal) ?? [],
  )
}

/** The due tasks of a lane: a few steps down an index for each home in it. Only a task that is claimed is read whole. */
export class DueHeads implements Heads {
  first: Head | undefined
  readonly #database: Database
  readonly #first: () => Head | undefined

  /** `first`: the one that the claim would take, as of when it is called. */
  constructor(database: Database, first: () => Head | undefined) {
    this.#database = database
    this.#first = first
    this.next()
  }

  read(): undefined {}

  row(): TaskRow | undefined {
    return this.first && rowFound(this.#database, 'SELECT * FROM tasks WHERE row = ?', this.first.row)
  }

  /** Looks again: a task that was claimed has no due time any more. */
  next(): undefined {
    this.first = this.#first()
  }
}

/** Each of its parts is looked for when it is asked for. */
export function momentsOf(database: Database, now: number, claim: Claim | null, lineup: Lineup): Moments {
  return {
    get lanes() {
      return lanesShown(database, now, claim, lineup)
    },
    get leaseAt() {
      return firstLease(database)
    },
    get deadlineAt() {
      return firstDeadline(database)
    },
    get readyAt() {
      return claim ? nextReady(database, claim, lineup) : (soonestReady(database) ?? FOREVER)
    },
  }
}

/** Soonest first, then those of which no task is due, each by name; more than are shown. */
function lanesShown(database: Database, now: number, claim: Claim | null, lineup: Lineup): readonly LaneRow[] {
  const isShown = (lane: LaneRow): boolean => lane.pending > 0 || lane.inFlight > 0 || (lane.heldUntil ?? 0) > now
  if (claim && claim.lanes !== 'any') {
    const mostOf = boundsOf(claim, lineup)
    const isOpen = ({ name }: LaneRow): boolean => mostOf(name) > 0
    return listedLanes(database, claim.lanes, claim.principal).filter((lane) => isOpen(lane) && isShown(lane))
  }
  const shown: LaneRow[] = []
  // where nothing is ready both are the same moment
  const [coming, at] = claim ? ['lanes_look', 'lookAt'] : ['lanes_next', 'readyAt']
  for (const [from, order, ...more] of [
    // equally soon
    ['lanes INDEXED BY lanes_ready WHERE isReady = 1', 'name'],
    [`lanes INDEXED BY ${coming} WHERE isReady = 0 AND ${at} IS NOT NULL`, `${at}, name`],
    [`lanes INDEXED BY lanes_undue WHERE ${UNDUE} AND (pending > 0 OR inFlight > 0 OR heldUntil > ?)`, 'name', now],
  ] as const) {
    const most = LANES_SHOWN - shown.length
    const sql = `SELECT * FROM ${from}${claim ? ' AND principal IS ? AND name $open' : ''} ORDER BY ${order} ${LIMIT}`
    // of so many that others are shown
    const rows = !claim
      ? database.all<LaneRow>(sql, ...more, most)
      : lineup.everyone
        ? openAmongFirst<LaneRow>([database, claim, lineup], most, sql, [...more, claim.principal]).rows
        : notShut<LaneRow>(database, [claim, lineup], most, sql, ...more, claim.principal)
    shown.push(...rows)
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
    `SELECT readyAt AS at FROM lanes INDEXED BY lanes_next WHERE readyAt IS NOT NULL AND name NOT IN (SELECT value FROM json_each(?))`,
    JSON.stringify([...except]),
  )

/** When the first of a kind ended; null: there is none. */
export const firstEnded = (database: Database, deadLetters: 0 | 1): number | null =>
  least(database, `SELECT endedAt AS at FROM tasks INDEXED BY tasks_ended ${ENDED}`, deadLetters)

const least = (database: Database, sql: string, ...values: readonly Value[]): number | null =>
  instantIn(database.one<{ at: number }>(`${sql} ORDER BY at LIMIT 1`, ...values)?.at)

/** When the claim would next find something: what is due now and was not claimed is kept back by something else. */
function nextReady(database: Database, claim: Claim, lineup: Lineup): number {
  const { lanes, principal } = claim
  if (lanes !== 'any') {
    const mostOf = boundsOf(claim, lineup)
    const open = listedLanes(database, lanes, principal).filter(({ name }) => mostOf(name) > 0)
    return Math.min(...open.map(({ lookAt }) => lookAt ?? FOREVER))
  }
  const next = `SELECT name, lookAt FROM lanes INDEXED BY lanes_look WHERE principal IS ? AND lookAt IS NOT NULL AND name $open ORDER BY lookAt ${LIMIT}`
  const first = openAmongFirst<LaneRow>([database, claim, lineup], 1, next, [principal])
  if (first.isAll) return first.rows[0]?.lookAt ?? FOREVER
  if (!lineup.everyone) return notShut<LaneRow>(database, [claim, lineup], 1, next, principal)[0]?.lookAt ?? FOREVER
  const more = openAmongFirst<LaneRow>([database, claim, lineup], SHUT_LOOKED_AT, next, [principal])
  return (more.rows[0] ?? more.last)?.lookAt ?? FOREVER
}
