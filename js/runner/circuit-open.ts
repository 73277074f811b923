/** Ends a call that an open circuit turns away: with what its `fallback` gives, else with an error. Nothing is sent. */

import { CircuitOpenError, type OpenCircuit } from '../api/task-errors.ts'
import type { Call } from '../call/call.ts'
import { repeatableOf } from '../call/fetch-repeat.ts'
import type { BreakerOptions } from '../options/gate-options.ts'
import { orAbort } from '../platform/abort.ts'
import { within } from '../platform/clock.ts'
import { timeOf } from '../tasks/history.ts'
import type { QueueContext } from './context.ts'

export async function circuitOpen(
  call: Call,
  circuit: OpenCircuit,
  { settings, degraded }: Pick<QueueContext, 'settings' | 'degraded'>,
): Promise<unknown> {
  const { breaker } = settings
  const fallback = breaker ? breaker.fallback : undefined
  const { signal, waitMs } = call
  let cause: unknown
  try {
    const given =
      fallback && (await orAbort(signal, within(settings.clock, waitMs, 'breaker.fallback', askedOf(fallback, call))))
    if (given) return repeatableOf(call).answered(given)
  } catch (error) {
    if (signal?.aborted) throw error
    degraded('hook_threw', 'breaker.fallback threw: the call ended as without it', 'fallback')
    cause = error
  }
  const remedy =
    "give it a longer waitMs, enqueue() it or fetch it with mode 'defer', give breaker.fallback, or set breaker: false"
  throw new CircuitOpenError(`${wordsOf(call, circuit)}; ${remedy}`, circuit, cause)
}

/** The first half of the message: what was not sent, since when its server has failed, and until when no call is sent. */
export function wordsOf({ method, origin }: Call, { since, until }: OpenCircuit): string {
  const next = until === null ? 'another call is trying it out now' : `no call is sent until ${timeOf(until)}`
  return `${method} ${origin} was not sent: its circuit has been open since ${timeOf(since)}, and ${next}`
}

async function askedOf(fallback: NonNullable<BreakerOptions['fallback']>, call: Call): Promise<Response | undefined> {
  const { url, method, headers } = call
  const request = repeatableOf(call)
  const body = (await request.body()) as BodyInit | null
  return fallback(new Request(url, { method, headers, body, ...request.asFetch().init }))
}
