/** What the book makes of the answers to an `enqueue`. */

import type { Enqueued, NewTask } from '../../js/api/store.ts'
import type { Book } from './book.ts'
import { keepsFirstWord } from './words.ts'

const text = new TextDecoder()

export function enqueued(book: Book, tasks: readonly NewTask[], answers: readonly Enqueued[]): void {
  for (const [i, task] of tasks.entries()) {
    const answer = answers[i]
    const { taskId, principal, idempotencyKey: key } = task
    book.note(() => `store enqueue ${taskId} ${answer?.outcome} ${answer?.taskId}`)
    if (!answer) {
      book.fail('S1', `no answer to the enqueue of ${taskId}`)
      continue
    }
    const same = book.tasks.get(taskId)
    const keeper = key === null ? undefined : book.keeper(principal, key)
    const { capacity = Number.POSITIVE_INFINITY } = book.limits
    const room = capacity - book.held().length
    if (answer.outcome === 'stored') {
      book.expect(room > 0, 'S17', () => `${taskId} was stored beyond ${capacity}`)
      // one that was purged meanwhile is new
      book.expect(!same || same.status === 'PURGED', 'S14', () => `${taskId} was stored twice`)
      book.expect(!keeper, 'S6', () => `${taskId} was stored, and ${keeper?.taskId} has its key`)
      add(book, task)
    } else if (answer.outcome === 'duplicate') {
      const fits = answer.taskId === taskId ? same : keeper?.fingerprint === task.fingerprint
      book.expect(!!fits, 'S14', () => `${taskId} is called a duplicate of ${answer.taskId}`)
    } else if (answer.outcome === 'conflict') {
      const fits = keeper && keeper.fingerprint !== task.fingerprint && keeper.taskId === answer.taskId
      book.expect(!!fits, 'S6', () => `${taskId} is said to be in conflict with ${answer.taskId}`)
    } else {
      book.expect(room <= 0, 'S17', () => `${taskId} was refused, and there is room for ${room}`)
      book.totals.refused++
    }
  }
}

export function intentOf({ body, targetUrl }: NewTask): string {
  if (!body) return new URL(targetUrl).searchParams.get('intent') ?? ''
  return (JSON.parse(text.decode(body)) as { readonly intent: string }).intent
}

function add(book: Book, task: NewTask): void {
  const { taskId, principal, lane, idempotencyKey: key, fingerprint, orderKey, attemptNumber, serverMs = 0 } = task
  const intent = intentOf(task)
  const { measure } = book
  book.accepted++
  book.expect(book.asked.get(intent)?.mayBeStored !== false, 'S12', () => `${intent} is in the store`)
  book.hold(lane, task.holdLaneForMs ?? 0, `${taskId} is stored`)
  if (attemptNumber > 0) keepsFirstWord(book, intent, task.dueInMs)
  book.expect(task.dueInMs >= serverMs, 'S9', () => `${taskId} is due in ${task.dueInMs}, the server said ${serverMs}`)
  book.tasks.set(taskId, {
    taskId,
    intent,
    principal,
    lane,
    origin: new URL(task.targetUrl).origin,
    key,
    fingerprint,
    orderKey,
    policyId: task.policy.policyId,
    home: task.home,
    maxAttempts: task.policy.maxAttempts ?? Number.NaN,
    seq: book.nextSeq(),
    status: 'PENDING',
    attempts: attemptNumber,
    refunds: 0,
    token: 0,
    holder: '',
    leaseUntil: Number.NEGATIVE_INFINITY,
    leasedAt: 0,
    leaseMs: 0,
    cancelRequested: false,
    parked: false,
    redriven: false,
    dueAt: measure + task.dueInMs,
    dueElapsed: book.time.elapsed + task.dueInMs,
    setAt: book.time.elapsed,
    floorAt: measure + serverMs,
    settledBy: 0,
  })
}
