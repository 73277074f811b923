/** Waiting callers of a task: what they get, and when they stop waiting. Each promise settles once (S22). */

import type { Emitter } from '../api/emitter.ts'
import { RedriveError } from '../api/errors.ts'
import type { QueueEvents } from '../api/events.ts'
import type { TaskOutcome } from '../api/methods.ts'
import type { ExhaustedReason, RetryTask, TaskStatus } from '../api/task.ts'
import type { RestTerms } from '../call/discard.ts'
import { letGoUnread, repeatableOf } from '../call/fetch-repeat.ts'
import { mark } from '../call/transport.ts'
import type { Waiter } from './course.ts'
import type { Shows } from './follow-up.ts'
import { givenUp } from './given-up.ts'
import type { Task } from './task.ts'

/** In place of a caller who was answered before its task ended. */
export const ANSWERED: Waiter = { resolve() {}, reject() {} }

/** Detaches the caller from its task, and gives it to the code that settles its promise. */
export function detachCaller(task: Task): Waiter | undefined {
  const { waiter } = task
  task.waiter = undefined
  task.unlink?.()
  task.unlink = undefined
  return waiter
}

/** Has one who joined wait in place of the caller. Says whether there was one. */
export function promote(task: Task): boolean {
  const [next, ...others] = task.joined
  task.waiter = next
  task.joined = others
  return next !== undefined
}

/** Tells the caller and all who joined that the task is cancelled. */
export function rejectCallers(task: Task, reason: unknown): void {
  detachCaller(task)?.reject(reason)
  for (const each of task.joined) each.reject(reason)
}

/** Ends the attempt of a deferred call that its task was to take over, and has found no place for yet. Says whether there was one. */
export function abandonOwn({ call }: Task, reason?: unknown): boolean {
  const own = call?.underWay
  if (!own) return false
  call.underWay = undefined
  call.leave?.(false)
  own.controller.abort(reason)
  own.sending.then(({ answer }) => answer?.discard())
  return true
}

/** Gives the caller the last answer, else its own last error, else `otherwise()`; without a caller, drops the answer. */
export function answer(task: Task, otherwise: () => unknown): void {
  const { last, joined } = task
  if (!task.waiter && joined.length === 0) {
    last?.answer?.discard()
    return
  }
  task.joined = []
  // where no caller waits for the task itself, one who joined gets its answer
  // one that has been answered meanwhile needs no copy
  const [waiter, ...others] = [detachCaller(task) ?? [], ...joined].flat().filter((each) => each !== ANSWERED)
  // first, while the answer's body is still unread
  for (const other of others) give(task, other, otherwise, false)
  if (waiter) give(task, waiter, otherwise, true)
  else last?.answer?.discard()
}

/** Gives a caller the answer, in the form that its own call has; unless it `isLast`, as a copy where the answer can be read only once. */
function give({ last, reason, taskId }: Task, waiter: Waiter, otherwise: () => unknown, isLast: boolean): void {
  const word = reason ? { taskId, reason } : null
  const own = waiter.call && repeatableOf(waiter.call)
  try {
    const got = last?.answer
    if (!got) {
      waiter.reject(mark(last ? last.error : otherwise(), word))
      return
    }
    const copy = (own && got.share?.(isLast)) ?? (isLast ? null : got.clone())
    const given = mark(copy ?? got.deliver(word), word)
    // the class itself may be missing: Axios needs none
    waiter.resolve(own && isResponse(given) ? own.answered(given, word, got) : given)
  } catch (thrown) {
    // an answer that its caller expects to be thrown
    waiter.reject(thrown)
  }
}

const isResponse = (given: unknown): given is Response => 'text' in Object(given)

/** Gives all callers what there is, else `error`: the queue goes no further. One who joined a task of which nothing came has an answer of its own. */
export function answerClosed(task: Task, error: unknown): void {
  if (!task.last) for (const { end } of task.joined) end?.(error)
  answer(task, () => error)
}

/**
 * Listens to the caller's signal: an abort ends the waiting at once, and the task with it unless the caller detached it, so that it goes on
 * alone, or others wait for it.
 */
export function link(task: Task, signal: AbortSignal, acts: { cancel(reason: unknown): void; leave(): void }): void {
  const onAbort = () => {
    const isAlone = task.call?.options.detach || task.isHandedOver
    if (!isAlone && task.joined.length === 0) {
      acts.cancel(signal.reason)
      return
    }
    detachCaller(task)?.reject(signal.reason)
    if (isAlone) acts.leave()
    else promote(task)
  }
  if (signal.aborted) {
    onAbort()
    return
  }
  signal.addEventListener('abort', onAbort, { once: true })
  task.unlink = () => signal.removeEventListener('abort', onAbort)
}

/** Resolves when the task, which waits or runs, is terminal. */
export function whenEnded(task: Task): Promise<TaskOutcome> {
  if (!task.outcome) {
    let resolve: (outcome: TaskOutcome) => void = () => {}
    const promise = new Promise<TaskOutcome>((done) => {
      resolve = done
    })
    task.outcome = { promise, resolve }
  }
  return task.outcome.promise
}

/** The listeners and adapters that hear of a task's end. */
interface EndListeners {
  readonly events: Emitter<QueueEvents>
  onEnd?(task: { readonly status: TaskStatus; readonly createdAt: number }): void
}

/** Tells listeners that the task has ended. */
export function reportEnd(task: Task, host: EndListeners, shows: Shows, terms: RestTerms): void {
  const { status, reason, last } = task
  const { events } = host
  host.onEnd?.(task)
  if (status === 'SUCCEEDED') {
    if (!events.has('succeeded')) return
    const response = last?.answer?.clone() ?? null
    events.emit('succeeded', { task: shows.show(task), response })
    // unread, it would keep all that the caller reads; without a caller it goes with the answer itself
    if (response && (task.waiter || task.joined.length > 0)) letGoUnread(response, terms)
  } else if (status === 'EXHAUSTED') {
    // a task that no one waits for must not end without a word
    const isTold = task.waiter || task.joined.length > 0 || task.outcome
    if (isTold && !events.has('exhausted')) return
    const { what, lastStatus } = task
    const shown = shows.show(task)
    const error = givenUp(what, reason as ExhaustedReason, shown, lastStatus || null, endingOf(task))
    const { attempts, responseStatus } = error
    const subject = isTold ? undefined : `${reason} ${task.origin}`
    events.emit('exhausted', { task: shown, reason: error.reason, attempts, responseStatus, error }, subject)
  } else if (events.has('cancelled')) events.emit('cancelled', { task: shows.show(task) })
}

/** The words in the log of a task on its last attempt. */
function endingOf({ entries }: Task): string | null {
  return entries[entries.length - 1]?.error ?? null
}

/** The outcome of a terminal task. */
export function outcomeOf(task: Task, shown: RetryTask): TaskOutcome {
  const responseStatus = task.lastStatus || null
  if (task.status === 'SUCCEEDED') return { task: shown, responseStatus }
  const error = task.reason
    ? givenUp(task.what, task.reason, shown, responseStatus, endingOf(task))
    : new RedriveError('CANCELLED', `${task.what} was cancelled`, { task: shown })
  return { task: shown, responseStatus, error }
}

/** The reason that the attempt of a cancelled task is aborted with. */
export function cancelled(): DOMException {
  return new DOMException('the task was cancelled', 'AbortError')
}
