/** What becomes of tasks whose attempts have ended, or go on. */

import type { Lease, Settlement, Turn } from '../../api/store.ts'
import { goOn, isReadable, settledAlready } from '../engine/rules.ts'
import { keepLog, type Rows } from './rows.ts'
import { copyOf } from './show.ts'

export function settle(rows: Rows, settlement: Settlement, now: number): Turn['settled'][number] {
  const { lease, next } = settlement
  const row = rows.get(lease.taskId)
  if (!row || !isReadable(row.given)) return 'gone'
  const already = settledAlready(row, settlement)
  if (already) return already
  row.settledToken = lease.token
  keepLog(row, copyOf(settlement.log))
  const holdMs = settlement.holdLaneForMs ?? 0
  // no time is no hold
  if (holdMs > 0) row.lane.heldUntil = Math.max(row.lane.heldUntil, now + holdMs)
  if (next.kind === 'succeeded') {
    rows.end(row, 'SUCCEEDED', undefined, now)
    return 'applied'
  }
  if (row.cancelRequested) {
    if (settlement.log.kind === 'cancelled') rows.end(row, 'CANCELLED', undefined, now)
    else rows.endUntold(row, 'CANCELLED', undefined, now)
    return 'cancelled'
  }
  if (next.kind === 'exhausted') {
    rows.end(row, 'EXHAUSTED', next.reason, now)
    return 'applied'
  }
  if (next.kind === 'release') row.parked = next.park === true
  goOn(row, next)
  rows.wait(row, now + next.delayMs, now + (next.serverMs ?? 0))
  return 'applied'
}

export function renew(rows: Rows, lease: Lease, now: number): Turn['renewed'][number] {
  const row = rows.get(lease.taskId)
  if (row?.status !== 'IN_FLIGHT' || row.token !== lease.token) return 'lost'
  row.leaseEndsAt = now + lease.forMs
  return row.cancelRequested ? 'cancelled' : 'renewed'
}
