/** The core's pure functions, for people who want the decisions without the queue. All arguments are checked here. */

import { follow, int, list, MAX_MS, ms, num, oneOf, or, type Rule, text } from '../check.ts'
import { systemClock } from '../clock.ts'
import { policyDefaults, type RetryPolicy, resolvePolicy } from '../policy.ts'
import { policyFields } from '../policy-fields.ts'
import type { CircuitState, RetryDecision } from '../types.ts'
import type { Engine } from './engine.ts'

export interface Core {
  /**
   * Whether a failed call is worth keeping. `statusCode` 0: no response came. An open circuit answers CIRCUIT_OPEN
   * whatever the status. `retryCount` counts retries already made. @param retryableStatusCodes default [429, 502, 503, 504]
   */
  evaluateRetryStatus(
    statusCode: number,
    circuitState: CircuitState,
    retryCount: number,
    maxRetries: number,
    retryableStatusCodes?: readonly number[],
  ): RetryDecision
  /**
   * Whole milliseconds before retry `attempt` (from 1). `random` in [0, 1) replaces the core's own draw. With
   * `retryAfter`: the longer of the curve's delay and the header's, without the queue's spread.
   */
  calculateBackoffDelay(policy: Partial<RetryPolicy>, attempt: number, context?: BackoffContext): number
  /** Milliseconds to wait from `now`, epoch ms; null: unusable. Delay-seconds and IMF-fixdate (RFC 9110, section 10.2.3). */
  parseRetryAfter(header: string, now: number): number | null
}

export interface BackoffContext {
  readonly retryAfter?: string | null
  /** Epoch ms, for a `retryAfter` that is a date. @default the present */
  readonly now?: number
  /** DECORRELATED: the wait before this one. @default initialDelayMs */
  readonly previousDelayMs?: number
  readonly random?: number
}

const CIRCUITS: readonly CircuitState[] = ['CLOSED', 'OPEN', 'HALF_OPEN']
const DECISIONS: readonly RetryDecision[] = ['ENQUEUE', 'FAIL_FAST', 'CIRCUIT_OPEN']
const U32: Rule = int(0, 2 ** 32 - 1)
const TIME: Rule = num(-MAX_MS, MAX_MS)

export function makeCore({ glue }: Engine): Core {
  const parseRetryAfter = (header: string, now: number): number | null => {
    follow('header', header, text)
    follow('now', now, TIME)
    const delay = glue.parse_retry_after(header, undefined, now)
    return delay < 0 ? null : delay
  }
  return {
    evaluateRetryStatus(statusCode, circuitState, retryCount, maxRetries, codes = policyDefaults.retryableStatusCodes) {
      follow('statusCode', statusCode, or(0, int(100, 599)))
      follow('circuitState', circuitState, oneOf('string', ...CIRCUITS))
      follow('retryCount', retryCount, U32)
      follow('maxRetries', maxRetries, U32)
      follow('retryableStatusCodes', codes, list(int(100, 599)))
      const circuit = CIRCUITS.indexOf(circuitState)
      const decision = glue.evaluate_retry_status(statusCode, circuit, retryCount, maxRetries, Uint16Array.from(codes))
      return DECISIONS[decision] ?? 'FAIL_FAST'
    },
    calculateBackoffDelay(policy, attempt, context = {}) {
      follow('attempt', attempt, int(1, 2 ** 32 - 1))
      const { retryAfter, now = systemClock.now(), previousDelayMs = Number.NaN, random } = context
      if (random !== undefined) follow('context.random', random, num(0, 1 - 2 ** -53))
      if (context.previousDelayMs !== undefined) follow('context.previousDelayMs', previousDelayMs, ms())
      const r32 = random === undefined ? glue.random_u32() : Math.floor(random * 2 ** 32)
      const fields = policyFields(resolvePolicy(policy))
      const delay = glue.calculate_backoff_delay(fields, attempt, r32, previousDelayMs)
      return retryAfter ? Math.max(delay, parseRetryAfter(retryAfter, now) ?? 0) : delay
    },
    parseRetryAfter,
  }
}
