/**
 * S7 in one process: what its queue has in flight of its own, stored or in memory, is no more than its limits, and where these count
 * callers' own first attempts, they with it. Over processes the
 * book counts leases, which are of stored tasks alone (docs/adr/0039-tasks-that-are-not-stored.md).
 */

import type { Book } from './book.ts'

export class Seats {
  readonly #book: Book
  /** Lanes of the attempts that are on their way. */
  #lanes: readonly string[] = []

  constructor(book: Book) {
    this.#book = book
  }

  /** An attempt leaves. `over`: it has ended, whatever came of it. */
  take(what: string, lane: string, over: Promise<unknown>): void {
    const { total, perLane } = this.#book.limits
    const beside = this.#lanes.filter((each) => each === lane).length
    this.#book.expect(this.#lanes.length < total, 'S7', () => `${what} beside ${this.#lanes.length} of ${total} in all`)
    this.#book.expect(beside < perLane, 'S7', () => `${what} beside ${beside} of ${perLane} in its lane`)
    this.#lanes = [...this.#lanes, lane]
    const end = () => {
      this.#lanes = this.#lanes.toSpliced(this.#lanes.indexOf(lane), 1)
    }
    over.then(end, end)
  }
}
