/**
 * The checks of a policy. It is checked twice on purpose: here at once, so that a wrong option throws where it is written, and by the
 * core, which accepts nothing unsound. `tests/vectors/policies.json` holds both to the same answers.
 */

import type { ExpectedAnswer, RetryPolicy } from '../api/policy.ts'
import { JITTERS, STRATEGIES } from '../core/generated/codes.ts'
import { frozenCopy } from '../platform/json.ts'
import {
  check,
  flag,
  follow,
  int,
  list,
  ms,
  num,
  oneOf,
  options,
  or,
  pattern,
  type Rule,
  type Rules,
  text,
} from './check.ts'
import { type FirstPolicy, filled } from './first-policy.ts'
import { policyDefaults, type ResolvedPolicy, UNLIMITED } from './policy.ts'

/** The fields of a polynomial, given together or not at all. */
const POLYNOMIAL = { baseMs: ms(), exponent: num(0, 8), jitterMs: ms() }

/** The fields that shape a curve, or choose it. */
const CURVE_RULES = {
  strategy: oneOf(...STRATEGIES),
  initialDelayMs: ms(),
  multiplier: or(1, num(1.01, 100)),
  maxDelayMs: ms(),
  jitterType: oneOf(...JITTERS),
  jitterRatio: num(0, 1),
  freshJitter: num(0, 0.5),
  stepMs: ms(),
  ...POLYNOMIAL,
  delaysMs: list(ms()),
} satisfies Partial<Rules<RetryPolicy>>

/** Whether a field shapes a curve, or chooses it. */
export const isOfCurve = (name: string): boolean => name in CURVE_RULES

export const POLICY_RULES: Rules<RetryPolicy> = {
  policyId: text,
  maxAttempts: int(1, UNLIMITED),
  ...CURVE_RULES,
  totalBudgetMs: ms(),
  retryableStatusCodes: or('broad', list(int(200, 599))),
  expect: options<ExpectedAnswer>({
    status: list(int(200, 399)),
    contentType: pattern(
      "a media type such as 'application/json', 255 characters at most",
      /^(?!.{256})[\w!#$&^.+-]+\/[\w!#$&^.+-]+$/,
    ),
  }),
  retryNetworkErrors: flag,
  retryTimeouts: flag,
  attemptTimeoutMs: ms(),
  estimatedCallMs: ms(),
  maxRetryAfterMs: ms(),
  keyTtlMs: ms(1),
}

const TABLE: Rule = { ...list(ms()), expected: '1 to 1000 delays', ok: ({ length }) => length > 0 && length <= 1_000 }

/** Those that cannot change any more, with what they come to: most tasks of a queue share one. */
const known = new WeakMap<object, ResolvedPolicy>()

/** Whether `policyOf` has been given this very object, and it cannot have changed since. */
export const isKnownPolicy = (policy: unknown): boolean =>
  typeof policy === 'object' && policy !== null && known.has(policy)

/** `resolvePolicy` of the policy that a record has. */
export function policyOf(given: Partial<RetryPolicy>): ResolvedPolicy {
  const before = known.get(given)
  if (before) return before
  const policy = resolvePolicy(given)
  if (Object.isFrozen(given)) known.set(given, policy)
  return policy
}

/** Checks `given` laid over `base` and fills in the defaults. */
export function resolvePolicy(
  given: Partial<RetryPolicy>,
  base: FirstPolicy = policyDefaults,
  what = 'policy',
): ResolvedPolicy {
  check(what, given as RetryPolicy, POLICY_RULES)
  const policy = filled({ ...policyDefaults, ...base }, frozenCopy(given))
  const need = (rules: Partial<Rules<RetryPolicy>>) => {
    for (const [name, rule] of Object.entries(rules)) follow(`${what}.${name}`, policy[name as keyof RetryPolicy], rule)
  }
  if (policy.strategy === 'table' || policy.delaysMs?.length) need({ delaysMs: TABLE })
  if (policy.strategy === 'polynomial' && Object.keys(POLYNOMIAL).some((name) => name in policy)) need(POLYNOMIAL)
  const { totalBudgetMs = 0, keyTtlMs } = policy
  const expected = `keyTtlMs ${keyTtlMs} at most: raise both`
  if (totalBudgetMs > keyTtlMs) need({ totalBudgetMs: { expected, ok: () => false } })
  return policy
}
