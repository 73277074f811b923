/** Orders of people and queues for tasks that wait or were given up: redrive, flush, unpark, due. */

import type { RetryPolicy } from '../../api/policy.ts'
import { MARK_SEE_OTHER } from '../../core/generated/codes.ts'
import { isReadable, redriveDeadline } from '../engine/rules.ts'
import { copyOf } from './reads.ts'
import { note, type Row, type Rows } from './rows.ts'
import { isUnreported } from './unreported.ts'

export function redriveOne(
  rows: Rows,
  taskId: string,
  inMs: number,
  options: { readonly acceptDuplicateRisk: boolean; readonly policies?: readonly RetryPolicy[] },
  now: number,
): 'redriven' | 'key_expired' | 'untold' | 'gone' {
  const row = rows.get(taskId)
  if (row?.status !== 'EXHAUSTED' || !isReadable(row.given)) return 'gone'
  const policy = options.policies?.find(({ policyId }) => policyId === row.policy.policyId) ?? row.policy
  const { idempotencyKey, expiresAfterMs } = row.given
  const expiresAt = expiresAfterMs && row.createdAt + expiresAfterMs
  const deadline = redriveDeadline({ ...row, idempotencyKey, expiresAt }, policy, options.acceptDuplicateRisk, now)
  if (!deadline) return 'key_expired'
  if (rows.everyone && isUnreported(row)) return 'untold'
  row.policy = copyOf(policy)
  row.deadlineAt = deadline.deadlineAt
  row.deadlineReason = deadline.deadlineReason
  row.attemptNumber = 0
  note(row, 'redriven', now)
  row.refunds = 0
  row.phase = -1
  row.previousDelayMs = 0
  row.marks &= MARK_SEE_OTHER
  rows.revive(row, now + inMs)
  rows.hints.push({ kind: 'due' })
  return 'redriven'
}

export function flush(rows: Rows, lane: string | undefined, now: number): number {
  const waiting = [...rows.of('PENDING')].filter(
    (row) => (lane === undefined || row.lane.name === lane) && isReadable(row.given),
  )
  return makeDue(rows, waiting, now)
}

export function unpark(
  rows: Rows,
  { principal, lane }: { readonly principal?: string | null; readonly lane?: string },
  now: number,
): number {
  const parked = [...rows.of('PENDING')].filter(
    (row) =>
      row.parked &&
      (principal === undefined || row.given.principal === principal) &&
      (lane === undefined || row.lane.name === lane),
  )
  for (const row of parked) {
    row.parked = false
    row.dueAt = Number.POSITIVE_INFINITY
  }
  return makeDue(rows, parked, now)
}

export function makeDueIn(rows: Rows, taskId: string, inMs: number, now: number): 'due' | 'gone' {
  const row = rows.get(taskId)
  if (row?.status !== 'PENDING' || row.unreadable || !isReadable(row.given)) return 'gone'
  const at = Math.max(now + inMs, row.floorAt)
  const isBehind = row.dueAt === null && !row.parked
  if (!isBehind && (row.dueAt === null || at < row.dueAt)) rows.hints.push({ kind: 'due' })
  if (!isBehind) row.dueAt = at
  row.parked = false
  row.wantedAt = at
  return 'due'
}

/** Brings forward what is due later, as far as the server lets it. */
function makeDue(rows: Rows, waiting: readonly Row[], now: number): number {
  let changed = 0
  for (const row of waiting) {
    const at = Math.max(now, row.floorAt)
    if (row.dueAt === null || row.dueAt <= at) continue
    row.dueAt = at
    row.wantedAt = at
    changed++
  }
  if (changed > 0) rows.hints.push({ kind: 'due' })
  return changed
}
