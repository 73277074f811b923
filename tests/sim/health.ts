/** Whether a process could do what there is to do, as far as its surroundings go. */

import type { Claim } from '../../js/api/store.ts'

export class Health {
  /** Calls to the store that have not come back, of those that come late. */
  delayed = 0
  /** A chunk was held up, and it has not asked for work since. */
  isLoading = false
  /** That has happened in this life: what it was asked for meanwhile was plain fetch. */
  wasHeldUp = false
  /** Time has gone on without it, and it has not claimed since. */
  gap = true
  /** The last that it asked for, and whether that was all there was room for. */
  claim: Claim | null = null
  isFull = false
  /** What went wrong between it and its store, so far, and what of that it has made up for by looking. */
  #troubles = 0
  #known = 0

  /** A hint did not arrive in time, or a call failed: there may be something that it does not know of. */
  trouble(): void {
    this.#troubles++
  }

  get isTroubled(): boolean {
    return this.delayed > 0 || this.#known < this.#troubles
  }

  /** It asks for a claim; what is given back tells that it was answered. */
  claims(claim: Claim | null): (claimed: number) => void {
    const troubles = this.#troubles
    this.claim = claim
    return (claimed) => {
      if (!claim) return
      this.#known = troubles
      this.gap = false
      this.isFull = claimed === claim.limit
    }
  }
}
