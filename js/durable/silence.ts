/** Since when the store may have answered no process, as far as this one knows. */

import type { Silence, Turn } from '../api/store.ts'
import type { LeaseTerms } from './lease-terms.ts'
import type { StoredState } from './state.ts'

/** Most that an idle look is late in a process that is not held up. */
const LATE_MS = 1_000

export class SilenceWatch {
  readonly #state: StoredState
  readonly #terms: LeaseTerms
  /** When the store has last answered; by its clock the instant is `#aheadMs` later. Without any answer the two clocks are taken for one. */
  #heardAt = 0
  #aheadMs = 0

  constructor(state: StoredState, terms: LeaseTerms) {
    this.#state = state
    this.#terms = terms
  }

  /** Takes note of an answer to a look, which was asked for at `askedAt`: the time on its way was a silence. */
  looked(askedAt: number): void {
    this.#heardAt = askedAt
  }

  turned({ now }: Turn): void {
    this.#heardAt = this.#state.runner.host.now()
    this.#aheadMs = now - this.#heardAt
  }

  /**
   * For a turn that is asked for now. One that is asked for in time tells by itself how long it was on its way; one after others that failed, or after
   * so long a rest that a renewed lease may have ended, goes by the last answer.
   */
  before(askedAt: number, isFailing: boolean): Silence {
    const { idleCheckMs, graceMs } = this.#state.store
    const restMs = Math.max(this.#terms.leaseMs / 2, (idleCheckMs ?? 0) + LATE_MS)
    const isRested = graceMs === undefined && this.#heardAt > 0 && askedAt - this.#heardAt >= restMs
    const from = isFailing || isRested ? this.#heardAt : askedAt
    return { since: from + this.#aheadMs, graceMs: this.#terms.returnMs }
  }
}
