/**
 * The policy of what is handed over, or has lost its caller. A first attempt has a caller who waits, so this comes with the core's
 * chunk: a call carries the fields that were given, and the checked policy of its caller.
 */

import type { RetryPolicy } from '../api/policy.ts'
import { filled, type PolicyPair, policyDefaults, type ResolvedPolicy, UNLIMITED } from './policy.ts'
import { isOfCurve } from './policy-rules.ts'
import { BACKGROUND } from './presets.ts'

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
  const { policyId } = policyDefaults
  const base = isShaped ? { ...policyDefaults, maxAttempts: UNLIMITED } : { ...policyDefaults, ...BACKGROUND, policyId }
  return filled(base, given)
}
