/** What time alone brings: retention, holds and leases that ran out, deadlines. Each a walk along an index, bounded. */

import { type StoredTask, SWEEP } from '../../api/store.ts'
import { isLate, isSpent, mayRepeat } from '../engine/rules.ts'
import { endUntold, erase, note, putBack } from './change.ts'
import { everyTime, within } from './keys.ts'
import { isHeld } from './lanes.ts'
import type { Orphans } from './presence.ts'
import { done } from './request.ts'
import { storedTask, type TaskRow } from './rows.ts'
import type { Transaction } from './transaction.ts'

/** Deletes what is past its retention; says how many of them were dead letters. */
export async function retain(tx: Transaction): Promise<number> {
  const { terminalMs, maxTerminal, deadLetterMs, maxDeadLetters } = tx.terms.retention
  const { succeeded, cancelled, exhausted } = tx.state
  const [ended, letters] = await Promise.all([
    succeeded + cancelled === 0
      ? []
      : oldest(tx, ['SUCCEEDED', 'CANCELLED'], tx.now - terminalMs, succeeded + cancelled - maxTerminal),
    exhausted === 0 ? [] : oldest(tx, ['EXHAUSTED'], tx.now - deadLetterMs, exhausted - maxDeadLetters),
  ])
  const doomed = letters.slice(0, SWEEP - ended.length)
  for (const row of [...ended, ...doomed]) erase(tx, row)
  return doomed.length
}

/** Those that ended before `before`, or the `surplus` that ended first; oldest first. */
async function oldest(
  tx: Transaction,
  statuses: readonly ('SUCCEEDED' | 'CANCELLED' | 'EXHAUSTED')[],
  before: number,
  surplus: number,
): Promise<TaskRow[]> {
  const index = tx.store('tasks').index('ended')
  const found = await Promise.all(
    statuses.map((status): Promise<TaskRow[]> => {
      const range = surplus > 0 ? within([status]) : within([status], before)
      return done(index.getAll(range, SWEEP))
    }),
  )
  const rows = found.flat().sort((a, b) => (a.endedAt ?? 0) - (b.endedAt ?? 0) || a.seq - b.seq)
  const aged = rows.filter(({ endedAt }) => endedAt !== null && endedAt < before).length
  return tx.hold(rows.slice(0, Math.min(SWEEP, Math.max(aged, surplus))))
}

/** Holds that are over: lanes that had nothing else go with them. */
export function endHolds(tx: Transaction): void {
  for (const lane of tx.lanes.filter((each) => each.heldUntil !== null && !isHeld(each, tx.now))) tx.saveLane(lane)
}

/** What the indexes have of it, asked for before the step has changed anything. */
export interface Overdue {
  readonly leased: readonly TaskRow[]
  readonly expired: readonly TaskRow[]
}

/** `orphans`: whose owner is gone. */
export async function findOverdue(tx: Transaction, orphans: Orphans | undefined): Promise<Overdue> {
  const tasks = tx.store('tasks')
  const leases = everyTime(orphans ? undefined : tx.now)
  const [leased, expired]: [TaskRow[], TaskRow[]] = await Promise.all([
    tx.state.inFlight === 0 ? [] : done(tasks.index('lease').getAll(leases)),
    tx.state.pending === 0 ? [] : done(tasks.index('late').getAll(IDBKeyRange.upperBound([tx.now]), SWEEP)),
  ])
  return { leased, expired }
}

/**
 * Leases that ran out or have lost their owner, and deadlines that have passed while nobody had the task: of what was
 * found, as it is by now, and of what has been changed since. Says what ended. `alive` is no orphan, whatever they say.
 */
export function endOverdue(
  tx: Transaction,
  alive: string,
  { leased, expired }: Overdue,
  orphans: Orphans | undefined,
): StoredTask[] {
  const isOrphan = ({ owner, guarded, token }: TaskRow): boolean =>
    orphans !== undefined && guarded && owner !== alive && token <= orphans.upTo && orphans.owners.includes(owner ?? '')
  const isLapsed = (row: TaskRow): boolean => row.leaseUntil !== null && (row.leaseUntil <= tx.now || isOrphan(row))
  const isExpired = ({ lateAt }: TaskRow): boolean => lateAt !== null && lateAt < tx.now
  const ended: StoredTask[] = []
  const lapsed = new Set([...tx.hold(leased), ...tx.changed()].filter(isLapsed))
  for (const row of [...lapsed].sort((a, b) => a.token - b.token)) {
    takeBack(tx, row)
    collect(tx, ended, row)
  }
  const late = new Set([...tx.hold(expired), ...tx.changed()].filter(isExpired))
  const first = [...late].sort((a, b) => (a.lateAt ?? 0) - (b.lateAt ?? 0) || a.seq - b.seq).slice(0, SWEEP)
  for (const row of first) {
    if (storedTask(row, 0)) endUntold(tx, row, row.deadlineReason)
    else tx.putAside(row)
    collect(tx, ended, row)
  }
  return ended
}

/** Put back, or ended when nothing permits another attempt. */
function takeBack(tx: Transaction, row: TaskRow): void {
  const task = storedTask(row, 0)
  if (!task) {
    putBack(tx, row, null)
    tx.putAside(row)
  } else if (row.cancelAsked) endUntold(tx, row)
  else if (isSpent(task) || isLate(task, tx.now) || !mayRepeat(task)) endUntold(tx, row, 'outcome_unknown')
  else {
    note(tx, row, 'lost')
    row.turnAt = tx.now
    row.serverAt = tx.now
    putBack(tx, row, tx.now)
  }
}

/** Only what has ended is told. */
export function collect(tx: Transaction, ended: StoredTask[], row: TaskRow): void {
  const task = row.endedAt === null ? undefined : storedTask(row, tx.state.skewMs)
  if (task) ended.push(task)
}
