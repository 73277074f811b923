/**
 * The part of a policy that a first attempt is made by, and its defaults. Curves, budgets and key lifetimes come with the core's chunk:
 * `policy.ts` has them.
 */

import type { RetryPolicy } from '../api/policy.ts'

/** A policy with those defaults filled in by which a first attempt is made. */
export interface FirstPolicy extends Omit<RetryPolicy, 'retryableStatusCodes'> {
  readonly retryableStatusCodes: readonly number[]
  readonly retryNetworkErrors: boolean
  readonly retryTimeouts: boolean
}

/** Defaults of an awaited call's policy. That of `attemptTimeoutMs` depends on the body, and that of `maxAttempts` on how long its caller waits: the core knows it. */
export const FIRST: FirstPolicy = {
  policyId: 'default',
  retryableStatusCodes: Object.freeze([408, 429, 502, 503, 504]),
  retryNetworkErrors: true,
  retryTimeouts: true,
}

/** How long an answer may take, unless said otherwise, beside the time that the body needs. */
export const ATTEMPT_MS = 10_000
/** 50 KB/s: a slow line of a telephone. */
const BYTES_PER_MS = 50

/** The time that a body of so many bytes is given to arrive. */
export const bodyMs = (bytes: number): number => Math.floor(bytes / BYTES_PER_MS)

/** The default ones, others that ky, undici or axios-retry try again and that a repeat may mend, and 425, by which a server asks for one. */
const BROAD_CODES = Object.freeze([408, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524])

/** The codes that a list stands for. Before the checks have come it may be no list at all, and an answer is held against it all the same. */
export function codesOf(given: readonly number[] | 'broad'): readonly number[] {
  return Array.isArray(given) ? given : BROAD_CODES
}

/** `given` laid over `base`, which has the defaults. */
export function filled<P extends FirstPolicy>(base: P, given: Partial<RetryPolicy>): P {
  const policy = { ...base, ...given }
  return Object.freeze({ ...policy, retryableStatusCodes: codesOf(policy.retryableStatusCodes) })
}
