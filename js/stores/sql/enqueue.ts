/** Takes tasks: dedupe, then room, then the row. */

import type { Enqueued, Lease, NewTask, TaskStore } from '../../api/store.ts'
import { originIn } from '../../options/check.ts'
import { isReadable, refusal } from '../rules.ts'
import { count, isBehind, keepLog, takeLease } from './change.ts'
import { recordOf, rowById, type TaskRow } from './rows.ts'
import type { Transaction } from './transaction.ts'

export type EnqueueLease = NonNullable<Parameters<TaskStore['enqueue']>[1]>

export function enqueue(tx: Transaction, tasks: readonly NewTask[], lease: EnqueueLease | undefined): Enqueued[] {
  return tasks.map((task) => take(tx, task, lease))
}

function take(tx: Transaction, task: NewTask, lease: EnqueueLease | undefined): Enqueued {
  const same = rowById(tx.database, task.taskId)
  if (same) return duplicate(tx, same, lease)
  const keeper = keeperOf(tx, task)
  if (keeper) {
    const outcome = keeper.fingerprint === task.fingerprint ? 'duplicate' : 'conflict'
    return { taskId: keeper.id, outcome }
  }
  const { state, terms } = tx
  const bytes = task.body?.byteLength ?? 0
  if (state.pending + state.inFlight >= terms.capacity || state.bytes + bytes > terms.capacityBytes) {
    return { taskId: task.taskId, outcome: 'full' }
  }
  const row = rowOf(tx, task, bytes)
  count(tx, row, 1)
  const lane = tx.lane(row)
  lane.tasks++
  const holdMs = task.holdLaneForMs ?? 0
  if (holdMs > 0) {
    lane.heldUntil = Math.max(lane.heldUntil, tx.now + holdMs)
    lane.dirty = true
  }
  tx.insert(row)
  if (task.body) tx.database.keepBody(row.row, task.body)
  for (const log of task.log ?? []) keepLog(tx, row, log)
  const taken = lease && startsNow(tx, row, task, lease) ? takeLease(tx, row, lease.owner, lease.leaseMs) : undefined
  if (!taken) tx.hint('due')
  return { taskId: task.taskId, outcome: 'stored', ...(taken && { lease: taken }) }
}

/** The answer of a first enqueue may have been lost: its lease is given again. */
function duplicate(tx: Transaction, row: TaskRow, lease: EnqueueLease | undefined): Enqueued {
  const answer: Enqueued = { taskId: row.id, outcome: 'duplicate' }
  if (!lease || row.status !== 'IN_FLIGHT' || row.owner !== lease.owner || row.leaseUntil === null) return answer
  if (row.leaseUntil <= tx.now) return answer
  const again: Lease = { taskId: row.id, token: row.token, forMs: row.leaseUntil - tx.now }
  return { ...answer, lease: again }
}

function keeperOf(tx: Transaction, { idempotencyKey, principal }: NewTask): TaskRow | undefined {
  if (idempotencyKey === null) return undefined
  return tx.database.one<TaskRow>(
    `SELECT * FROM tasks WHERE idempotencyKey = ? AND principal IS ? AND status <> 'CANCELLED' LIMIT 1`,
    idempotencyKey,
    principal,
  )
}

function startsNow(tx: Transaction, row: TaskRow, task: NewTask, { total, perLane }: EnqueueLease): boolean {
  const lane = tx.lane(row)
  return (
    row.behind === 0 &&
    task.dueInMs <= 0 &&
    isReadable(task) &&
    refusal(
      { ...task, deadlineAt: row.deadlineAt ?? Number.POSITIVE_INFINITY, deadlineReason: row.deadlineReason },
      tx.now,
    ) === undefined &&
    lane.heldUntil <= tx.now &&
    tx.state.inFlight < (total ?? Number.POSITIVE_INFINITY) &&
    lane.inFlight < (perLane ?? Number.POSITIVE_INFINITY)
  )
}

function rowOf(tx: Transaction, task: NewTask, bodyBytes: number): TaskRow {
  const { now } = tx
  const createdAt = now - (task.ageMs ?? 0)
  const orderKey = task.orderKey ?? null
  const behind = isBehind(tx, task.principal, orderKey)
  const turnAt = now + Math.max(0, task.dueInMs)
  return {
    row: ++tx.state.lastRow,
    seq: ++tx.state.lastSeq,
    id: task.taskId,
    lane: task.lane,
    principal: task.principal,
    origin: originIn(task.targetUrl) ?? '',
    status: 'PENDING',
    reason: null,
    idempotencyKey: task.idempotencyKey,
    fingerprint: task.fingerprint,
    method: task.method,
    targetUrl: task.targetUrl,
    headers: JSON.stringify(task.headers),
    record: recordOf(task),
    recordSchema: task.schema,
    orderKey,
    home: task.home,
    priority: task.priority,
    createdAt,
    dueAt: behind ? null : turnAt,
    turnAt,
    serverAt: now + (task.serverMs ?? 0),
    deadlineAt: task.deadlineInMs === Number.POSITIVE_INFINITY ? null : now + task.deadlineInMs,
    deadlineReason: task.deadlineReason ?? 'total_budget',
    attemptNumber: task.attemptNumber,
    firstAttemptAt: task.attemptNumber > 0 ? createdAt : null,
    refunds: 0,
    phase: task.phase,
    previousDelayMs: task.previousDelayMs,
    marks: task.marks ?? 0,
    behind: behind ? 1 : 0,
    parked: 0,
    cancelAsked: 0,
    owner: null,
    token: 0,
    settledToken: null,
    leaseUntil: null,
    endedAt: null,
    bodyBytes,
    aside: 0,
  }
}
