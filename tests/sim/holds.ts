/**
 * S9 over processes: a wait that a server asks of a lane is in the store as soon as it was heard, whoever heard of it: a stored
 * task, one in memory, or a caller's own first attempt. From then on the book sees to it that no claim breaks it. And no lane waits
 * longer than an answer has asked of it.
 */

import type { Book } from './book.ts'

/** Longest that one answer holds others: the default of `maxLaneHoldMs`. */
const MOST_MS = 60_000
/** A lane that was held lately lets those who waited have their turn first: such answers are not judged. */
const LATELY_MS = 600_000

interface Heard {
  readonly what: string
  readonly lane: string
  readonly until: number
  /** Whether the process that heard it can tell its store. */
  readonly mayTell: () => boolean
}

export class Holds {
  readonly #book: Book
  #heard: Heard[] = []
  /** By lane: when such an answer was last heard. */
  readonly #last = new Map<string, number>()
  /** By lane: the longest wait that an answer has asked of all. */
  readonly #longest = new Map<string, number>()

  constructor(book: Book) {
    this.#book = book
  }

  hears(what: string, lane: string, forMs: number, mayTell: () => boolean): void {
    const { measure } = this.#book
    const { heldUntil, owesChance } = this.#book.lane(lane)
    const before = Math.max(this.#last.get(lane) ?? Number.NEGATIVE_INFINITY, heldUntil)
    this.#last.set(lane, measure + forMs)
    // a clock that is put forward makes a hold of just now one of long ago: what is owed since then is still owed
    if (owesChance || before + LATELY_MS > measure || !mayTell()) return
    this.#heard.push({ what, lane, until: measure + Math.min(forMs, MOST_MS), mayTell })
  }

  /** An answer that a request of this lane came to asks for a wait. */
  asked(lane: string, forMs: number): void {
    this.#longest.set(lane, Math.max(forMs, this.#longest.get(lane) ?? 0))
  }

  /** A store is told to hold a lane: because an answer has asked that of all, and not of one partition alone. */
  keeps(what: string, lane: string, forMs: number): void {
    const longestMs = this.#longest.get(lane) ?? 0
    this.#book.expect(
      forMs <= longestMs,
      'S9',
      () => `${what}: ${lane} waits ${forMs} ms, of ${longestMs} that were asked`,
    )
  }

  /** When all that needs no time has happened. */
  check(): void {
    const heard = this.#heard
    this.#heard = []
    for (const { what, lane, until, mayTell } of heard) {
      const shortMs = until - this.#book.lane(lane).heldUntil
      this.#book.expect(shortMs <= 0 || !mayTell(), 'S9', () => `${what}: the store does not hold ${lane}`)
    }
  }
}
