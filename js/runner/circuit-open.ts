/** Ends a call that an open circuit turns away: with what its `fallback` gives, else with an error. Nothing is sent. */

import { CircuitOpenError } from '../api/errors.ts'
import type { Call } from '../call/call.ts'
import { repeatableOf } from '../call/fetch-repeat.ts'
import type { BreakerOptions } from '../options/gate-options.ts'
import { orAbort } from '../platform/abort.ts'
import { timeOf } from '../tasks/history.ts'
import type { QueueContext } from './context.ts'

/** `opensAt`: when the circuit lets a call through again; 0 or Infinity: not known. */
export async function circuitOpen(call: Call, opensAt: number, { settings, degraded }: QueueContext): Promise<unknown> {
  const { breaker } = settings
  const fallback = breaker ? breaker.fallback : undefined
  const { method, origin, signal } = call
  let cause: unknown
  try {
    const given = fallback && (await orAbort(signal, askedOf(fallback, call)))
    if (given) return repeatableOf(call).answered(given)
  } catch (error) {
    if (signal?.aborted) throw error
    degraded('hook_threw', 'breaker.fallback threw: the call ended as it does without one', 'fallback')
    cause = error
  }
  const until = Number.isFinite(opensAt) && opensAt > 0 ? ` until ${timeOf(opensAt)}` : ''
  const remedy = "try again later, give breaker.fallback, or set breaker.whenOpen to 'hold'"
  throw new CircuitOpenError(`${method} ${origin} was not sent: its circuit is open${until}; ${remedy}`, cause)
}

async function askedOf(fallback: NonNullable<BreakerOptions['fallback']>, call: Call): Promise<Response | undefined> {
  const { url, method, headers } = call
  const request = repeatableOf(call)
  const body = (await request.body()) as BodyInit | null
  return fallback(new Request(url, { method, headers, body, ...request.asFetch().init }))
}
