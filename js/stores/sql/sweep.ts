/** What time alone brings: retention, leases that ran out, deadlines. Each a walk along an index, bounded by `SWEEP`. */

import { type StoredTask, SWEEP } from '../../api/store.ts'
import { isLate, isSpent, mayRepeat } from '../rules.ts'
import { endUntold, erase, note, putBack } from './change.ts'
import type { Database } from './database.ts'
import { rowsFound, storedTask, type TaskRow } from './rows.ts'
import { EXPIRING } from './tables.ts'
import type { Transaction } from './transaction.ts'

/** Deletes what is past its retention; says how many of them were dead letters. */
export function retain(tx: Transaction): number {
  const { terminalMs, maxTerminal, deadLetterMs, maxDeadLetters } = tx.terms.retention
  const { state } = tx
  const ended = state.succeeded + state.cancelled
  const others = oldest(tx, 0, tx.now - terminalMs, ended - maxTerminal, SWEEP)
  const letters = oldest(tx, 1, tx.now - deadLetterMs, state.exhausted - maxDeadLetters, SWEEP - others.length)
  for (const row of [...others, ...letters]) erase(tx, row)
  return letters.length
}

const ENDED = "FROM tasks INDEXED BY tasks_ended WHERE (status = 'EXHAUSTED') = ? AND endedAt IS NOT NULL AND aside = 0"

/** When the first of a kind ended; null: there is none. */
export const firstEnded = (database: Database, deadLetters: 0 | 1): number | null =>
  database.one<{ endedAt: number }>(`SELECT endedAt ${ENDED} ORDER BY endedAt LIMIT 1`, deadLetters)?.endedAt ?? null

/** Those that ended before `before`, or the `surplus` that ended first; all of one kind, oldest first. */
function oldest(tx: Transaction, deadLetters: 0 | 1, before: number, surplus: number, most: number): TaskRow[] {
  const aged = rowsFound(
    tx.database,
    `${ENDED} AND endedAt < ? ORDER BY endedAt, seq LIMIT ?`,
    deadLetters,
    before,
    most,
  )
  if (surplus <= aged.length) return aged
  return rowsFound(tx.database, `${ENDED} ORDER BY endedAt, seq LIMIT ?`, deadLetters, Math.min(surplus, most))
}

/** Ends every lease: the next turn takes the tasks back. */
export function lapse(tx: Transaction): void {
  tx.run("UPDATE tasks SET leaseUntil = ? WHERE status = 'IN_FLIGHT' AND leaseUntil > ?", tx.now, tx.now)
}

/** Tasks whose lease ran out: put back, or ended when nothing permits another attempt. */
export function reclaim(tx: Transaction): StoredTask[] {
  const ended: StoredTask[] = []
  const lapsed = rowsFound(
    tx.database,
    "FROM tasks INDEXED BY tasks_leases WHERE status = 'IN_FLIGHT' AND leaseUntil <= ? ORDER BY token",
    tx.now,
  )
  for (const row of lapsed) {
    const task = storedTask(row)
    if (!task) {
      putBack(tx, row, null)
      tx.putAside(row)
    } else if (row.cancelAsked === 1) endUntold(tx, row)
    else if (isSpent(task) || isLate(task, tx.now) || !mayRepeat(task)) endUntold(tx, row, 'outcome_unknown')
    else {
      note(tx, row, 'lost')
      row.turnAt = tx.now
      row.serverAt = tx.now
      putBack(tx, row, tx.now)
    }
    collect(ended, row)
  }
  return ended
}

/** Deadlines that have passed while nobody had the task. */
export function endLate(tx: Transaction): StoredTask[] {
  const ended: StoredTask[] = []
  const late = rowsFound(
    tx.database,
    `FROM tasks INDEXED BY tasks_deadlines WHERE ${EXPIRING} AND deadlineAt < ?
      ORDER BY deadlineAt, seq LIMIT ?`,
    tx.now,
    SWEEP,
  )
  for (const row of late) {
    if (storedTask(row)) endUntold(tx, row, row.deadlineReason)
    else tx.putAside(row)
    collect(ended, row)
  }
  return ended
}

/** Only what has ended is told. */
export function collect(ended: StoredTask[], row: TaskRow): void {
  const task = row.endedAt === null ? undefined : storedTask(row)
  if (task) ended.push(task)
}
