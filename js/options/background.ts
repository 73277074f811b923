/**
 * The policy of what is handed over, or has lost its caller. A first attempt has a caller who waits, so this comes with the core's
 * chunk: a call carries the fields that were given, and the checked policy of its caller.
 */

import type { RetryPolicy } from '../api/policy.ts'
import { filled } from './first-policy.ts'
import { type PolicyPair, policyDefaults, type ResolvedPolicy, UNLIMITED } from './policy.ts'
import { isOfCurve } from './policy-rules.ts'

/** The fields in which what is handed over differs, where the user gives none of a curve: those of `presets.background`. */
const BACKGROUND: Partial<ResolvedPolicy> = {
  strategy: 'spread',
  maxAttempts: UNLIMITED,
  initialDelayMs: 1_000,
  // a task waits for half of what the outage has lasted at most, and not for all of it
  multiplier: 1.5,
  maxDelayMs: 600_000,
}

/** One for all calls of a policy: the core keeps it for them. */
const known = new WeakMap<object, ResolvedPolicy>()

/**
 * A field of a curve means the curve that its user sees in an awaited call: with one of them both have that curve, as a `maxDelayMs` of
 * exponential waits says nothing about spread ones.
 */
export function backgroundOf({ given }: Pick<PolicyPair, 'given'>): ResolvedPolicy {
  const policy = known.get(given) ?? backgroundWith(given)
  known.set(given, policy)
  return policy
}

function backgroundWith(given: Partial<RetryPolicy>): ResolvedPolicy {
  const isShaped = Object.keys(given).some(isOfCurve)
  const base = isShaped ? { ...policyDefaults, maxAttempts: UNLIMITED } : { ...policyDefaults, ...BACKGROUND }
  return filled(base, given)
}
