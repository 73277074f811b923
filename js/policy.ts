/**
 * When to try again and when to stop: one policy, one JSON value, the same in browser, Worker, Node and REST.
 *
 * Checked twice on purpose: here at once, so that a wrong option throws where it is written, and by the core, which
 * accepts nothing unsound. `tests/vectors/policies.json` holds both to the same answers.
 */

import { check, flag, MAX_MS, ms, type Rules, text } from './check.ts'

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

// the order is the core's numbering
const STRATEGIES: readonly BackoffStrategy[] = [
  'exponential',
  'linear',
  'fixed',
  'polynomial',
  'sidekiq',
  'buckets',
  'padded_exponential',
  'spread',
  'table',
]
const JITTERS: readonly JitterType[] = [
  'NONE',
  'FULL',
  'EQUAL',
  'DECORRELATED',
  'ADDITIVE',
  'PROPORTIONAL',
  'DECORRELATED_CLAMPED',
]
const AVAILABLE_STRATEGIES = 3
const AVAILABLE_JITTERS = 4

const RULES: Rules<RetryPolicy> = {
  policyId: text,
  strategy: { oneOf: STRATEGIES },
  maxAttempts: { int: [1, 100] },
  initialDelayMs: ms(),
  multiplier: { num: [1, 100] },
  maxDelayMs: ms(),
  totalBudgetMs: ms(),
  jitterType: { oneOf: JITTERS },
  jitterRatio: { num: [0, 1] },
  freshJitter: { num: [0, 0.5] },
  stepMs: ms(),
  baseMs: ms(),
  exponent: { num: [0, 8] },
  jitterMs: ms(),
  delaysMs: { list: ms() },
  retryableStatusCodes: { list: { int: [100, 599] } },
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
  const { strategy, jitterType = 'FULL', multiplier = 2 } = policy
  const unavailable = (name: string, value: string, have: readonly string[]) =>
    new RangeError(`${what}.${name}: '${value}' is not available yet; this version has ${have.join(', ')}`)
  if (STRATEGIES.indexOf(strategy) >= AVAILABLE_STRATEGIES) {
    throw unavailable('strategy', strategy, STRATEGIES.slice(0, AVAILABLE_STRATEGIES))
  }
  if (JITTERS.indexOf(jitterType) >= AVAILABLE_JITTERS) {
    throw unavailable('jitterType', jitterType, JITTERS.slice(0, AVAILABLE_JITTERS))
  }
  if (multiplier > 1 && multiplier < 1.01) {
    throw new RangeError(`${what}.multiplier: expected 1, or a number from 1.01 to 100, got ${multiplier}`)
  }
  const { totalBudgetMs = DAY_MS, keyTtlMs = DAY_MS } = policy
  const scheduleMs = Math.min(totalBudgetMs, longestSchedule(policy))
  if (scheduleMs > keyTtlMs) {
    throw new RangeError(
      `${what}.keyTtlMs: retries may go on for ${scheduleMs} ms (the schedule, within totalBudgetMs ${totalBudgetMs}), ` +
        `longer than keyTtlMs ${keyTtlMs}, when the server has forgotten the key; raise keyTtlMs or shorten the schedule`,
    )
  }
}

/** The sum of the longest waits the curve can give before each retry. */
function longestSchedule(policy: ResolvedPolicy): number {
  const { strategy, jitterType = 'FULL', initialDelayMs = 500, multiplier = 2, stepMs = initialDelayMs } = policy
  const capMs = maxDelayMs(policy) ?? MAX_MS
  const factor = jitterType === 'DECORRELATED' ? 3 : strategy === 'exponential' ? multiplier : 1
  const step = strategy === 'linear' && jitterType !== 'DECORRELATED' ? stepMs : 0
  let sum = 0
  // a decorrelated wait is at most three times the one before, and the first one follows `initialDelayMs`
  let wait = jitterType === 'DECORRELATED' ? initialDelayMs * factor : initialDelayMs
  for (let retry = 1; retry < policy.maxAttempts; retry++) {
    sum += Math.floor(Math.min(capMs, wait))
    wait = Math.min(MAX_MS, wait * factor + step)
  }
  return sum
}

function maxDelayMs(policy: RetryPolicy): number | undefined {
  return policy.maxDelayMs ?? (policy.strategy === 'fixed' ? undefined : 30_000)
}

/** The layout the core reads; NaN where the policy says nothing. */
export function policyFields(policy: Partial<RetryPolicy>): Float64Array {
  const delays = policy.delaysMs ?? []
  const statuses = policy.retryableStatusCodes ?? policyDefaults.retryableStatusCodes
  const index = (list: readonly string[], word: string | undefined) =>
    word === undefined ? undefined : list.indexOf(word)
  const fields = [
    index(STRATEGIES, policy.strategy),
    policy.maxAttempts,
    policy.initialDelayMs,
    policy.multiplier,
    policy.maxDelayMs,
    policy.totalBudgetMs,
    index(JITTERS, policy.jitterType),
    policy.jitterRatio,
    policy.freshJitter,
    policy.stepMs,
    policy.baseMs,
    policy.exponent,
    policy.jitterMs,
    policy.retryNetworkErrors === undefined ? undefined : Number(policy.retryNetworkErrors),
    policy.attemptTimeoutMs,
    policy.estimatedCallMs,
    policy.maxServerDelayMs,
    policy.keyTtlMs,
    delays.length,
    statuses.length,
    ...delays,
    ...statuses,
  ]
  return Float64Array.from(fields, (value) => value ?? Number.NaN)
}
