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

  /** Those that are not over at `now`, to be reported; `told` forgets them, unless they have become longer meanwhile, and gives their lanes. */
  at(now: number): { readonly hold: readonly LaneHold[]; readonly told: () => readonly string[] } {
    for (const [lane, until] of this.#until) if (until <= now) this.#until.delete(lane)
    const telling = [...this.#until]
    return {
      hold: telling.map(([lane, until]) => ({ lane, forMs: until - now })),
      told: () => {
        const done = telling.filter(([lane, until]) => this.#until.get(lane) === until)
        for (const [lane] of done) this.#until.delete(lane)
        return done.map(([lane]) => lane)
      },
    }
  }
}
