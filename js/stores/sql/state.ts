/** The one row of counters, and the clock that they carry: what every transaction begins with and may end with. */

import type { Clock } from '../../platform/clock.ts'
import type { Counters } from '../engine/port.ts'
import { timeOfStep } from '../engine/rules.ts'
import type { Database } from './database.ts'

export interface State extends Counters {
  highWater: number
  clockSteps: number
  lastRow: number
}

export function readState(database: Database): State {
  const state = database.one<State>('SELECT * FROM state WHERE id = 1')
  if (!state) throw new Error('the row of counters is gone')
  return state
}

export function writeState(database: Database, state: State): void {
  database.run(
    `UPDATE state SET highWater = ?, clockSteps = ?, lastRow = ?, lastSeq = ?, lastToken = ?, lastServed = ?,
      pending = ?, inFlight = ?, succeeded = ?, exhausted = ?, cancelled = ?, purged = ?, bytes = ? WHERE id = 1`,
    state.highWater,
    state.clockSteps,
    state.lastRow,
    state.lastSeq,
    state.lastToken,
    state.lastServed,
    state.pending,
    state.inFlight,
    state.succeeded,
    state.exhausted,
    state.cancelled,
    state.purged,
    state.bytes,
  )
}

/**
 * The store's time: the wall clock's, which never goes back but by a step, and then everything goes along.
 *
 * What this process has seen counts beside what the file says, since a transaction that writes nothing does not write the
 * time either; but not across a step that another process has made.
 */
export class StoreClock {
  readonly #clock: Clock
  #seen = Number.NEGATIVE_INFINITY
  #steps = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** `shiftMs`: how far the clock has been set back. */
  read({ highWater, clockSteps }: State): ReturnType<typeof timeOfStep> {
    const high = clockSteps === this.#steps ? Math.max(highWater, this.#seen) : highWater
    return timeOfStep(this.#clock.now(), high)
  }

  /**
   * Takes note of the time where nothing was asked of the file, which is as it was: processes that look at it less often than
   * others would else have another time. False: the clock was set back, which a transaction has to deal with.
   */
  glance(): boolean {
    const now = this.#clock.now()
    if (timeOfStep(now, this.#seen).shiftMs !== 0) return false
    this.#seen = Math.max(this.#seen, now)
    return true
  }

  saw(now: number, { clockSteps }: State): void {
    this.#seen = now
    this.#steps = clockSteps
  }
}

const INSTANTS = {
  tasks: ['dueAt', 'turnAt', 'serverAt', 'deadlineAt', 'firstAttemptAt', 'leaseUntil', 'endedAt'],
  lanes: ['heldUntil', 'holdEndsBy', 'nextDue', 'readyAt', 'lookAt'],
  line: ['dueAt'],
  homes: ['until'],
} as const

/** Due times, leases and holds follow a clock that was set back: waiting for it to come round would take the step again. */
export function shiftInstants(database: Database, byMs: number): void {
  for (const table of Object.keys(INSTANTS) as (keyof typeof INSTANTS)[]) shift(database, table, byMs)
}

/** `shiftInstants` for tasks that were made after `now`. */
export function shiftLater(database: Database, byMs: number, now: number): void {
  shift(database, 'tasks', byMs, "typeof(createdAt) IN ('real', 'integer') AND createdAt > ?", now)
}

function shift(
  database: Database,
  table: keyof typeof INSTANTS,
  byMs: number,
  which = 'TRUE',
  ...values: readonly number[]
): void {
  const columns = INSTANTS[table]
  const shifted = columns.map((name) => `${name} = ${name} + ?`).join(', ')
  database.run(`UPDATE ${table} SET ${shifted} WHERE ${which}`, ...columns.map(() => byMs), ...values)
}
