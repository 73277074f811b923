/**
 * The policy of calls in the background: enqueued, deferred, or without their caller. A first attempt has a waiting caller, so this comes with the core's
 * chunk: a call carries the fields that were given, and the checked policy of its caller.
 */

import type { RetryPolicy } from '../api/policy.ts'
import { filled } from './first-policy.ts'
import { type PolicyPair, policyDefaults, type ResolvedPolicy, UNLIMITED } from './policy.ts'
import { isOfCurve } from './policy-rules.ts'
import type { TaskOptions } from './task-options.ts'

/** The longest wait of a curve that grows, or its first one where that is longer. */
const LONGEST_MS = 600_000

/** The policy of a call in the background: its number of attempts is known without a caller. */
export type BackgroundPolicy = ResolvedPolicy & { readonly maxAttempts: number }

/** The fields in which calls in the background differ, where the user gives none of a curve: those of `presets.background`. */
const BACKGROUND = {
  strategy: 'spread',
  maxAttempts: UNLIMITED,
  initialDelayMs: 1_000,
  // a task waits for half of what the outage has lasted at most, and not for all of it
  multiplier: 1.5,
  maxDelayMs: LONGEST_MS,
} as const

/** One for all calls of a policy: the core keeps it for them. */
const known = new WeakMap<object, BackgroundPolicy>()
/** Likewise of a policy without its attempts. */
const timed = new WeakMap<object, BackgroundPolicy>()

/**
 * A field of a curve means the curve that its user sees in an awaited call: with one of them both have that curve, as a `maxDelayMs` of
 * exponential waits says nothing about spread ones. Where it is not given, that of an awaited call fits into its half minute, and this one into a day.
 */
export function backgroundOf({ given }: Pick<PolicyPair, 'given'>): BackgroundPolicy {
  return once(known, given, given)
}

/**
 * The policy of a call once it is in the background. `maxAttempts` of a queue's `policy` is how long a caller has to wait, and cuts no work in the background
 * short: that has a time. It counts where it was said of the call, or in a policy that has a name of its own; 1 turns retrying off everywhere.
 */
export function handedOver({
  given,
  options,
}: Pick<PolicyPair, 'given'> & { readonly options?: TaskOptions }): BackgroundPolicy {
  const { maxAttempts = 1, policyId, ...rest } = given
  const isMeant = maxAttempts === 1 || policyId !== undefined || options?.policy?.maxAttempts !== undefined
  return isMeant ? backgroundOf({ given }) : once(timed, given, rest)
}

function once(from: typeof known, key: object, given: Partial<RetryPolicy>): BackgroundPolicy {
  const policy = from.get(key) ?? backgroundWith(given)
  from.set(key, policy)
  return policy
}

function backgroundWith(given: Partial<RetryPolicy>): BackgroundPolicy {
  const isShaped = Object.keys(given).some(isOfCurve)
  const { strategy = 'exponential', initialDelayMs = 0 } = given
  const grows = ['exponential', 'linear', 'spread'].includes(strategy)
  const shaped = { maxAttempts: UNLIMITED, ...(grows && { maxDelayMs: Math.max(LONGEST_MS, initialDelayMs) }) }
  return filled({ ...policyDefaults, ...(isShaped ? shaped : BACKGROUND) }, given)
}
