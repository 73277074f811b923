/** Names of orders. The core knows an order by number and keeps its tasks in line; here is which number a key has. */

import type { CoreQueue } from './core/generated/queue/glue.js'

/** Past this many, those that have no task left are let go. */
const SWEEP_AT = 256

export class Orders {
  readonly #core: CoreQueue
  readonly #byKey = new Map<string, number>()
  #sweepAt = SWEEP_AT

  constructor(core: CoreQueue) {
    this.#core = core
  }

  of(key: string): number {
    const known = this.#byKey.get(key)
    if (known !== undefined) return known
    if (this.#byKey.size >= this.#sweepAt) this.#sweep()
    const order = this.#core.openOrder()
    this.#byKey.set(key, order)
    return order
  }

  #sweep(): void {
    for (const [key, order] of this.#byKey) {
      if (this.#core.dropOrder(order)) this.#byKey.delete(key)
    }
    // when most are in use, look again only after as many more
    this.#sweepAt = Math.max(SWEEP_AT, this.#byKey.size * 2)
  }
}
