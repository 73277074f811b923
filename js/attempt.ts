/** Makes one attempt and says how it ended, in the core's terms. Nothing here decides what comes next. */

import { type Clock, timeoutError } from './clock.ts'
import type { Answer, AttemptInit, Transport } from './transport.ts'

/** The core's numbering of how an attempt can end. */
export const OUTCOME = {
  response: 0,
  network: 1,
  timeout: 2,
  offline: 3,
  // 4 to 6 never left: `unsent.ts`
  /** No repeat will mend it: a redirect a replay must not follow, an error of the caller's own making. */
  final: 7,
} as const

export interface Finished {
  readonly outcome: number
  /** 0: no response. */
  readonly status: number
  readonly answer: Answer | null
  /** What fetch rejected with. */
  readonly error: unknown
  /** On the steady clock. */
  readonly startedAt: number
  readonly durationMs: number
}

/** Gives an ended attempt to its caller: returns the answer, or throws what fetch threw. */
export function deliver(finished: Finished): unknown {
  if (finished.answer) return finished.answer.deliver(null)
  throw finished.error
}

export interface AttemptPlan extends AttemptInit {
  /** To response headers; 0: none. */
  readonly timeoutMs: number
  /** Aborts the attempt; the owner keeps it. */
  readonly controller: AbortController
  /** How a replay is sent. @default as the transport sends a first attempt */
  readonly send?: (transport: Transport, attempt: AttemptInit) => Promise<Answer>
  /** Whether an error may not be tried again. @default any may; who keeps the call asks then */
  readonly isFinal?: (transport: Transport, error: unknown) => boolean
}

export async function attempt(
  transport: Transport,
  plan: AttemptPlan,
  clock: Clock,
  now: () => number,
): Promise<Finished> {
  const startedAt = now()
  const disarm = plan.timeoutMs > 0 ? armTimeout(plan, clock) : undefined
  const end = (outcome: number, answer: Answer | null, error: unknown): Finished => {
    disarm?.()
    return {
      outcome,
      status: answer?.status ?? 0,
      answer,
      error,
      startedAt,
      durationMs: Math.max(0, now() - startedAt),
    }
  }
  try {
    const answer = await (plan.send ? plan.send(transport, plan) : transport.send(plan))
    return end(answer.redirectRefused ? OUTCOME.final : OUTCOME.response, answer, undefined)
  } catch (error) {
    const { reason } = plan.controller.signal
    if (reason instanceof DOMException && reason.name === 'TimeoutError') return end(OUTCOME.timeout, null, reason)
    if (plan.isFinal?.(transport, error)) return end(OUTCOME.final, null, error)
    return end(isOffline() ? OUTCOME.offline : OUTCOME.network, null, error)
  }
}

function armTimeout({ controller, timeoutMs }: AttemptPlan, clock: Clock): () => void {
  return clock.after(timeoutMs, () => {
    controller.abort(timeoutError(`no answer within attemptTimeoutMs, ${timeoutMs} ms`))
  })
}

/** Only a browser knows; `true` there may still be wrong, `false` never is. */
export function isOffline(): boolean {
  return globalThis.navigator?.onLine === false
}

/** `throwIfAborted` of a signal, which Chrome has from 100 on. */
export function assertNotAborted(signal: AbortSignal | null): void {
  if (signal?.aborted) throw signal.reason ?? new DOMException('the call was aborted', 'AbortError')
}

/** Aborts when either does, the body included. */
export function bothSignals(caller: AbortSignal | null, own: AbortSignal): AbortSignal {
  if (!caller) return own
  if (AbortSignal.any) return AbortSignal.any([caller, own])
  // Chrome < 116, Safari < 17.4
  const both = new AbortController()
  for (const signal of [caller, own]) {
    if (signal.aborted) both.abort(signal.reason)
    else signal.addEventListener('abort', () => both.abort(signal.reason), { once: true })
  }
  return both.signal
}
