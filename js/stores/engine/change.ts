/** How a task passes from one status to another: the only place that changes counters, leases and turns in an order. */

import type { Hint, Lease } from '../../api/store.ts'
import type { DecisionKind, ExhaustedReason, TaskStatus } from '../../api/task.ts'
import type { Tx } from './port.ts'
import { COUNTER, isHoldOver, isLive, isOurs, type Lane, type Row, takesRoom } from './row.ts'
import { isLater, noteOf } from './rules.ts'

/** Counts `by` tasks like this one more, or fewer. */
function count(tx: Tx, row: Row, by: 1 | -1): void {
  const { state } = tx
  const counter = COUNTER[row.status]
  state[counter] = atLeast0(state[counter] + by)
  if (takesRoom(row)) state.bytes = atLeast0(state.bytes + by * row.bodyBytes)
  if (isLive(row) && !row.aside) countInLane(tx, row, by)
  tx.ledger?.count(row, by)
}

function countInLane(tx: Tx, row: Row, by: 1 | -1): void {
  const lane = tx.lane(row)
  const waits = row.status === 'PENDING' ? 'pending' : 'inFlight'
  lane[waits] = atLeast0(lane[waits] + by)
  tx.saveLane(lane)
}

/** A row that other code has changed was counted as what it was before. */
const atLeast0 = (count: number): number => Math.max(0, count)

/** The caller sets what else changes with the status, and saves the row. */
export function become(tx: Tx, row: Row, status: TaskStatus): void {
  count(tx, row, -1)
  row.status = status
  count(tx, row, 1)
}

export function insert(tx: Tx, row: Row, body: Uint8Array | undefined): void {
  lineUp(tx, row)
  tx.lane(row).tasks++
  count(tx, row, 1)
  tx.insert(row, body)
}

/** Gives a row that is about to be pending its place in its order, and its due time if nothing is before it. */
export function lineUp(tx: Tx, row: Row): void {
  const isBehind = row.orderKey !== null && tx.joinOrder(row)
  row.behind = row.orderKey === null ? null : isBehind ? 1 : 0
  row.dueAt = isBehind ? null : row.turnAt
}

export function startLease(tx: Tx, row: Row, owner: string, forMs: number): Lease {
  become(tx, row, 'IN_FLIGHT')
  row.dueAt = null
  row.attemptNumber++
  row.firstAttemptAt ??= tx.now
  row.owner = owner
  row.token = ++tx.state.lastToken
  row.leaseUntil = tx.now + forMs
  tx.leaseChanged(row, 1)
  const lane = tx.lane(row)
  lane.served = tx.ledger?.tagAfter(lane) ?? ++tx.state.lastServed
  lane.heldUntil = null
  tx.save(row)
  hint(tx, 'changed', row.taskId)
  return { taskId: row.taskId, token: row.token, forMs }
}

function dropLease(tx: Tx, row: Row): void {
  tx.leaseChanged(row, -1)
  row.owner = null
  row.leaseUntil = null
  row.cancelAsked = false
}

/** Lets a task wait again. `dueAt` null: until it is asked for. */
export function putBack(tx: Tx, row: Row, dueAt: number | null): void {
  become(tx, row, 'PENDING')
  dropLease(tx, row)
  row.dueAt = dueAt
  tx.save(row)
  hint(tx, 'settled', row.taskId)
  hint(tx, 'due')
}

export function end(tx: Tx, row: Row, status: 'SUCCEEDED' | 'CANCELLED'): void
export function end(tx: Tx, row: Row, status: 'EXHAUSTED', reason: ExhaustedReason): void
export function end(tx: Tx, row: Row, status: TaskStatus, reason?: ExhaustedReason): void {
  const wasLive = isLive(row)
  become(tx, row, status)
  dropLease(tx, row)
  row.reason = reason ?? null
  row.dueAt = null
  row.parkedIn = null
  row.behind = null
  row.endedAt = tx.now
  // a dead letter may be sent again, other tasks may not: what may not be sent is not kept
  if (status !== 'EXHAUSTED') tx.strip(row)
  tx.save(row)
  tx.ledger?.ended(row)
  hint(tx, 'settled', row.taskId)
  if (wasLive) tx.passOn(row)
}

/** Ends a task where no settlement says so. */
export function endUnasked(tx: Tx, row: Row, reason?: ExhaustedReason): void {
  note(tx, row, reason ? 'exhausted' : 'cancelled', reason)
  if (reason) end(tx, row, 'EXHAUSTED', reason)
  else end(tx, row, 'CANCELLED')
}

/** Writes what the store itself has decided into the history of a task. */
export function note(tx: Tx, row: Row, kind: DecisionKind, reason?: ExhaustedReason): void {
  tx.keepLog(row, noteOf(row.taskId, row.attemptNumber, tx.shown(tx.now), kind, reason))
}

/** Keeps a record that cannot be read where it is, and out of everything that acts (S20). The next of its order gets its turn. */
export function markUnreadable(tx: Tx, row: Row): void {
  setAside(tx, row)
  if (!isLater(row)) tx.passOn(row)
}

/** Whether a record is damaged: a later version's cannot be read either, and is none. */
export const isDamaged = (tx: Tx, row: Row): boolean => !isLater(row) && tx.show(row) === undefined

/** `markUnreadable`, by who sees to its order. */
export function setAside(tx: Tx, row: Row): void {
  if (row.aside) return
  if (row.status === 'IN_FLIGHT') {
    become(tx, row, 'PENDING')
    dropLease(tx, row)
    hint(tx, 'settled', row.taskId)
  }
  // counted on as pending, but its lane has nothing to wait for
  if (isLive(row) && isOurs(row)) countInLane(tx, row, -1)
  row.aside = true
  row.dueAt = null
  tx.save(row)
  tx.unreadable++
}

/** Deletes a task and all that hangs on it. */
export function erase(tx: Tx, row: Row): void {
  const isCounted = isOurs(row)
  if (isCounted) {
    count(tx, row, -1)
    dropLease(tx, row)
    tx.state.purged++
    const lane = tx.lane(row)
    lane.tasks = atLeast0(lane.tasks - 1)
    tx.saveLane(lane)
  }
  tx.erase(row)
  if (!isCounted || !isLive(row)) {
    hint(tx, 'changed')
    return
  }
  hint(tx, 'settled', row.taskId)
  tx.passOn(row)
}

/** Gives the first task of an order its own due time, if others were before it until now. */
export function advance(tx: Tx, next: Row): void {
  if (next.behind !== 1 || next.aside || next.isBroken) return
  next.behind = 0
  if (next.parkedIn === null) next.dueAt = Math.max(next.turnAt, tx.now)
  tx.save(next)
  hint(tx, 'due')
}

/** Holds a lane as its server asked, for `maxLaneHoldMs` from the beginning of the hold at most. No time holds nothing. */
export function holdLane(tx: Tx, lane: Lane, askedMs = 0): void {
  const { now, terms } = tx
  const forMs = Math.min(askedMs, terms.maxLaneHoldMs)
  if (!(forMs > 0)) return
  const { heldUntil, holdEndsBy } = lane
  if (heldUntil !== null && heldUntil > now) {
    lane.heldUntil = Math.max(heldUntil, Math.min(now + forMs, holdEndsBy ?? heldUntil))
  } else if (isHoldOver(lane, now)) {
    lane.holdEndsBy = now + terms.maxLaneHoldMs
    lane.heldUntil = now + forMs
  } else return // those who waited come first
  tx.saveLane(lane)
}

/** Gives listeners a reason to look; what names no task is said once. */
export function hint(tx: Tx, kind: Hint['kind'], taskId?: string): void {
  if (taskId !== undefined || !tx.hints.some((other) => other.kind === kind && other.taskId === undefined))
    tx.hints.push(taskId === undefined ? { kind } : { kind, taskId })
}
