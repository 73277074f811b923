/** Makes one attempt and says how it ended, in the core's terms. The core decides what follows. */

import {
  OUTCOME_REDIRECT_REFUSED as OUTCOME_FINAL,
  OUTCOME_NETWORK_ERROR,
  OUTCOME_OFFLINE,
  OUTCOME_RESPONSE,
  OUTCOME_TIMED_OUT,
} from '../core/generated/codes.ts'
import { type Clock, timeoutError } from '../platform/clock.ts'
import { isOffline } from '../platform/page.ts'
import type { Call } from './call.ts'
import type { Answer, AttemptInit, Transport } from './transport.ts'

/** The end that no repeat can mend: a redirect that a replay must not follow, an error of the caller's own making. */
export { OUTCOME_REDIRECT_REFUSED as OUTCOME_FINAL } from '../core/generated/codes.ts'

/** An ended attempt. A task's has a `RepeatAnswer`. */
export interface Finished<A extends Answer = Answer> {
  readonly outcome: number
  /** 0: there was no response. */
  readonly status: number
  readonly answer: A | null
  /** The transport's own rejection, where there is no answer. */
  readonly error: unknown
  /** On the steady clock. */
  readonly startedAt: number
  readonly durationMs: number
}

/** Whether to ask the core about a first attempt. An end that no retry can follow is given to the caller at once and loads nothing. */
export function mayPass({ replayable, policy }: Call, { outcome, answer, status }: Finished): boolean {
  if (!replayable || outcome === OUTCOME_FINAL || policy.maxAttempts === 1) return false
  return answer ? policy.retryableStatusCodes.includes(status) : policy.retryNetworkErrors
}

/** Gives an ended attempt to its caller: returns the answer, or throws the transport's error. */
export function deliver(finished: Finished): unknown {
  if (finished.answer) return finished.answer.deliver(null)
  throw finished.error
}

export interface AttemptPlan extends AttemptInit {
  /** The call's own for a first attempt, `repeatableOf(call)` for a replay. */
  readonly transport: Transport
  /** Limit to response headers; 0: none. */
  readonly timeoutMs: number
  /** Aborts the attempt: at its time limit, or when its task is cancelled or given back. */
  readonly controller: AbortController
  /** The task of a replay. */
  readonly task?: { readonly taskId: string; readonly attemptNumber: number; readonly createdAt: number }
  /** Whether no repeat can mend an error. A first attempt goes without: its error is examined when its call becomes a task. */
  readonly isFinal?: (error: unknown) => boolean
}

/** Sends once and waits for response headers. Never rejects. */
export async function attempt(plan: AttemptPlan, clock: Clock, now: () => number): Promise<Finished> {
  const startedAt = now()
  const { controller, timeoutMs } = plan
  const onTimeout = () => controller.abort(timeoutError(`no answer within attemptTimeoutMs, ${timeoutMs} ms`))
  const disarm = timeoutMs > 0 ? clock.after(timeoutMs, onTimeout) : undefined
  const end = (outcome: number, error: unknown, answer: Answer | null = null): Finished => {
    disarm?.()
    return { outcome, status: answer?.status ?? 0, answer, error, startedAt, durationMs: now() - startedAt }
  }
  try {
    const answer = await plan.transport.send(plan)
    return end(answer.redirectRefused ? OUTCOME_FINAL : OUTCOME_RESPONSE, undefined, answer)
  } catch (error) {
    const { reason } = controller.signal
    if (reason?.name === 'TimeoutError') return end(OUTCOME_TIMED_OUT, reason)
    if (plan.isFinal?.(error)) return end(OUTCOME_FINAL, error)
    return end(isOffline() ? OUTCOME_OFFLINE : OUTCOME_NETWORK_ERROR, error)
  }
}
