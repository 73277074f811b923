/**
 * Waits that servers have asked of a lane, on their way to the store: those that no settlement and no new task brings, since
 * who heard of them is none of its tasks. A store may be away for a while, so each is kept as the moment at which it ends.
 */

import type { LaneHold } from '../api/store.ts'

export class LaneHolds {
  readonly #until = new Map<string, number>()

  /** Gives whether there is news in it. */
  add(lane: string, until: number): boolean {
    const isNews = until > (this.#until.get(lane) ?? 0)
    if (isNews) this.#until.set(lane, until)
    return isNews
  }

  get isEmpty(): boolean {
    return this.#until.size === 0
  }

  /** Those that are not over at `now`, to be told; `told` lets go of them, unless they have become longer meanwhile. */
  at(now: number): { readonly hold: readonly LaneHold[]; readonly told: () => void } {
    for (const [lane, until] of this.#until) if (until <= now) this.#until.delete(lane)
    const telling = [...this.#until]
    return {
      hold: telling.map(([lane, until]) => ({ lane, forMs: until - now })),
      told: () => {
        for (const [lane, until] of telling) if (this.#until.get(lane) === until) this.#until.delete(lane)
      },
    }
  }
}
