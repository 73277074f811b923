/** Names of lanes. The core knows a lane by number; a lane is one principal's requests to one origin. */

import type { CoreQueue } from './core/generated/queue/glue.js'

/** A page talks to few origins, a crawler to many: past this, lanes that hold nothing are let go. */
const SWEEP_AT = 256

export class Lanes {
  readonly #core: CoreQueue
  readonly #byOrigin = new Map<string, number>()
  #sweepAt = SWEEP_AT

  constructor(core: CoreQueue) {
    this.#core = core
  }

  of(origin: string): number {
    const known = this.#byOrigin.get(origin)
    if (known !== undefined) return known
    if (this.#byOrigin.size >= this.#sweepAt) this.#sweep()
    const lane = this.#core.lane()
    this.#byOrigin.set(origin, lane)
    return lane
  }

  /** undefined: nothing was ever queued for it. */
  find(origin: string): number | undefined {
    return this.#byOrigin.get(origin)
  }

  entries(): Iterable<[origin: string, lane: number]> {
    return this.#byOrigin
  }

  #sweep(): void {
    for (const [origin, lane] of this.#byOrigin) {
      if (this.#core.dropLane(lane)) this.#byOrigin.delete(origin)
    }
    // when most are busy, look again only after as many more
    this.#sweepAt = Math.max(SWEEP_AT, this.#byOrigin.size * 2)
  }
}
