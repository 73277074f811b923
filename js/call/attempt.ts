/** Makes one attempt and says how it ended, in the core's terms. The core decides what follows. */

import type { RetryHooks } from '../api/hooks.ts'
import type { RedriveMark } from '../api/mark.ts'
import {
  OUTCOME_ABORTED,
  OUTCOME_NETWORK_ERROR,
  OUTCOME_OFFLINE,
  OUTCOME_OWN_ERROR,
  OUTCOME_REDIRECT_REFUSED,
  OUTCOME_RESPONSE,
  OUTCOME_TIMED_OUT,
} from '../core/generated/codes.ts'
import { bothSignals, orAbort } from '../platform/abort.ts'
import { FOREVER, timeoutError } from '../platform/clock.ts'
import { isOffline } from '../platform/page.ts'
import type { Call } from './call.ts'
import { type Answer, type AttemptInit, type Finished, mark, type Transport } from './transport.ts'

export type { Finished } from './transport.ts'

/** A limit on time that is the transport's own: of a system, undici, axios, or `AbortSignal.timeout()`. */
const TIMEOUT = /TIMEDOUT|_TIMEOUT|TimeoutError|ECONNABORTED timeout/

/** Fields that say what is left of a quota. */
const QUOTAS = ['ratelimit', 'ratelimit-remaining', 'x-ratelimit-remaining', 'x-rate-limit-remaining']

/** From here on no outcome is worth another attempt where a caller waits. */
const FINAL_FROM = OUTCOME_REDIRECT_REFUSED

/** Whether to ask the core about a first attempt. An end that no retry can follow is given to the caller at once and loads nothing. */
export function mayPass(call: Call, finished: Finished, queue: RetryHooks): boolean {
  const { replayable, policy, options } = call
  if (finished.outcome >= FINAL_FROM || policy.maxAttempts === 1) return false
  const asks = (options.shouldRetry ?? queue.shouldRetry) && (!finished.answer || finished.status >= 400)
  return asksAfter(call, finished.status) || (replayable && (!!asks || isTransient(call, finished)))
}

/** Whether it failed for a transient reason, which tells of its server: as the core has it (`src/http/classify.rs`) of a first attempt. */
export function isTransient({ policy }: Call, { outcome, answer, status }: Finished): boolean {
  if (outcome >= FINAL_FROM) return false
  // an interim status, in place of the answer that follows it, is none; 101 is one, and 0 that of an answer that shows none
  if (answer && (status < 100 || status > 199 || status === 101)) {
    const passes = (status === 403 || status === 409) && answer.header('retry-after')
    return !!passes || (status === 403 && isSpent(answer)) || policy.retryableStatusCodes.includes(status)
  }
  return outcome === OUTCOME_TIMED_OUT ? policy.retryTimeouts : policy.retryNetworkErrors
}

/** Whether an answer says that a quota is used up: a 403 may be a limit then, which the core knows by the rest of its fields. */
const isSpent = (answer: Answer): boolean => /(^|[,=])0\b/.test(QUOTAS.map((name) => answer.header(name)).join())

/** Whether a call asks for fresh credentials after this answer to its first attempt. The server has refused it, so nothing was done twice. */
export const asksAfter = ({ options }: Call, status: number): boolean =>
  status === 401 && options.credentials !== undefined

/** The mark on a transient failure that is not tried again because of the call itself; null: it is none. */
export function markOnce(call: Call, finished: Finished): RedriveMark | null {
  const { plain, replayable, policy, made } = call
  // that there is one attempt only was asked for
  if ((replayable && !plain) || policy.maxAttempts === 1 || !isTransient(call, finished)) return null
  // a key that was to be made of its content, and could not be: that was reported then
  return { reason: plain ?? (made ? 'core_unavailable' : 'not_idempotent') }
}

/** Gives an ended attempt to its caller: returns the answer, or throws the transport's error; `word` is marked on either. */
export function deliver(
  { answer, error }: Pick<Finished, 'answer' | 'error'>,
  word: RedriveMark | null = null,
): unknown {
  if (answer) return mark(answer.deliver(word), word)
  throw mark(error, word)
}

/** An attempt as it is about to be made. What watches attempts may change `overlay`, `transport` and `timeoutMs`. */
export interface AttemptPlan extends AttemptInit {
  overlay: Headers | null
  /** The call's own for a first attempt, `repeatableOf(call)` for a replay. */
  transport: Transport
  /** Limit to response headers, from `limitOf`; FOREVER: none. */
  timeoutMs: number
  /** The task of a replay. */
  readonly task?: { readonly taskId: string; readonly attemptNumber: number; readonly createdAt: number }
}

/** A caller's own first attempt: the request as it is, for as long as its caller waits. */
export interface FirstPlan extends AttemptPlan {
  /** Aborts the attempt: at its time limit, or when the task that it has become is cancelled or given back. */
  readonly controller: AbortController
}

/** `leftMs`: how long its caller waits. */
export function firstPlan(call: Call, caller: AbortSignal | null, overlay: Headers | null, leftMs: number): FirstPlan {
  const { transport, plain } = call
  const timeoutMs = plain ? FOREVER : limitOf(call, leftMs)
  const controller = new AbortController()
  const signal = bothSignals(caller, controller.signal)
  return { transport, overlay, isReplay: false, controller, signal, timeoutMs }
}

/** The limit of an attempt of a call whose caller waits for `leftMs` more, of a millisecond at least; FOREVER: none. */
export function limitOf({ timeoutMs }: Call, leftMs: number): number {
  return Math.min(timeoutMs || FOREVER, Math.max(1, leftMs))
}

/** The reason that an attempt is aborted with when its limit is over. */
export function tooLong(call: Call, timeoutMs: number, attemptNumber = 1): DOMException {
  const more = timeoutMs - (call.timeoutMs || FOREVER)
  const limit = more < 0 ? 'what was left of waitMs' : `${more ? 'more than ' : ''}its attemptTimeoutMs`
  return timeoutError(`attempt ${attemptNumber} had no answer within ${timeoutMs} ms, ${limit}`)
}

/** A timer for the limit of an attempt; `onLimit` may have a reason of its own. The function returned takes it back, and hears what has come. */
export interface AttemptClock {
  after(limitMs: number, onLimit: (reason?: DOMException) => void): (answer: Answer | null) => void
}

/**
 * Makes a first attempt: sends once and waits for response headers, for no longer than its time limit and its caller allow: a `fetch`
 * that was given to the queue may not heed its signal. Never rejects. An answer that comes when the attempt is over is dropped.
 * Replays, of which a queue may make a million, have a leaner way to the same end: `runner/replay.ts`.
 */
export async function attempt(call: Call, plan: FirstPlan, clock: AttemptClock, now: () => number): Promise<Finished> {
  const startedAt = now()
  const { controller, timeoutMs, signal, transport } = plan
  const onTimeout = (reason = tooLong(call, timeoutMs)) => controller.abort(reason)
  const disarm = timeoutMs < FOREVER ? clock.after(timeoutMs, onTimeout) : undefined
  const end = (outcome: number, error: unknown, answer: Answer | null = null): Finished => {
    disarm?.(answer)
    return { outcome, status: answer?.status ?? 0, answer, error, startedAt, durationMs: now() - startedAt }
  }
  try {
    const sending = transport.send(plan)
    sending.then(
      (late) => signal.aborted && late.discard(),
      () => {},
    )
    const answer = await orAbort(signal, sending)
    return end(answer.redirectRefused ? OUTCOME_REDIRECT_REFUSED : OUTCOME_RESPONSE, undefined, answer)
  } catch (error) {
    const { reason } = controller.signal
    if (isTimeout(reason)) return end(OUTCOME_TIMED_OUT, (await transport.timedOut?.(reason)) ?? reason)
    // its error is examined more closely when its call becomes a task
    return end(outcomeOf(error, signal.aborted, false), error)
  }
}

/** How an attempt has ended that had no answer. `isAborted`: by the queue or its caller. `isFinal`: no repeat can mend the error. */
export function outcomeOf(error: unknown, isAborted: boolean, isFinal: boolean): number {
  const { name, code, message, cause } = (error ?? {}) as Words & { readonly cause?: Words }
  if (isFinal) return OUTCOME_OWN_ERROR
  // neither the queue nor the caller has aborted it: a fetch of the user's own did
  if (name === 'AbortError' && !isAborted) return OUTCOME_ABORTED
  if (isOffline()) return OUTCOME_OFFLINE
  const isLate = TIMEOUT.test([name, cause?.name, cause?.code, code, message].join(' '))
  return isLate ? OUTCOME_TIMED_OUT : OUTCOME_NETWORK_ERROR
}

type Words = { readonly [K in 'name' | 'code' | 'message']?: string }

/** Whether an attempt was aborted since its time limit was over. */
export const isTimeout = (reason: Error | undefined): boolean => reason?.name === 'TimeoutError'
