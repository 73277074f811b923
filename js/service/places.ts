/** Places that callers share: none takes all of them, as with attempts in flight (ADR 0074). */

import { mostOfPrincipal } from 'redrive/internal'
import { PER_FREE } from './limits.ts'

export class Places<Id> {
  readonly #total: number
  readonly #taken = new Map<Id, number>()
  #inUse = 0

  constructor(total: number) {
    this.#total = total
  }

  /** Takes a place, and gives what leaves it; undefined: there is none, or `id` has its share. */
  take(id: Id): (() => void) | undefined {
    const own = this.#taken.get(id) ?? 0
    const most = mostOfPrincipal({ total: this.#total, perFree: PER_FREE }, this.#inUse)
    if (this.#inUse >= this.#total || own >= most) return undefined
    this.#inUse++
    this.#taken.set(id, own + 1)
    return () => {
      this.#inUse--
      const left = (this.#taken.get(id) ?? 1) - 1
      if (left > 0) this.#taken.set(id, left)
      else this.#taken.delete(id)
    }
  }
}
