/**
 * When to try again and when to stop: one policy, one JSON value, the same in browser, Worker, Node and REST.
 *
 * Checked twice on purpose: here at once, so that a wrong option throws where it is written, and by the core, which
 * accepts nothing unsound. `tests/vectors/policies.json` holds both to the same answers.
 */

import type { BackoffStrategy, JitterType, RetryPolicy } from '../api/policy.ts'
import { JITTERS, STRATEGIES } from '../core/generated/codes.ts'
import { DAY_MS } from '../platform/clock.ts'
import { check, flag, follow, int, list, ms, num, object, oneOf, or, type Rule, type Rules, text } from './check.ts'

/** A policy with every default filled in and every check passed. */
export interface ResolvedPolicy extends RetryPolicy {
  readonly strategy: BackoffStrategy
  readonly maxAttempts: number
  readonly initialDelayMs: number
  readonly multiplier: number
  readonly totalBudgetMs: number
  readonly jitterType: JitterType
  readonly retryableStatusCodes: readonly number[]
  readonly retryNetworkErrors: boolean
  readonly attemptTimeoutMs: number
  readonly maxServerDelayMs: number
  readonly keyTtlMs: number
}

/** Defaults of a policy; those of `maxDelayMs` and `stepMs` depend on the strategy, and are the core's. */
export const policyDefaults: ResolvedPolicy = {
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
  strategy: oneOf('string', ...STRATEGIES),
  maxAttempts: int(1, 100),
  initialDelayMs: ms(),
  multiplier: or(1, num(1.01, 100)),
  maxDelayMs: ms(),
  totalBudgetMs: ms(),
  jitterType: oneOf('string', ...JITTERS),
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

const TABLE: Rule = { ...object, expected: '1 to 1000 delays', ok: ({ length }) => length > 0 && length <= 1_000 }

function checkTogether(what: string, policy: ResolvedPolicy): void {
  const { strategy, delaysMs, baseMs, exponent, jitterMs } = policy
  const need = (name: keyof RetryPolicy, rule: Rule) => follow(`${what}.${name}`, policy[name], rule)
  if (strategy === 'table' || delaysMs?.length) need('delaysMs', TABLE)
  if (strategy === 'polynomial' && (baseMs ?? exponent ?? jitterMs) !== undefined) {
    for (const name of ['baseMs', 'exponent', 'jitterMs'] as const) need(name, RULES[name])
  }
}
