/**
 * S7 over time in one process: to each origin no more attempts start than its rate lets, over whatever time. Attempts that a store has granted
 * are counted by themselves: one starts even where another of the process has taken the token meanwhile.
 */

import type { Book } from './book.ts'
import type { Rate } from './scenario.ts'

/** Of an attempt: when it began, which is before its credentials are there, by a clock that may be put on meanwhile. */
interface Start {
  readonly at: number
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

  /** An attempt leaves that has begun at `at`. */
  take(what: string, lane: string, start: Start): void {
    const starts = [...(this.#byLane.get(lane) ?? []), start].sort((a, b) => a.at - b.at)
    this.#byLane.set(lane, starts)
    const { perSecond, burst } = this.#rate
    for (const [i, { at: from, offsetMs }] of starts.entries()) {
      for (const [j, { at: to, offsetMs: then }] of starts.entries()) {
        // to a clock that was put on meanwhile it was longer
        if (j < i || from > start.at || to < start.at || offsetMs !== then) continue
        const most = burst + (perSecond * (to - from)) / 1_000
        const count = j - i + 1
        this.#book.expect(count <= most, 'S7', () => `${what}: ${count} in ${to - from} ms, where ${most} may start`)
      }
    }
  }
}
