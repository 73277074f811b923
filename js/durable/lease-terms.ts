/**
 * How long a lease is asked for, and when it is renewed.
 *
 * Where timers are kept (a server), leases are short and renewed: a process that dies is soon noticed. Where a runner may be
 * held up for a minute without knowing (`graceMs`: a hidden tab), a lease lasts as long as an attempt may and the grace,
 * so that it needs no renewal; only an attempt without a time limit, or with a longer one of its own, is renewed.
 */

import type { ResolvedPolicy } from '../options/policy.ts'

/** What is asked of a store without a grace. */
export const RENEWED_LEASE_MS = 30_000
/** Of the grace, what passes before a renewal: the hooks have 5 s each, and the store its time. */
const HOOKS_MS = 15_000

export class LeaseTerms {
  readonly leaseMs: number
  readonly #graceMs: number | undefined

  constructor(graceMs: number | undefined, policies: Iterable<ResolvedPolicy>) {
    this.#graceMs = graceMs
    const limits = [...policies].map(({ attemptTimeoutMs }) => attemptTimeoutMs)
    this.leaseMs = graceMs === undefined ? RENEWED_LEASE_MS : Math.max(...limits) + graceMs
  }

  /** When a lease is renewed: a store may give less than it was asked for. */
  renewAfterMs(forMs: number): number {
    return this.#graceMs === undefined ? forMs / 3 : Math.max(forMs / 3, forMs - this.#graceMs + HOOKS_MS)
  }

  /** Past its end a runner cannot know who has the task: it settles nothing but a success. */
  isOver({ endsAt }: { readonly endsAt: number }, now: number): boolean {
    return this.#graceMs !== undefined && endsAt <= now
  }
}
