/** Tasks whose attempts have ended or go on, and what time alone does to tasks: retention, leases that ran out, deadlines. */

import { laneName, principalIn } from '../../api/records.ts'
import {
  type LaneHold,
  type Lease,
  type Settlement,
  type Silence,
  type StoredTask,
  type StoreTerms,
  SWEEP,
  type Trimmed,
  type Turn,
} from '../../api/store.ts'
import { MARK_UNANSWERED } from '../../core/generated/codes.ts'
import {
  endedInSilence,
  GOES_ON,
  goOn,
  isCallersEnd,
  isLate,
  isReadable,
  isSpent,
  mayRepeat,
  mostEnded,
  settledAlready,
} from '../engine/rules.ts'
import { forgetBuckets } from './limits.ts'
import { copyOf, show } from './reads.ts'
import { holdLane, keepLog, note, type Row, type Rows } from './rows.ts'
import { isUnreported } from './unreported.ts'

export function settle(rows: Rows, settlement: Settlement, terms: StoreTerms, now: number): Turn['settled'][number] {
  const { lease, next } = settlement
  const row = rows.get(lease.taskId)
  if (!row || !isReadable(row.given)) return 'gone'
  const already = settledAlready(row, settlement)
  if (already) return already
  row.settledToken = lease.token
  keepLog(row, copyOf(settlement.log))
  holdLane(row.lane, settlement.holdLaneForMs, terms, now)
  if (next.kind === 'succeeded') {
    rows.end(row, 'SUCCEEDED', undefined, now)
    return 'applied'
  }
  if (row.cancelRequested) {
    if (settlement.log.kind === 'cancelled') rows.end(row, 'CANCELLED', undefined, now)
    else rows.endUnasked(row, 'CANCELLED', undefined, now)
    return 'cancelled'
  }
  if (isCallersEnd(row, next)) {
    goOn(row, GOES_ON)
    rows.wait(row, now, now)
    return 'stale'
  }
  if (next.kind === 'exhausted') {
    row.marks |= next.marks ?? 0
    rows.end(row, 'EXHAUSTED', next.reason, now)
    return 'applied'
  }
  if (next.kind === 'release') row.parked = next.park === true
  goOn(row, next)
  rows.wait(row, now + next.delayMs, now + (next.serverMs ?? 0))
  return 'applied'
}

/** The lane may have no task. No time is no hold. */
export function holdNamed(rows: Rows, { lane: name, forMs }: LaneHold, terms: StoreTerms, now: number): void {
  if (forMs > 0) holdLane(rows.laneOf({ lane: name, principal: principalIn(name) }), forMs, terms, now)
}

export function renew(rows: Rows, lease: Lease, now: number): Turn['renewed'][number] {
  const row = rows.get(lease.taskId)
  if (row?.status !== 'IN_FLIGHT' || row.token !== lease.token) return 'lost'
  row.leaseEndsAt = now + lease.forMs
  return row.cancelRequested ? 'cancelled' : 'renewed'
}

/** Tasks that a turn has ended, and records that it has put aside. */
export interface Found {
  readonly ended: StoredTask[]
  unreadable: number
}

/** Deletes what is past its retention; says which of it were dead letters. */
export function retain(rows: Rows, terms: StoreTerms, now: number): readonly Trimmed[] {
  const { terminalMs, deadLetterMs, maxDeadLetters } = terms.retention
  for (const lane of rows.lanes.values()) rows.forgetLane(lane, now)
  forgetBuckets(rows, now)
  const terminal = [rows.of('SUCCEEDED'), rows.of('CANCELLED')]
  const deleted = trim(rows, terminal, now - terminalMs, mostEnded(terms, rows.counts.bytes), SWEEP, now)
  const letters = trim(rows, [rows.of('EXHAUSTED')], now - deadLetterMs, maxDeadLetters, SWEEP - deleted.length, now)
  return letters.map(({ taskId, given: { principal } }) => ({ taskId, principal }))
}

/** Deletes those that ended before `before`, and beyond `most` the oldest of the principal that has most, one by one. */
function trim(
  rows: Rows,
  kinds: readonly ReadonlySet<Row>[],
  before: number,
  most: number,
  room: number,
  now: number,
): readonly Row[] {
  const size = kinds.reduce((sum, kind) => sum + kind.size, 0)
  // time only moves on between two endings, so the first of each is its oldest
  const isDue = size > most || kinds.some((kind) => [...first(kind)].some(({ endedAt }) => endedAt < before))
  if (!isDue) return []
  const all = kinds.flatMap((kind) => [...kind]).filter((row) => !rows.everyone || !isUnreported(row))
  const oldestFirst = all.sort((a, b) => a.endedAt - b.endedAt || a.seq - b.seq)
  const doomed = oldestFirst.filter(({ endedAt }) => endedAt < before).slice(0, room)
  const left = oldestFirst.filter((row) => !doomed.includes(row))
  const owned = new Map<string | null, number>()
  const count = (row: Row, by: 1 | -1) => owned.set(row.given.principal, (owned.get(row.given.principal) ?? 0) + by)
  for (const kind of kinds) for (const row of kind) count(row, 1)
  for (const row of doomed) count(row, -1)
  while (doomed.length < Math.min(room, size - most)) {
    const owners = [...owned].filter(([owner]) => left.some(({ given }) => given.principal === owner))
    const [first] = owners.sort(([a, as], [b, bs]) => bs - as || (laneName(a, '') < laneName(b, '') ? -1 : 1))
    const at = left.findIndex(({ given }) => given.principal === first?.[0])
    if (at < 0) break
    for (const row of left.splice(at, 1)) {
      doomed.push(row)
      count(row, -1)
    }
  }
  for (const row of doomed) rows.remove(row, now)
  return doomed
}

function first(kind: ReadonlySet<Row>): readonly Row[] {
  for (const row of kind) return [row]
  return []
}

/** Takes back leases that ran out, in the order in which they were given: the attempt counts, and its outcome is unknown. */
export function takeBack(rows: Rows, found: Found, now: number, silence: Silence | undefined): void {
  const lapsed = [...rows.of('IN_FLIGHT')].filter(({ leaseEndsAt }) => leaseEndsAt <= now)
  for (const row of lapsed.sort((a, b) => a.token - b.token)) {
    if (endedInSilence(row.leaseEndsAt, silence, now)) {
      row.leaseEndsAt = now + silence.graceMs
      continue
    }
    if (row.cancelRequested) rows.endUnasked(row, 'CANCELLED', undefined, now)
    else if (isSpent(row) || isLate(row, now) || !mayRepeat(row.given))
      rows.endUnasked(row, 'EXHAUSTED', 'outcome_unknown', now)
    else {
      note(row, 'lost', now)
      row.marks |= MARK_UNANSWERED
      rows.wait(row, now, now)
      continue
    }
    found.ended.push(show(row))
  }
}

/** Ends pending tasks whose deadline has passed. */
export function endLate(rows: Rows, found: Found, now: number): void {
  const late: Row[] = []
  for (const row of rows.of('PENDING')) if (!row.unreadable && isLate(row, now)) late.push(row)
  late.sort((a, b) => a.deadlineAt - b.deadlineAt || a.seq - b.seq)
  for (const row of late.slice(0, SWEEP)) {
    if (isReadable(row.given)) {
      rows.endUnasked(row, 'EXHAUSTED', row.deadlineReason, now)
      found.ended.push(show(row))
    } else markUnreadable(rows, row, found)
  }
}

export function markUnreadable(rows: Rows, row: Row, found: Found): void {
  rows.putAside(row)
  found.unreadable++
}
