/** Says when an object's alarm has something to do, and for which principals. Changes nothing. */

import type { StoreTerms } from '../../api/store.ts'
import { MAX_MS } from '../../options/check.ts'
import type { Database } from '../sql/database.ts'
import { firstEnded, nextLapse, soonestReady } from '../sql/due.ts'
import { readState, type StoreClock } from '../sql/state.ts'

/** The earliest instant at which a turn would find something; in the past: it would now. null: nothing is to be done. `shut`: lanes whose due work is left alone. */
export function nextAt(
  database: Database,
  clock: StoreClock,
  { retention }: StoreTerms,
  shut: Iterable<string>,
): number | null {
  const state = readState(database)
  const { succeeded, cancelled, exhausted } = state
  const { terminalMs, maxTerminal, deadLetterMs, maxDeadLetters } = retention
  const instants = [
    soonestReady(database, shut),
    nextLapse(database),
    endOf(firstEnded(database, 0), succeeded + cancelled > maxTerminal ? 0 : terminalMs),
    endOf(firstEnded(database, 1), exhausted > maxDeadLetters ? 0 : deadLetterMs),
  ].filter((at) => at !== null && at <= MAX_MS) as number[]
  // the next write takes everything along with a clock that was set back
  return instants.length === 0 ? null : Math.min(...instants) + clock.read(state).shiftMs
}

/** Whether a task waits for credentials, and so for nothing that has a time. */
export const hasParked = (database: Database): boolean =>
  database.one('SELECT 1 FROM tasks INDEXED BY tasks_parked WHERE parked = 1 LIMIT 1') !== undefined

/** Kept for `keptMs`, to the last instant of it. */
const endOf = (endedAt: number | null, keptMs: number): number | null =>
  endedAt === null ? null : endedAt + keptMs + 1

/** Principals that have tasks, or only those who have some that are due, or whose lease is over. */
export function owners(database: Database, clock: StoreClock, which: 'due' | 'any'): readonly (string | null)[] {
  if (which === 'any') {
    const rows = database.all<{ readonly principal: string | null }>(
      'SELECT DISTINCT principal FROM lanes WHERE pending > 0 OR inFlight > 0',
    )
    return rows.map(({ principal }) => principal)
  }
  const { now, shiftMs } = clock.read(readState(database))
  const rows = database.all<{ readonly principal: string | null }>(
    `SELECT principal FROM lanes WHERE readyAt <= ?
      UNION SELECT principal FROM tasks INDEXED BY tasks_leases WHERE status = 'IN_FLIGHT' AND leaseUntil <= ?`,
    now - shiftMs,
    now - shiftMs,
  )
  return rows.map(({ principal }) => principal)
}
