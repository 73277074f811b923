/** What becomes of tasks whose attempts have ended, or go on. Their rows have been read. */

import { type Lease, RECORD_SCHEMA, type Settlement, type Turn } from '../../api/store.ts'
import { goOn, settledAlready } from '../engine/rules.ts'
import { end, endUntold, keepLog, putBack } from './change.ts'
import { hold } from './lanes.ts'
import { isOurs, type TaskRow } from './rows.ts'
import type { Transaction } from './transaction.ts'

export function settle(tx: Transaction, settlement: Settlement): Turn['settled'][number] {
  const { lease, log, next, holdLaneForMs = 0 } = settlement
  const row = tx.held(lease.taskId)
  if (!row || !isOurs(row) || row.aside || !(row.schema <= RECORD_SCHEMA)) return 'gone'
  const already = settledAlready(row, settlement)
  if (already) return already
  const cancelled = row.cancelAsked && next.kind !== 'succeeded'
  keepLog(tx, row, log)
  row.settledToken = lease.token
  if (holdLaneForMs > 0) {
    const lane = tx.lane(row)
    hold(lane, tx.now + holdLaneForMs)
    tx.saveLane(lane)
  }
  if (cancelled && log.kind !== 'cancelled') endUntold(tx, row)
  else if (cancelled) end(tx, row, 'CANCELLED')
  else apply(tx, row, next)
  return cancelled ? 'cancelled' : 'applied'
}

function apply(tx: Transaction, row: TaskRow, next: Settlement['next']): void {
  if (next.kind === 'succeeded') end(tx, row, 'SUCCEEDED')
  else if (next.kind === 'exhausted') end(tx, row, 'EXHAUSTED', next.reason)
  else waitAgain(tx, row, next)
}

type Again = Extract<Settlement['next'], { readonly delayMs: number }>

function waitAgain(tx: Transaction, row: TaskRow, next: Again): void {
  const { delayMs, serverMs = 0 } = next
  goOn(row, next)
  const isParked = next.kind === 'release' && next.park === true
  row.parkedIn = isParked ? row.lane : null
  row.turnAt = tx.now + delayMs
  row.serverAt = tx.now + serverMs
  putBack(tx, row, isParked ? null : row.turnAt)
}

export function renew(tx: Transaction, lease: Lease): Turn['renewed'][number] {
  const row = tx.held(lease.taskId)
  if (row?.status !== 'IN_FLIGHT' || row.token !== lease.token) return 'lost'
  row.leaseUntil = tx.now + lease.forMs
  tx.save(row)
  return row.cancelAsked ? 'cancelled' : 'renewed'
}
