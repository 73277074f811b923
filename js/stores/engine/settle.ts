/** Settling and renewing: what a lease permits. Tokens only rise, so a stale one is another (S4). */

import type { Lease, Settlement, Turn } from '../../api/store.ts'
import { end, endUnasked, holdLane, putBack } from './change.ts'
import type { Tx } from './port.ts'
import { isOurs, type Row } from './row.ts'
import { GOES_ON, goOn, isCallersEnd, isReadable, settledAlready } from './rules.ts'

/** The task has been loaded. */
export function settle(tx: Tx, settlement: Settlement): Turn['settled'][number] {
  const { lease, log, next, holdLaneForMs } = settlement
  const row = tx.row(lease.taskId)
  if (!row || !isOurs(row) || row.aside || row.isBroken || !isReadable(row)) return 'gone'
  const already = settledAlready(row, settlement)
  if (already) return already
  const isCancelled = row.cancelAsked && next.kind !== 'succeeded'
  tx.keepLog(row, log)
  row.settledToken = lease.token
  holdLane(tx, tx.lane(row), holdLaneForMs)
  if (isCallersEnd(row, next) && !isCancelled) {
    waitAgain(tx, row, GOES_ON)
    return 'stale'
  }
  if (isCancelled && log.kind !== 'cancelled') endUnasked(tx, row)
  else if (isCancelled) end(tx, row, 'CANCELLED')
  else apply(tx, row, next)
  return isCancelled ? 'cancelled' : 'applied'
}

function apply(tx: Tx, row: Row, next: Settlement['next']): void {
  if (next.kind === 'succeeded') end(tx, row, 'SUCCEEDED')
  else if (next.kind === 'exhausted') {
    row.marks |= next.marks ?? 0
    end(tx, row, 'EXHAUSTED', next.reason)
  } else waitAgain(tx, row, next)
}

type Again = Extract<Settlement['next'], { readonly delayMs: number }>

function waitAgain(tx: Tx, row: Row, next: Again): void {
  const { delayMs, serverMs = 0 } = next
  goOn(row, next)
  const isParked = next.kind === 'release' && next.park === true
  row.parkedIn = isParked ? row.lane : null
  row.turnAt = tx.now + delayMs
  row.serverAt = tx.now + serverMs
  putBack(tx, row, isParked ? null : row.turnAt)
}

/** The task has been loaded. */
export function renew(tx: Tx, lease: Lease): Turn['renewed'][number] {
  const row = tx.row(lease.taskId)
  if (row?.status !== 'IN_FLIGHT' || row.isBroken || row.token !== lease.token) return 'lost'
  row.leaseUntil = tx.now + lease.forMs
  tx.save(row)
  return row.cancelAsked ? 'cancelled' : 'renewed'
}
