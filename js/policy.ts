/**
 * When to try again and when to stop: one policy, one JSON value, the same in browser, Worker, Node and REST.
 *
 * Checked twice on purpose: here at once, so that a wrong option throws where it is written, and by the core, which
 * accepts nothing unsound. `tests/vectors/policies.json` holds both to the same answers.
 */

import { check, flag, int, list, MAX_MS, ms, num, oneOf, or, type Rules, text } from './check.ts'

export type JitterType =
  | 'NONE'
  | 'FULL'
  | 'EQUAL'
  | 'DECORRELATED'
  | 'ADDITIVE'
  | 'PROPORTIONAL'
  | 'DECORRELATED_CLAMPED'
export type BackoffStrategy =
  | 'exponential'
  | 'linear'
  | 'fixed'
  | 'polynomial'
  | 'sidekiq'
  | 'buckets'
  | 'padded_exponential'
  | 'spread'
  | 'table'

export interface RetryPolicy {
  /** A label: it shows in tasks and metrics. */
  readonly policyId: string
  /** The curve of waits. This version has exponential, linear and fixed. @default 'exponential' */
  readonly strategy?: BackoffStrategy
  /** Attempts in total, the first included; 1 turns retrying off. 1..=100. @default 5 */
  readonly maxAttempts?: number
  /** The first wait, before jitter. @default 500 */
  readonly initialDelayMs?: number
  /** exponential: each wait is this many times the one before. 1, or 1.01..=100. @default 2 */
  readonly multiplier?: number
  /** Longest wait the curve gives. A longer Retry-After is never shortened to it. @default 30_000 for exponential and linear, none for fixed */
  readonly maxDelayMs?: number
  /** From createdAt; an attempt that could not end inside it is not made. @default 86_400_000 */
  readonly totalBudgetMs?: number
  /** How chance spreads the waits. This version has NONE, FULL, EQUAL and DECORRELATED. @default 'FULL' */
  readonly jitterType?: JitterType
  /** PROPORTIONAL: the share of the wait that varies, 0..=1. @default 0.2 */
  readonly jitterRatio?: number
  /** spread: the share that is drawn anew each time, 0..=0.5. @default 0.1 */
  readonly freshJitter?: number
  /** linear: added for each further retry. @default initialDelayMs */
  readonly stepMs?: number
  readonly baseMs?: number
  readonly exponent?: number
  readonly jitterMs?: number
  readonly delaysMs?: readonly number[]
  /** Answers worth another attempt, 100..=599. @default [429, 502, 503, 504] */
  readonly retryableStatusCodes?: readonly number[]
  /** Whether no answer at all (connection lost, timeout) is worth another attempt. @default true */
  readonly retryNetworkErrors?: boolean
  /** Time to response headers; 0: none. The body is the caller's. @default 30_000 */
  readonly attemptTimeoutMs?: number
  /** What one call is expected to take, for the budget check; a moving average when absent. */
  readonly estimatedCallMs?: number
  /** A server delay longer than this ends the task, 'retry_after_too_long'. @default 86_400_000 */
  readonly maxServerDelayMs?: number
  /** How long the server remembers a key, from the first attempt. A schedule that passes it is refused with a RangeError naming both. @default 86_400_000 */
  readonly keyTtlMs?: number
}

/** A policy with every default filled in and every check passed. */
export interface ResolvedPolicy extends RetryPolicy {
  readonly strategy: BackoffStrategy
  readonly maxAttempts: number
  readonly retryableStatusCodes: readonly number[]
  readonly retryNetworkErrors: boolean
  readonly attemptTimeoutMs: number
}

const DAY_MS = 86_400_000

/** What a policy that says nothing means; `maxDelayMs` and `stepMs` depend on the rest. */
export const policyDefaults: RetryPolicy & { readonly retryableStatusCodes: readonly number[] } = {
  policyId: 'default',
  strategy: 'exponential',
  maxAttempts: 5,
  initialDelayMs: 500,
  multiplier: 2,
  totalBudgetMs: DAY_MS,
  jitterType: 'FULL',
  retryableStatusCodes: Object.freeze([429, 502, 503, 504]),
  retryNetworkErrors: true,
  attemptTimeoutMs: 30_000,
  maxServerDelayMs: DAY_MS,
  keyTtlMs: DAY_MS,
}

const RULES: Rules<RetryPolicy> = {
  policyId: text,
  strategy: oneOf('string', 'exponential', 'linear', 'fixed'),
  maxAttempts: int(1, 100),
  initialDelayMs: ms(),
  multiplier: or(1, num(1.01, 100)),
  maxDelayMs: ms(),
  totalBudgetMs: ms(),
  jitterType: oneOf('string', 'NONE', 'FULL', 'EQUAL', 'DECORRELATED'),
  jitterRatio: num(0, 1),
  freshJitter: num(0, 0.5),
  stepMs: ms(),
  baseMs: ms(),
  exponent: num(0, 8),
  jitterMs: ms(),
  delaysMs: list(ms()),
  retryableStatusCodes: list(int(100, 599)),
  retryNetworkErrors: flag,
  attemptTimeoutMs: ms(),
  estimatedCallMs: ms(),
  maxServerDelayMs: ms(),
  keyTtlMs: ms(1),
}

/** Checks `given` laid over `base` and fills in the defaults. */
export function resolvePolicy(
  given: Partial<RetryPolicy>,
  base: RetryPolicy = policyDefaults,
  what = 'policy',
): ResolvedPolicy {
  check(what, given as RetryPolicy, RULES)
  const policy: Record<string, unknown> = { ...base }
  for (const [key, value] of Object.entries(given)) {
    // copied: the caller may go on changing its arrays
    if (value !== undefined) policy[key] = Array.isArray(value) ? Object.freeze([...value]) : value
  }
  const resolved = policy as unknown as ResolvedPolicy
  checkTogether(what, resolved)
  return Object.freeze(resolved)
}

function checkTogether(what: string, policy: ResolvedPolicy): void {
  const { totalBudgetMs = DAY_MS, keyTtlMs = DAY_MS } = policy
  const scheduleMs = Math.min(totalBudgetMs, longestSchedule(policy))
  if (scheduleMs <= keyTtlMs) return
  const asked = `the schedule takes up to ${scheduleMs} ms (totalBudgetMs: ${totalBudgetMs})`
  throw new RangeError(`${what}.keyTtlMs: ${asked}, the server keeps the key for ${keyTtlMs} ms`)
}

/** The sum of the longest waits the curve can give before each retry. */
function longestSchedule(policy: ResolvedPolicy): number {
  const { strategy, jitterType, initialDelayMs = 500, multiplier = 2, stepMs = initialDelayMs } = policy
  const capMs = policy.maxDelayMs ?? (strategy === 'fixed' ? MAX_MS : 30_000)
  const decorrelated = jitterType === 'DECORRELATED'
  const factor = decorrelated ? 3 : strategy === 'exponential' ? multiplier : 1
  const step = strategy === 'linear' && !decorrelated ? stepMs : 0
  let sum = 0
  // a decorrelated wait is at most three times the one before, and the first one follows `initialDelayMs`
  let wait = decorrelated ? initialDelayMs * 3 : initialDelayMs
  for (let retry = 1; retry < policy.maxAttempts; retry++) {
    // a product like 1000 * 1.15 falls short of the decimal it stands for
    sum += Math.floor(Math.min(capMs, wait) + 1e-6)
    wait = Math.min(MAX_MS, wait * factor + step)
  }
  return sum
}
