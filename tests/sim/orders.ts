/** What the book makes of orders: cancel, redrive, flush, unpark, purge. */

import type { RetryPolicy } from '../../js/api/policy.ts'
import type { ExhaustedReason, TaskStatus } from '../../js/api/task.ts'
import { type Book, isLive } from './book.ts'
import type { Known } from './known.ts'

export function cancelled(book: Book, taskId: string, as: ExhaustedReason | undefined, said: string): void {
  const known = book.tasks.get(taskId)
  book.note(() => `store cancel ${taskId} ${as ?? ''}: ${said}`)
  const loose = known !== undefined && book.isLoose(known)
  if (said === 'cancelled') {
    book.expect(known?.status === 'PENDING' || loose, 'S14', () => `${taskId} ${known?.status} was cancelled`)
    if (known) known.status = as === undefined ? 'CANCELLED' : 'EXHAUSTED'
  } else if (said === 'requested') {
    book.expect(known?.status === 'IN_FLIGHT', 'S14', () => `the end of ${taskId} ${known?.status} was asked for`)
    if (known) known.cancelRequested = true
  } else book.expect(!known || !isLive(known), 'S1', () => `${taskId} is said to be gone, and was ${known?.status}`)
}

export function redriven(
  book: Book,
  taskIds: readonly string[],
  { spacingMs, policies = [] }: { readonly spacingMs: number; readonly policies?: readonly RetryPolicy[] },
  said: readonly string[],
): void {
  let count = 0
  for (const [i, taskId] of taskIds.entries()) {
    const known = book.tasks.get(taskId)
    book.note(() => `store redrive ${taskId}: ${said[i]}`)
    const dead = known?.status === 'EXHAUSTED'
    book.expect(dead === (said[i] !== 'gone'), 'S13', () => `redrive of ${taskId} ${known?.status} said ${said[i]}`)
    if (!known || said[i] !== 'redriven') continue
    known.status = 'PENDING'
    known.attempts = 0
    known.refunds = 0
    known.parked = false
    known.cancelRequested = false
    known.redriven = true
    known.seq = book.nextSeq()
    book.due(known, book.measure + spacingMs * count++)
    known.floorAt = Number.NEGATIVE_INFINITY
    known.maxAttempts = policies.find(({ policyId }) => policyId === known.policyId)?.maxAttempts ?? known.maxAttempts
  }
}

export function flushed(book: Book, lane: string | undefined): void {
  book.note('store flush')
  for (const known of book.tasks.values()) {
    if (known.status === 'PENDING' && !known.parked && (lane === undefined || known.lane === lane))
      bringForward(book, known)
  }
}

export function unparked(
  book: Book,
  { principal, lane }: { readonly principal?: string | null; readonly lane?: string },
): void {
  book.note(() => `store unpark ${principal ?? lane}`)
  for (const known of book.tasks.values()) {
    if (known.status !== 'PENDING' || !known.parked) continue
    if ((principal !== undefined && known.principal !== principal) || (lane !== undefined && known.lane !== lane))
      continue
    known.parked = false
    bringForward(book, known)
  }
}

export function purged(
  book: Book,
  filter: { readonly taskId?: string; readonly principal?: string | null; readonly status?: TaskStatus },
  count: number,
): void {
  book.note(() => `store purge ${JSON.stringify(filter)}: ${count}`)
  let expected = 0
  for (const known of book.tasks.values()) {
    if (known.status === 'PURGED') continue
    if (filter.taskId !== undefined && known.taskId !== filter.taskId) continue
    if (filter.principal !== undefined && known.principal !== filter.principal) continue
    if (filter.status !== undefined && known.status !== filter.status) continue
    known.status = 'PURGED'
    expected++
  }
  book.purged += expected
  book.expect(expected === count, 'S2', () => `${count} were purged where ${expected} fit`)
}

function bringForward(book: Book, known: Known): void {
  book.due(known, Math.min(known.dueAt, known.floorAt))
}
