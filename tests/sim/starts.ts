/**
 * S7 over time in one process: to each origin no more attempts start than its rate lets, over whatever time. Attempts that a store has granted
 * are counted by themselves: one starts even where another of the process has taken the token meanwhile.
 */

import type { Book } from './book.ts'
import type { Rate } from './scenario.ts'

/**
 * Of an attempt: it began at `at` or after, when its credentials were asked for, by a clock that may be put on meanwhile, and at `by` or
 * before, when it left: it may have joined a question that another had asked.
 */
interface Start {
  readonly at: number
  readonly by: number
  readonly offsetMs: number
}

export class Starts {
  readonly #book: Book
  readonly #rate: Rate
  readonly #byLane = new Map<string, Start[]>()

  constructor(book: Book, rate: Rate) {
    this.#book = book
    this.#rate = rate
  }

  /** An attempt leaves. */
  take(what: string, lane: string, start: Start): void {
    const starts = [...(this.#byLane.get(lane) ?? []), start].sort((a, b) => a.by - b.by)
    this.#byLane.set(lane, starts)
    const { perSecond, burst } = this.#rate
    for (const { at: from, offsetMs } of starts) {
      if (from > start.at) continue
      for (const [j, { by: to, offsetMs: then }] of starts.filter(({ at }) => at >= from).entries()) {
        // to a clock that was put on meanwhile it was longer
        if (to < start.by || offsetMs !== then) continue
        const most = burst + (perSecond * (to - from)) / 1_000
        const count = j + 1
        this.#book.expect(count <= most, 'S7', () => `${what}: ${count} in ${to - from} ms, where ${most} may start`)
      }
    }
  }
}
