/** What users ask for: cancel, redrive, flush, unpark, purge. */

import { RECORD_SCHEMA, type TaskStore } from '../../api/store.ts'
import type { ExhaustedReason } from '../../api/task.ts'
import { redriveDeadline } from '../rules.ts'
import { count, endUntold, erase, isBehind, note } from './change.ts'
import { recordOf, rowById, storedTask, type TaskRow } from './rows.ts'
import type { Transaction } from './transaction.ts'
import { where } from './where.ts'

export function cancel(tx: Transaction, taskId: string, as?: ExhaustedReason): 'cancelled' | 'requested' | 'gone' {
  const row = rowById(tx.database, taskId)
  if (!row || !storedTask(row)) return 'gone'
  if (row.status === 'IN_FLIGHT') {
    row.cancelAsked = 1
    tx.save(row)
    tx.hint('cancelled', taskId)
    return 'requested'
  }
  if (row.status !== 'PENDING') return 'gone'
  endUntold(tx, row, as)
  return 'cancelled'
}

type RedriveOptions = Parameters<TaskStore['redrive']>[1]

export function redrive(
  tx: Transaction,
  taskIds: readonly string[],
  options: RedriveOptions,
): ('redriven' | 'key_expired' | 'gone')[] {
  let back = 0
  return taskIds.map((taskId) => {
    const row = rowById(tx.database, taskId)
    const task = row && storedTask(row)
    if (!row || !task || row.status !== 'EXHAUSTED') return 'gone'
    const policy = options.policies?.find(({ policyId }) => policyId === task.policy.policyId) ?? task.policy
    const deadline = redriveDeadline(row, policy, options.acceptDuplicateRisk, tx.now)
    if (!deadline) return 'key_expired'
    row.record = recordOf({ ...task, policy })
    revive(tx, row, deadline, tx.now + back++ * options.spacingMs)
    return 'redriven'
  })
}

/** Behind what came meanwhile. */
function revive(
  tx: Transaction,
  row: TaskRow,
  deadline: NonNullable<ReturnType<typeof redriveDeadline>>,
  at: number,
): void {
  const behind = isBehind(tx, row.principal, row.orderKey)
  count(tx, row, -1)
  row.status = 'PENDING'
  count(tx, row, 1)
  row.seq = ++tx.state.lastSeq
  row.reason = null
  row.attemptNumber = 0
  note(tx, row, 'redriven')
  row.refunds = 0
  row.phase = -1
  row.previousDelayMs = 0
  row.marks = 0
  row.parked = 0
  row.behind = behind ? 1 : 0
  row.turnAt = at
  row.dueAt = behind ? null : at
  row.serverAt = Number.NEGATIVE_INFINITY
  row.deadlineAt = deadline.deadlineAt
  row.deadlineReason = deadline.deadlineReason
  row.endedAt = null
  tx.save(row)
  tx.hint('due')
}

export function flush(tx: Transaction, lane?: string): number {
  const { sql, values } = where(
    { 'dueAt > max(?, serverAt)': tx.now, 'lane = ?': lane },
    `status = 'PENDING' AND aside = 0 AND recordSchema <= ${RECORD_SCHEMA}`,
  )
  return makeDue(tx, tx.database.all<TaskRow>(`SELECT * FROM tasks ${sql}`, ...values))
}

export function unpark(tx: Transaction, { principal, lane }: Parameters<NonNullable<TaskStore['unpark']>>[0]): number {
  const { sql, values } = where({ 'principal IS ?': principal, 'lane = ?': lane }, 'parked = 1 AND aside = 0')
  return makeDue(tx, tx.database.all<TaskRow>(`SELECT * FROM tasks ${sql} ORDER BY seq`, ...values))
}

function makeDue(tx: Transaction, rows: readonly TaskRow[]): number {
  for (const row of rows) {
    row.parked = 0
    row.turnAt = Math.max(tx.now, row.serverAt)
    row.dueAt = row.turnAt
    tx.save(row)
  }
  if (rows.length > 0) tx.hint('due')
  return rows.length
}

export function purge(tx: Transaction, { taskId, principal, status }: Parameters<TaskStore['purge']>[0]): number {
  const { sql, values } = where({ 'id = ?': taskId, 'principal IS ?': principal, 'status = ?': status })
  const rows = tx.database.all<TaskRow>(`SELECT * FROM tasks ${sql} ORDER BY seq`, ...values)
  for (const row of rows) erase(tx, row)
  return rows.length
}
