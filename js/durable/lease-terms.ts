/**
 * How long leases last, and when they are renewed.
 *
 * Where timers are kept (a server), leases are short and renewed, so that the end of a process is soon noticed. Where a runner may be
 * held up for a minute without knowing (`graceMs`: a hidden tab), a lease lasts as long as an attempt may, plus the grace,
 * and needs no renewal, an hour at most; only an attempt without a time limit, or with a longer one, is renewed.
 */

import { backgroundOf } from '../options/background.ts'
import { ATTEMPT_MS } from '../options/first-policy.ts'
import type { PolicyPair } from '../options/policy.ts'
import { LONGEST_LEASE_MS } from '../stores/engine/bounds.ts'

/** A lease that is renewed while its attempt runs: asked of stores without a grace. */
export const RENEWED_LEASE_MS = 30_000
const FIRST_RETRY_MS = 100
const LAST_RETRY_MS = 5_000
/** The wait after so many turns in a row that failed. */
export const pauseAfter = (failed: number): number => Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** (failed - 1))
/** After a silence of the store each runner is back within the longest wait between two turns that fail (5 s), that of its client between two connections (2 s), and the time to make one (5 s). */
const RETURN_MS = 12_000
/** The part of a grace that passes before a renewal: each hook has 5 s, the question for credentials waits as long, and the store has its time. */
const HOOKS_MS = 25_000
/** Interval at which a process says again that it is a home, and looks after homes whose end no hint tells. */
export const HOME_MS: number = RENEWED_LEASE_MS / 3

export class LeaseTerms {
  readonly leaseMs: number
  readonly #graceMs: number | undefined

  constructor(graceMs: number | undefined, policies: Iterable<PolicyPair>, renewedMs: number = RENEWED_LEASE_MS) {
    this.#graceMs = graceMs
    const limits = [...policies].map((pair) => backgroundOf(pair).attemptTimeoutMs ?? ATTEMPT_MS)
    this.leaseMs = graceMs === undefined ? renewedMs : Math.min(Math.max(...limits) + graceMs, LONGEST_LEASE_MS)
  }

  /** The age at which a lease is renewed that the store has given for `forMs`, which may be less than it was asked for. */
  renewAfterMs(forMs: number): number {
    return this.#graceMs === undefined ? forMs / 3 : Math.max(forMs / 3, forMs - this.#graceMs + HOOKS_MS)
  }

  /** How long leases last that ended while the store answered no runner, from the first step after that. A hidden tab gets a timer a minute. */
  get returnMs(): number {
    return this.#graceMs ?? RETURN_MS
  }

  /** Whether a lease has ended for this runner, which cannot know who has the task now: it settles nothing but a success. */
  isOver({ endsAt }: { readonly endsAt: number }, now: number): boolean {
    return this.#graceMs !== undefined && endsAt <= now
  }
}
