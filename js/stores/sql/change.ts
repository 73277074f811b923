/** How a task passes from one status to another: the only place that changes counters, leases and turns in an order. */

import { type Lease, LOG_LENGTH, NOTES_LENGTH } from '../../api/store.ts'
import type { AttemptLog, DecisionKind, ExhaustedReason, TaskStatus } from '../../api/task.ts'
import { noteOf, wasSent } from '../rules.ts'
import type { TaskRow } from './rows.ts'
import type { State } from './state.ts'
import type { Transaction } from './transaction.ts'

const COUNTER = {
  PENDING: 'pending',
  IN_FLIGHT: 'inFlight',
  SUCCEEDED: 'succeeded',
  EXHAUSTED: 'exhausted',
  CANCELLED: 'cancelled',
} as const satisfies Record<TaskStatus, keyof State>

const isLive = (status: TaskStatus): boolean => status === 'PENDING' || status === 'IN_FLIGHT'

/** Counts `by` tasks like this one more (or fewer). */
export function count(tx: Transaction, row: TaskRow, by: 1 | -1): void {
  tx.state[COUNTER[row.status]] += by
  if (!isLive(row.status)) return
  tx.state.bytes += by * row.bodyBytes
  const lane = tx.lane(row)
  lane[row.status === 'PENDING' ? 'pending' : 'inFlight'] += by
  lane.dirty = true
}

function become(tx: Transaction, row: TaskRow, status: TaskStatus): void {
  count(tx, row, -1)
  row.status = status
  count(tx, row, 1)
}

export function takeLease(tx: Transaction, row: TaskRow, owner: string, forMs: number): Lease {
  become(tx, row, 'IN_FLIGHT')
  row.dueAt = null
  row.attemptNumber++
  row.firstAttemptAt ??= tx.now
  row.owner = owner
  row.token = ++tx.state.lastToken
  row.leaseUntil = tx.now + forMs
  tx.lane(row).served = ++tx.state.lastServed
  tx.save(row)
  return { taskId: row.id, token: row.token, forMs }
}

function dropLease(row: TaskRow): void {
  row.owner = null
  row.leaseUntil = null
  row.cancelAsked = 0
}

/** Waits again. `dueAt` null: until it is asked for. */
export function putBack(tx: Transaction, row: TaskRow, dueAt: number | null): void {
  become(tx, row, 'PENDING')
  dropLease(row)
  row.dueAt = dueAt
  tx.save(row)
  tx.hint('settled', row.id)
  tx.hint('due')
}

export function end(tx: Transaction, row: TaskRow, status: 'SUCCEEDED' | 'CANCELLED'): void
export function end(tx: Transaction, row: TaskRow, status: 'EXHAUSTED', reason: ExhaustedReason): void
export function end(tx: Transaction, row: TaskRow, status: TaskStatus, reason?: ExhaustedReason): void {
  const wasLive = isLive(row.status)
  become(tx, row, status)
  dropLease(row)
  row.reason = reason ?? null
  row.dueAt = null
  row.parked = 0
  row.behind = 0
  row.endedAt = tx.now
  // a dead letter may be sent again, the others may not: what may not be sent is not kept
  if (status !== 'EXHAUSTED') {
    row.headers = '{}'
    row.bodyBytes = 0
    tx.run('DELETE FROM bodies WHERE task = ?', row.row)
  }
  tx.save(row)
  tx.hint('settled', row.id)
  if (wasLive) nextOfOrder(tx, row)
}

/** Ends it without a settlement that says so. */
export function endUntold(tx: Transaction, row: TaskRow, reason?: ExhaustedReason): void {
  note(tx, row, reason ? 'exhausted' : 'cancelled', reason)
  if (reason) end(tx, row, 'EXHAUSTED', reason)
  else end(tx, row, 'CANCELLED')
}

/** Whether others of its order must end first. */
export function isBehind(tx: Transaction, principal: string | null, orderKey: string | null): boolean {
  if (orderKey === null) return false
  return (
    tx.database.one(
      "SELECT 1 FROM tasks WHERE principal IS ? AND orderKey = ? AND status IN ('PENDING', 'IN_FLIGHT') LIMIT 1",
      principal,
      orderKey,
    ) !== undefined
  )
}

/** After one of an order has ended: the first of those behind it gets its own due time, unless another is at the head. */
export function nextOfOrder(tx: Transaction, { principal, orderKey }: TaskRow): void {
  if (orderKey === null) return
  const next = tx.database.one<TaskRow>(
    `SELECT * FROM tasks WHERE principal IS ? AND orderKey = ? AND status IN ('PENDING', 'IN_FLIGHT')
      ORDER BY behind, seq LIMIT 1`,
    principal,
    orderKey,
  )
  if (!next?.behind || next.aside) return
  next.behind = 0
  if (next.parked === 0) next.dueAt = Math.max(next.turnAt, tx.now)
  tx.save(next)
  tx.hint('due')
}

export function keepLog(tx: Transaction, row: TaskRow, log: AttemptLog): void {
  const numberOf = (which: string): number =>
    tx.database.one<{ n: number | null }>(`SELECT ${which} AS n FROM attempts WHERE task = ?`, row.row)?.n ?? 0
  const keep = (n: number, line: object): void => {
    tx.run('INSERT INTO attempts (task, n, log) VALUES (?, ?, ?)', row.row, n, JSON.stringify(line))
  }
  const last = Math.max(0, numberOf('max(n)'))
  if (wasSent(log)) {
    keep(last + 1, log)
    tx.run('DELETE FROM attempts WHERE task = ? AND n > 0 AND n <= ?', row.row, last + 1 - LOG_LENGTH)
    return
  }
  const n = Math.min(0, numberOf('min(n)')) - 1
  keep(n, { ...log, after: last })
  tx.run('DELETE FROM attempts WHERE task = ? AND n < 0 AND n >= ?', row.row, n + NOTES_LENGTH)
}

/** Says what the store itself has decided. */
export function note(tx: Transaction, row: TaskRow, kind: DecisionKind, reason?: ExhaustedReason): void {
  keepLog(tx, row, noteOf(row.id, row.attemptNumber, tx.now, kind, reason))
}

/** Deletes the row and all that hangs on it. */
export function erase(tx: Transaction, row: TaskRow): void {
  count(tx, row, -1)
  tx.state.purged++
  tx.run('DELETE FROM bodies WHERE task = ?', row.row)
  tx.run('DELETE FROM attempts WHERE task = ?', row.row)
  tx.run('DELETE FROM tasks WHERE row = ?', row.row)
  const lane = tx.lane(row)
  lane.tasks--
  lane.dirty = true
  if (isLive(row.status)) {
    tx.hint('settled', row.id)
    nextOfOrder(tx, row)
  }
}
