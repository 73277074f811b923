/** What becomes of tasks whose attempts have ended, or go on. Their rows have been read. */

import { type Lease, MOST_REFUNDS, RECORD_SCHEMA, type Settlement, type Turn } from '../store.ts'
import { end, keepLog, putBack } from './change.ts'
import { hold } from './lanes.ts'
import { isOurs, type TaskRow } from './rows.ts'
import type { Transaction } from './transaction.ts'

export function settle(tx: Transaction, settlement: Settlement): Turn['settled'][number] {
  const { lease, log, next, holdLaneForMs = 0 } = settlement
  const row = tx.held(lease.taskId)
  if (!row || !isOurs(row) || row.aside || !(row.schema <= RECORD_SCHEMA)) return 'gone'
  if (row.status === 'CANCELLED') return 'cancelled' // its key may be another's by now
  const holds = row.status === 'IN_FLIGHT' && row.token === lease.token
  const succeeded = next.kind === 'succeeded'
  if (row.settledToken === lease.token || (succeeded && row.status === 'SUCCEEDED')) return 'repeated'
  if (!holds && !succeeded) return 'stale'
  const cancelled = row.cancelAsked && !succeeded
  keepLog(tx, row, log)
  row.settledToken = lease.token
  if (holdLaneForMs > 0) {
    const lane = tx.lane(row)
    hold(lane, tx.now + holdLaneForMs)
    tx.saveLane(lane)
  }
  if (cancelled) end(tx, row, 'CANCELLED')
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
  const { delayMs, serverMs = 0, carry } = next
  if (next.kind === 'release' && next.refund && row.refunds < MOST_REFUNDS) {
    row.refunds++
    row.attemptNumber--
  }
  if (next.kind === 'retry') row.previousDelayMs = delayMs
  if (carry) {
    row.phase = carry.phase
    row.previousDelayMs = carry.previousDelayMs
    row.marks = carry.marks
  }
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
