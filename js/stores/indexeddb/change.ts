/** How a task passes from one status to another: the only place that changes counters, leases and turns in an order. */

import { type Lease, LOG_LENGTH, NOTES_LENGTH } from '../../api/store.ts'
import type { AttemptLog, DecisionKind, ExhaustedReason, TaskStatus } from '../../api/task.ts'
import { noteOf, wasSent } from '../engine/rules.ts'
import { hasBodyApart, isLive, isOurs, type TaskRow } from './rows.ts'
import type { State } from './state.ts'
import type { Transaction } from './transaction.ts'

const COUNTER = {
  PENDING: 'pending',
  IN_FLIGHT: 'inFlight',
  SUCCEEDED: 'succeeded',
  EXHAUSTED: 'exhausted',
  CANCELLED: 'cancelled',
} as const satisfies Record<TaskStatus, keyof State>

/** Counts `by` tasks like this one more (or fewer). */
function count(tx: Transaction, row: TaskRow, by: 1 | -1): void {
  tx.state[COUNTER[row.status]] += by
  if (!isLive(row)) return
  tx.state.bytes += by * row.bodyBytes
  const lane = tx.lane(row)
  lane[row.status === 'PENDING' ? 'pending' : 'inFlight'] += by
  tx.saveLane(lane)
}

/** Whoever calls sets what else changes with it. */
export function become(tx: Transaction, row: TaskRow, status: TaskStatus): void {
  count(tx, row, -1)
  row.status = status
  count(tx, row, 1)
  tx.save(row)
}

export function insert(tx: Transaction, row: TaskRow): void {
  tx.lane(row).tasks++
  tx.insert(row)
  count(tx, row, 1)
}

export function takeLease(tx: Transaction, row: TaskRow, owner: string, forMs: number): Lease {
  become(tx, row, 'IN_FLIGHT')
  row.dueAt = null
  row.lateAt = null
  row.attemptNumber++
  row.firstAttemptAt ??= tx.now
  row.owner = owner
  row.guarded = tx.isGuarding(owner)
  countGuarded(tx, row, 1)
  row.token = ++tx.state.lastToken
  row.leaseUntil = tx.now + forMs
  tx.lane(row).served = ++tx.state.lastServed
  return { taskId: row.taskId, token: row.token, forMs }
}

function countGuarded({ state }: Transaction, { owner, guarded }: TaskRow, by: 1 | -1): void {
  if (owner === null || !guarded) return
  const { [owner]: known = 0, ...others } = state.guards
  state.guards = known + by > 0 ? { ...others, [owner]: known + by } : others
}

function dropLease(tx: Transaction, row: TaskRow): void {
  countGuarded(tx, row, -1)
  row.owner = null
  row.guarded = false
  row.leaseUntil = null
  row.cancelAsked = false
}

/** Waits again. `dueAt` null: until it is asked for. */
export function putBack(tx: Transaction, row: TaskRow, dueAt: number | null): void {
  become(tx, row, 'PENDING')
  dropLease(tx, row)
  row.dueAt = dueAt
  row.lateAt = expiring(row.deadlineAt)
  tx.hint('settled', row.taskId)
  tx.hint('due')
}

/** What the index of deadlines has of one that waits. */
export const expiring = (deadlineAt: number): number | null =>
  deadlineAt === Number.POSITIVE_INFINITY ? null : deadlineAt

export function end(tx: Transaction, row: TaskRow, status: 'SUCCEEDED' | 'CANCELLED'): void
export function end(tx: Transaction, row: TaskRow, status: 'EXHAUSTED', reason: ExhaustedReason): void
export function end(tx: Transaction, row: TaskRow, status: TaskStatus, reason?: ExhaustedReason): void {
  const wasLive = isLive(row)
  become(tx, row, status)
  dropLease(tx, row)
  row.reason = reason ?? null
  row.dueAt = null
  row.lateAt = null
  row.parkedIn = null
  row.behind = null
  row.endedAt = tx.now
  if (status === 'CANCELLED') row.keptKey = null
  // a dead letter may be sent again, the others may not: what may not be sent is not kept
  if (status !== 'EXHAUSTED') {
    row.headers = {}
    if (hasBodyApart(row)) tx.set('bodies', row.taskId, undefined)
    row.body = null
    row.bodyBytes = 0
  }
  tx.hint('settled', row.taskId)
  if (wasLive) tx.passOn(row)
}

/** Ends it without a settlement that says so. */
export function endUntold(tx: Transaction, row: TaskRow, reason?: ExhaustedReason): void {
  note(tx, row, reason ? 'exhausted' : 'cancelled', reason)
  if (reason) end(tx, row, 'EXHAUSTED', reason)
  else end(tx, row, 'CANCELLED')
}

export function keepLog(tx: Transaction, row: TaskRow, log: AttemptLog): void {
  const { taskId } = row
  if (wasSent(log)) {
    tx.set('attempts', [taskId, ++row.logged], log)
    if (row.logged > LOG_LENGTH) tx.set('attempts', [taskId, row.logged - LOG_LENGTH], undefined)
    return
  }
  row.noted = (row.noted ?? 0) + 1
  tx.set('attempts', [taskId, -row.noted], { ...log, after: row.logged })
  if (row.noted > NOTES_LENGTH) tx.set('attempts', [taskId, NOTES_LENGTH - row.noted], undefined)
}

/** Says what the store itself has decided. */
export function note(tx: Transaction, row: TaskRow, kind: DecisionKind, reason?: ExhaustedReason): void {
  keepLog(tx, row, noteOf(row.taskId, row.attemptNumber, tx.shown(tx.now), kind, reason))
}

/** Deletes the row and all that hangs on it. */
export function erase(tx: Transaction, row: TaskRow): void {
  if (isOurs(row)) {
    count(tx, row, -1)
    dropLease(tx, row)
    tx.state.purged++
    const lane = tx.lane(row)
    lane.tasks--
    tx.saveLane(lane)
  }
  tx.drop(row)
  if (!isOurs(row) || !isLive(row)) return
  tx.hint('settled', row.taskId)
  tx.passOn(row)
}
