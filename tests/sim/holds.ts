/**
 * S9 over processes: a wait that a server asks of a lane is in the store as soon as it was heard, whoever heard of it: a stored
 * task, one in memory, or a caller's own first attempt. From then on the book sees to it that no claim breaks it.
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

  constructor(book: Book) {
    this.#book = book
  }

  hears(what: string, lane: string, forMs: number, mayTell: () => boolean): void {
    const { measure } = this.#book
    const before = Math.max(this.#last.get(lane) ?? Number.NEGATIVE_INFINITY, this.#book.lane(lane).heldUntil)
    this.#last.set(lane, measure + forMs)
    if (before + LATELY_MS > measure || !mayTell()) return
    this.#heard.push({ what, lane, until: measure + Math.min(forMs, MOST_MS), mayTell })
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
