/** What time alone does to tasks: retention, leases that ran out, deadlines. Each turn starts with it. */

import type { StoredTask } from '../../api/store.ts'
import { type StoreTerms, SWEEP } from '../../api/store.ts'
import { isLate, isReadable, isSpent, mayRepeat } from '../engine/rules.ts'
import { note, type Row, type Rows } from './rows.ts'
import { show } from './show.ts'

/** What a turn found besides its claims. */
export interface Found {
  readonly ended: StoredTask[]
  unreadable: number
}

/** Says how many dead letters it deleted. */
export function retain(rows: Rows, { retention }: StoreTerms, now: number): number {
  const { terminalMs, maxTerminal, deadLetterMs, maxDeadLetters } = retention
  for (const lane of rows.lanes.values()) rows.forgetLane(lane, now)
  const terminal = [rows.of('SUCCEEDED'), rows.of('CANCELLED')]
  const deleted = trim(rows, terminal, now - terminalMs, maxTerminal, SWEEP, now)
  return trim(rows, [rows.of('EXHAUSTED')], now - deadLetterMs, maxDeadLetters, SWEEP - deleted, now)
}

/** Deletes those that ended before `before`, and the oldest of those beyond `most`. */
function trim(
  rows: Rows,
  kinds: readonly ReadonlySet<Row>[],
  before: number,
  most: number,
  room: number,
  now: number,
): number {
  const size = kinds.reduce((sum, kind) => sum + kind.size, 0)
  // time only moves on between two endings, so the first of each is its oldest
  const isDue = size > most || kinds.some((kind) => [...first(kind)].some(({ endedAt }) => endedAt < before))
  if (!isDue) return 0
  const oldestFirst = kinds.flatMap((kind) => [...kind]).sort((a, b) => a.endedAt - b.endedAt || a.seq - b.seq)
  const doomed = oldestFirst.filter(({ endedAt }, i) => endedAt < before || i < size - most).slice(0, room)
  for (const row of doomed) rows.remove(row, now)
  return doomed.length
}

function first(kind: ReadonlySet<Row>): readonly Row[] {
  for (const row of kind) return [row]
  return []
}

/** Leases that ran out, in the order in which they were given: the attempt counts, and nobody knows its outcome. */
export function takeBack(rows: Rows, found: Found, now: number): void {
  const lapsed = [...rows.of('IN_FLIGHT')].filter(({ leaseEndsAt }) => leaseEndsAt <= now)
  for (const row of lapsed.sort((a, b) => a.token - b.token)) {
    if (row.cancelRequested) rows.endUntold(row, 'CANCELLED', undefined, now)
    else if (isSpent(row) || isLate(row, now) || !mayRepeat(row.given))
      rows.endUntold(row, 'EXHAUSTED', 'outcome_unknown', now)
    else {
      note(row, 'lost', now)
      rows.wait(row, now, now)
      continue
    }
    found.ended.push(show(row))
  }
}

/** Deadlines that have passed while nobody had the task. */
export function endLate(rows: Rows, found: Found, now: number): void {
  const late: Row[] = []
  for (const row of rows.of('PENDING')) if (!row.aside && isLate(row, now)) late.push(row)
  late.sort((a, b) => a.deadlineAt - b.deadlineAt || a.seq - b.seq)
  for (const row of late.slice(0, SWEEP)) {
    if (isReadable(row.given)) {
      rows.endUntold(row, 'EXHAUSTED', row.deadlineReason, now)
      found.ended.push(show(row))
    } else putAside(row, found)
  }
}

/** Never sent, ended or deleted by this version; whoever can read it will find it. */
export function putAside(row: Row, found: Found): void {
  row.aside = true
  row.dueAt = null
  found.unreadable++
}
