/** Tags of lanes, for the turns of principals in a memory store for everyone: see `engine/turns.ts`. */

import { firstTag, nextTag, TURN } from '../engine/turns.ts'

interface Tagged {
  readonly principal: string | null
  served: number
}

interface Share {
  /** Tasks that take room. */
  readonly held: number
  /** A turn after the last tag of its lanes. */
  readonly tag: number
}

const NONE: Share = { held: 0, tag: 0 }

export class Tags {
  /** The time of the line. */
  #time = 0
  readonly #shares = new Map<string | null, Share>()

  /** A principal has `by` tasks more that take room. */
  count(principal: string | null, by: number): void {
    const { held, tag } = this.#shareOf(principal)
    this.#shares.set(principal, { held: held + by, tag })
  }

  /** Gives a lane the next tag of its principal. */
  take(lane: Tagged): void {
    const { held, tag } = this.#shareOf(lane.principal)
    lane.served = nextTag(this.#time, tag, held)
    this.#shares.set(lane.principal, { held, tag: lane.served + TURN })
  }

  /** Whether the line has gone past a lane that comes first in it, with a task of this priority. It has another turn then, which is still to come. */
  isLate(lane: Tagged, priority: number): boolean {
    if (lane.served < firstTag(this.#time)) {
      this.take(lane)
      if (lane.served > this.#time) return true
    }
    if (priority <= 0) this.#time = Math.max(this.#time, lane.served)
    return false
  }

  #shareOf(principal: string | null): Share {
    return this.#shares.get(principal) ?? NONE
  }
}
