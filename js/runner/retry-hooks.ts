/**
 * Asks `shouldRetry` and `delay`, of the call and then of the queue, about an attempt that failed. What they say is the core's to weigh.
 * They may take their time, and a wait that the server has asked of all begins before they are asked (S9).
 */

import type { RetryContext, RetryHooks } from '../api/hooks.ts'
import type { Finished } from '../call/attempt.ts'
import type { Call } from '../call/call.ts'
import { fails } from '../call/fetch-repeat.ts'
import type { RepeatAnswer } from '../call/transport.ts'
import { OUTCOME_OFFLINE } from '../core/codes.ts'
import { follow, type Rule } from '../options/check.ts'
import { within } from '../platform/clock.ts'
import type { QueueContext } from './context.ts'
import type { RunnerPorts } from './ports.ts'
import { HOOK_MS } from './questions.ts'
import { beginServerWait } from './server-wait.ts'

const DELAY: Rule = {
  type: 'number',
  expected: 'milliseconds, 0 or more, or undefined',
  ok: (ms: number) => ms >= 0 && ms < Number.POSITIVE_INFINITY,
}

/** Whether there are hooks to ask about this attempt. */
export function asksAbout(
  call: Call,
  { answer, outcome, status, error }: Finished,
  { settings }: QueueContext,
): boolean {
  const { options, policy } = call
  if (!(options.shouldRetry ?? settings.shouldRetry ?? options.delay ?? settings.delay)) return false
  if (answer) return !answer.redirectRefused && fails(policy, status)
  return outcome !== OUTCOME_OFFLINE && (error as Error | undefined)?.name !== 'AbortError'
}

/** The attempt with the word of the hooks on it. Rejects with what a hook throws. `waitUntil`: the end of its caller's wait; FOREVER: none waits. */
export async function askHooks(
  call: Call,
  finished: Finished<RepeatAnswer>,
  ports: RunnerPorts,
  waitUntil: number,
  // a caller's own first attempt: there is no task yet
  { attemptNumber = 1, taskId }: { readonly attemptNumber?: number; readonly taskId?: string } = {},
): Promise<Finished<RepeatAnswer>> {
  const { answer, status, error } = finished
  const { method, url, headers, key, replayable, options } = call
  const { host } = ports
  const { settings } = host
  beginServerWait(call, finished, ports)
  const context: RetryContext = {
    attemptNumber,
    taskId,
    response: answer && { status, headers: { get: (name) => answer.header(name.toLowerCase()) } },
    error,
    request: { method, url, headers: new Headers(headers), idempotencyKey: key, isReplayable: replayable },
  }
  // a caller waits no longer for a hook than for an answer
  const limitMs = () => Math.min(HOOK_MS, Math.max(1, waitUntil - host.now()))
  const ask = async (name: keyof RetryHooks) => {
    for (const { [name]: hook } of [options, settings]) {
      const given = hook && new Promise((resolve) => resolve(hook(context)))
      const said = given && (await within(settings.clock, limitMs(), `${name}()`, given))
      if (name === 'delay' ? said !== undefined && said !== null : typeof said === 'boolean') return said
    }
    return undefined
  }
  const retry = (await ask('shouldRetry')) as boolean | undefined
  const delayMs = (retry === false ? undefined : await ask('delay')) as number | undefined
  if (delayMs !== undefined) follow('delay()', delayMs, DELAY)
  // the core counts in whole milliseconds
  return { ...finished, said: { retry, delayMs: delayMs && Math.ceil(delayMs) } }
}
