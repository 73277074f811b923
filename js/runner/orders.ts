/** Names of orders. The core knows an order by number and keeps its tasks in line; here is which number a key has. */

import type { CoreQueue } from '../core/generated/queue/glue.js'

/** Past this many, those that have no task left are let go. */
const SWEEP_AT = 256

export class Orders {
  readonly #core: CoreQueue
  /** By principal, then by key: nobody waits for another user's tasks, which may wait for that user. */
  readonly #byKey = new Map<string | null, Map<string, number>>()
  #size = 0
  #sweepAt = SWEEP_AT

  constructor(core: CoreQueue) {
    this.#core = core
  }

  of(principal: string | null, key: string): number {
    const known = this.#byKey.get(principal)?.get(key)
    if (known !== undefined) return known
    if (this.#size >= this.#sweepAt) this.#sweep()
    const order = this.#core.openOrder()
    const own = this.#byKey.get(principal) ?? new Map<string, number>()
    this.#byKey.set(principal, own.set(key, order))
    this.#size++
    return order
  }

  #sweep(): void {
    for (const [principal, own] of this.#byKey) {
      for (const [key, order] of own) {
        if (this.#core.dropOrder(order) && own.delete(key)) this.#size--
      }
      if (own.size === 0) this.#byKey.delete(principal)
    }
    // when most are in use, look again only after as many more
    this.#sweepAt = Math.max(SWEEP_AT, this.#size * 2)
  }
}
