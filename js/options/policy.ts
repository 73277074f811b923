/**
 * When to try again and when to stop: one policy, one JSON value, the same in browser, Worker, Node and REST. Its checks are in
 * `policy-rules.ts`.
 */

import type { BackoffStrategy, JitterType, RetryPolicy } from '../api/policy.ts'
import { DAY_MS } from '../platform/clock.ts'
import { frozenCopy } from '../platform/json.ts'

/** A policy with its defaults filled in, but for those that others decide. */
export interface ResolvedPolicy extends Omit<RetryPolicy, 'retryableStatusCodes'> {
  readonly strategy: BackoffStrategy
  readonly maxAttempts: number
  readonly initialDelayMs: number
  readonly multiplier: number
  readonly jitterType: JitterType
  readonly retryableStatusCodes: readonly number[]
  readonly retryNetworkErrors: boolean
  readonly retryTimeouts: boolean
  readonly maxRetryAfterMs: number
  readonly keyTtlMs: number
}

/** A policy by its two users: complete for a caller who waits, and as it was given for `backgroundOf`. */
export interface PolicyPair {
  readonly policy: ResolvedPolicy
  /** A copy. */
  readonly given: Partial<RetryPolicy>
}

/** The schedule of an awaited call. */
export const INTERACTIVE: Pick<
  ResolvedPolicy,
  'policyId' | 'strategy' | 'maxAttempts' | 'initialDelayMs' | 'multiplier' | 'jitterType'
> = {
  policyId: 'interactive',
  strategy: 'exponential',
  maxAttempts: 5,
  initialDelayMs: 500,
  multiplier: 2,
  jitterType: 'FULL',
}

/**
 * Defaults of an awaited call's policy. Those of `maxDelayMs` and `stepMs` depend on the strategy and are the core's, `totalBudgetMs`
 * is `keyTtlMs`, and `attemptTimeoutMs` depends on the body.
 */
export const policyDefaults: ResolvedPolicy = {
  ...INTERACTIVE,
  policyId: 'default',
  retryableStatusCodes: Object.freeze([429, 502, 503, 504]),
  retryNetworkErrors: true,
  retryTimeouts: true,
  maxRetryAfterMs: DAY_MS,
  keyTtlMs: DAY_MS,
}

/** More attempts than any schedule gets to while a key is safe. A number, since a policy is a JSON value. */
export const UNLIMITED = 1_000_000

/** How long an answer may take, unless said otherwise, beside the time that the body needs. */
export const ATTEMPT_MS = 10_000
/** 50 KB/s: a slow line of a telephone. */
const BYTES_PER_MS = 50

/** The time that a body of so many bytes is given to arrive. */
export const bodyMs = (bytes: number): number => Math.floor(bytes / BYTES_PER_MS)

/** The default four, and the others that ky, undici and axios-retry try again. */
const BROAD_CODES = Object.freeze([408, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524])

/** The codes that a list stands for. Before the checks have come it may be no list at all, and an answer is held against it all the same. */
export function codesOf(given: readonly number[] | 'broad'): readonly number[] {
  return Array.isArray(given) ? given : BROAD_CODES
}

/** `given` laid over `base`, which has the defaults. */
export function filled(base: ResolvedPolicy, given: Partial<RetryPolicy>): ResolvedPolicy {
  const policy = { ...base, ...given } as RetryPolicy & ResolvedPolicy
  return Object.freeze({ ...policy, retryableStatusCodes: codesOf(policy.retryableStatusCodes) })
}

/** Both of a policy's forms: `given` laid over `base`, copied, since the caller may go on changing its arrays. */
export function pairOf(given: Partial<RetryPolicy>, base?: PolicyPair): PolicyPair {
  const copy = frozenCopy(given)
  return { policy: filled(base?.policy ?? policyDefaults, copy), given: { ...base?.given, ...copy } }
}
