/** Commands that users give: cancel, redrive, flush, unpark, purge. */

import type { TaskStore } from '../../api/store.ts'
import type { ExhaustedReason } from '../../api/task.ts'
import { MARK_SEE_OTHER } from '../../core/generated/codes.ts'
import { become, endUnasked, erase, hint, lineUp, note } from './change.ts'
import type { Tx } from './port.ts'
import { isLive, type Row } from './row.ts'
import { type Deadline, isAccepted, isReadable, redriveDeadline } from './rules.ts'
import type { Step } from './step.ts'

export function* cancel(
  tx: Tx,
  taskId: string,
  as?: ExhaustedReason,
  isCallers = false,
): Step<Awaited<ReturnType<TaskStore['cancel']>>> {
  yield tx.load([taskId])
  const row = tx.row(taskId)
  if (!row || !isLive(row) || !tx.show(row)) return 'gone'
  if (isCallers && isAccepted(row)) return 'requested'
  if (row.status === 'IN_FLIGHT') {
    row.cancelAsked = true
    tx.save(row)
    hint(tx, 'cancelled', taskId)
    return 'requested'
  }
  endUnasked(tx, row, as)
  return 'cancelled'
}

export function* redrive(
  tx: Tx,
  taskIds: readonly string[],
  { policies, acceptDuplicateRisk, spacingMs }: Parameters<TaskStore['redrive']>[1],
): Step<Awaited<ReturnType<TaskStore['redrive']>>> {
  yield tx.loadOrders(taskIds)
  let back = 0
  return taskIds.map((taskId) => {
    const row = tx.row(taskId)
    const task = row && tx.show(row)
    if (!row || !task || row.status !== 'EXHAUSTED') return 'gone'
    const policy = policies?.find(({ policyId }) => policyId === task.policy.policyId) ?? task.policy
    const { createdAt, expiresAfterMs } = task
    // `createdAt` is by the clock that is shown
    const expiresAt = expiresAfterMs && createdAt + expiresAfterMs + tx.now - tx.shown(tx.now)
    const deadline = redriveDeadline({ ...row, expiresAt }, policy, acceptDuplicateRisk, tx.now)
    if (!deadline) return 'key_expired'
    if (tx.ledger?.isUnreported(row)) return 'untold'
    tx.setPolicy(row, policy)
    revive(tx, row, deadline, tx.now + back++ * spacingMs)
    return 'redriven'
  })
}

/** Makes a dead letter pending again, behind what its order holds by now. */
function revive(tx: Tx, row: Row, { deadlineAt, deadlineReason }: Deadline, at: number): void {
  row.turnAt = at
  lineUp(tx, row)
  become(tx, row, 'PENDING')
  row.seq = ++tx.state.lastSeq
  row.reason = null
  row.attemptNumber = 0
  note(tx, row, 'redriven')
  row.refunds = 0
  row.phase = -1
  row.previousDelayMs = 0
  row.marks &= MARK_SEE_OTHER
  row.serverAt = Number.NEGATIVE_INFINITY
  row.deadlineAt = deadlineAt
  row.deadlineReason = deadlineReason
  row.endedAt = null
  tx.save(row)
  hint(tx, 'due')
}

export function* flush(tx: Tx, lane?: string): Step<number> {
  let changed = 0
  yield tx.eachWaiting(lane, (rows) => {
    changed += flushRows(tx, rows)
  })
  return changed
}

/** Makes those of these due now that wait for their own curve; says how many. */
export function flushRows(tx: Tx, rows: readonly Row[]): number {
  const isLater = (row: Row): boolean => (row.dueAt ?? 0) > Math.max(tx.now, row.serverAt)
  return makeDue(
    tx,
    rows.filter((row) => isLater(row) && isReadable(row)),
  )
}

export function* unpark(tx: Tx, filter: Parameters<Tx['eachParked']>[0]): Step<number> {
  let changed = 0
  yield tx.eachParked(filter, (rows) => {
    changed += makeDue(tx, rows)
  })
  return changed
}

/** Makes tasks due now, but for damaged ones, and no earlier than a server has asked for; says how many. */
function makeDue(tx: Tx, given: readonly Row[]): number {
  const rows = given.filter(({ isBroken }) => !isBroken)
  for (const row of rows) {
    row.parkedIn = null
    row.turnAt = Math.max(tx.now, row.serverAt)
    row.dueAt = row.turnAt
    tx.save(row)
  }
  if (rows.length > 0) hint(tx, 'due')
  return rows.length
}

export function* purge(tx: Tx, filter: Parameters<TaskStore['purge']>[0]): Step<number> {
  let purged = 0
  yield tx.eachOf(filter, (rows) => {
    for (const row of rows) erase(tx, row)
    purged += rows.length
  })
  return purged
}
