/**
 * When to try again and when to stop: one policy, one JSON value, the same in browser, Worker, Node and REST. Its checks are in
 * `policy-rules.ts`, and what a first attempt needs of it is in `first-policy.ts`.
 */

import type { BackoffStrategy, JitterType, RetryPolicy } from '../api/policy.ts'
import { DAY_MS } from '../platform/clock.ts'
import { FIRST, type FirstPolicy } from './first-policy.ts'

/** A policy by its two users: for an awaited call, and as it was given for `handedOver`. */
export interface PolicyPair {
  readonly policy: FirstPolicy
  /** A copy. */
  readonly given: Partial<RetryPolicy>
}

/** A policy with its defaults filled in, but for those that others decide. */
export interface ResolvedPolicy extends FirstPolicy {
  readonly strategy: BackoffStrategy
  readonly initialDelayMs: number
  readonly multiplier: number
  readonly jitterType: JitterType
  readonly maxRetryAfterMs: number
  readonly keyTtlMs: number
}

/**
 * Defaults of an awaited call's policy; `presets.interactive` says its schedule. Those of `maxDelayMs` and `stepMs` depend on the strategy and
 * are the core's, and `totalBudgetMs` is `keyTtlMs`.
 */
export const policyDefaults: ResolvedPolicy = {
  ...FIRST,
  strategy: 'exponential',
  initialDelayMs: 500,
  multiplier: 2,
  jitterType: 'FULL',
  maxRetryAfterMs: DAY_MS,
  keyTtlMs: DAY_MS,
}

/** More attempts than any schedule gets to while a key is safe. A number, since a policy is a JSON value. */
export const UNLIMITED = 1_000_000
