/** The work of time alone: retention, leases that ran out, deadlines. Each is bounded by `SWEEP`. */

import { principalIn, type StoredTask } from '../../api/records.ts'
import { type Silence, SWEEP, type Trimmed } from '../../api/store.ts'
import { MARK_UNANSWERED } from '../../core/generated/codes.ts'
import { endUnasked, erase, markUnreadable, note, putBack } from './change.ts'
import type { Outlived, Tx } from './port.ts'
import type { Row } from './row.ts'
import { endedInSilence, isLate, isSpent, mayRepeat, mostEnded } from './rules.ts'

const DONE = ['SUCCEEDED', 'CANCELLED'] as const

/** Tasks that retention deletes: first those that have succeeded or were cancelled, then dead letters. */
export function outlivedOf({ now, state, terms }: Tx): readonly [others: Outlived, letters: Outlived] {
  const { terminalMs, deadLetterMs, maxDeadLetters } = terms.retention
  const { succeeded, cancelled, exhausted, bytes } = state
  return [
    {
      statuses: DONE,
      before: now - terminalMs,
      surplus: succeeded + cancelled - mostEnded(terms, bytes),
    },
    { statuses: ['EXHAUSTED'], before: now - deadLetterMs, surplus: exhausted - maxDeadLetters },
  ]
}

/** Deletes what is past its retention; says which of it were dead letters. */
export function retain(tx: Tx, [others, letters]: ReturnType<typeof outlivedOf>): readonly Trimmed[] {
  const ended = tx.oldest(others, SWEEP)
  const dead = tx.oldest(letters, SWEEP - ended.length)
  for (const row of [...ended, ...dead]) {
    if (row.isBroken) markUnreadable(tx, row)
    else erase(tx, row)
  }
  // by its lane, which is text whatever other code has made of the row
  return dead.flatMap(({ taskId, lane, isBroken }) => (isBroken ? [] : { taskId, principal: principalIn(lane) }))
}

/** Deletes up to so many of those that have succeeded or were cancelled, though none is past its retention: where the place of the store has no room left. Says how many. */
export function giveWay(tx: Tx, count: number): number {
  const rows = tx.oldest({ statuses: DONE, before: Number.NEGATIVE_INFINITY, surplus: count }, count)
  for (const row of rows) {
    if (row.isBroken) markUnreadable(tx, row)
    else erase(tx, row)
  }
  return rows.length
}

/** How many tasks each principal has of some kind. */
export type Owned<P> = readonly (readonly [principal: P, count: number])[]

/** How many of the tasks each principal loses, one by one those that have most of them. `owned`: by name. */
export function allot<P>(owned: Owned<P>, surplus: number): ReadonlyMap<P, number> {
  const left = owned.map(([, count]) => count)
  for (let n = 0; n < surplus; n++) {
    const most = Math.max(...left)
    if (most > 0) left[left.indexOf(most)] = most - 1
  }
  return new Map(owned.map(([principal, count], i) => [principal, count - (left[i] as number)]))
}

/** Takes back leases that are over, then ends what is past its deadline; says what has ended. `alive`: the owner of the turn. */
export function endOverdue(tx: Tx, alive: string, silence: Silence | undefined): StoredTask[] {
  const ended: StoredTask[] = []
  for (const row of tx.lapsed(alive)) {
    if (!tx.isGone(row, alive) && endedInSilence(tx.shown(row.leaseUntil ?? 0), silence, tx.shown(tx.now))) {
      row.leaseUntil = tx.now + silence.graceMs
      tx.save(row)
      continue
    }
    takeBack(tx, row)
    collect(tx, ended, row)
  }
  for (const row of tx.late()) {
    if (tx.show(row)) endUnasked(tx, row, row.deadlineReason)
    else markUnreadable(tx, row)
    collect(tx, ended, row)
  }
  return ended
}

/** Puts a task back whose lease is over, or ends it when nothing permits another attempt. */
function takeBack(tx: Tx, row: Row): void {
  const task = tx.show(row)
  if (!task) markUnreadable(tx, row)
  else if (row.cancelAsked) endUnasked(tx, row)
  else if (isSpent(task) || isLate(row, tx.now) || !mayRepeat(task)) endUnasked(tx, row, 'outcome_unknown')
  else {
    note(tx, row, 'lost')
    row.marks |= MARK_UNANSWERED
    row.turnAt = tx.now
    row.serverAt = tx.now
    putBack(tx, row, tx.now)
  }
}

/** Adds the task to `ended` if it has. */
export function collect(tx: Tx, ended: StoredTask[], row: Row): void {
  const task = row.endedAt === null ? undefined : tx.show(row)
  if (task) ended.push(task)
}
