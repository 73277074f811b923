/** The last minutes: successes and errors of each part of the time, from counts that are looked at now and then, and the tasks that waited. */

/** Width of a part. */
export const SLOT_MS = 10_000
/** Parts that are kept: five minutes. */
export const SLOTS = 30

/** One look. A count that is not known is absent. */
export interface Look {
  readonly succeeded?: number | undefined
  readonly failed?: number | undefined
  readonly waiting: number
}

/** One part of the time. */
export interface Slot {
  succeeded: number
  failed: number
  /** The most at one look. */
  waiting: number
}

export class History {
  /** The latest last. */
  #slots: Slot[] = []
  #slot = Number.NaN
  #last: Look | undefined
  #beganAt = 0

  /** Counts that are lower than before, as when old tasks are deleted, say nothing. */
  look(now: number, look: Look): void {
    const slot = Math.floor(now / SLOT_MS)
    const last = this.#last ?? look
    if (!this.#last) {
      this.#beganAt = now
      this.#slot = slot - 1
    }
    const passed = Math.min(SLOTS, slot - this.#slot)
    // what waited is not known of a time without a look: it is taken to have stayed
    for (let i = 1; i <= passed; i++)
      this.#slots.push({ succeeded: 0, failed: 0, waiting: i < passed ? last.waiting : look.waiting })
    this.#slots.splice(0, this.#slots.length - SLOTS)
    this.#slot = Math.max(this.#slot, slot)
    const end = this.#slots.at(-1)
    if (end) {
      end.succeeded += since(last.succeeded, look.succeeded)
      end.failed += since(last.failed, look.failed)
      end.waiting = Math.max(end.waiting, look.waiting)
    }
    this.#last = look
  }

  get slots(): readonly Slot[] {
    return this.#slots
  }

  /** Over the last minute, or what of it was seen. undefined: less than ten seconds were, or it is not known. */
  perMinute(now: number): number | undefined {
    const seen = Math.min(60_000, now - this.#beganAt)
    if (this.#last?.succeeded === undefined || seen < SLOT_MS) return undefined
    const slots = this.#slots.slice(-6)
    const counted = slots.reduce((sum, each) => sum + each.succeeded, 0)
    const from = Math.max(this.#beganAt, (this.#slot - slots.length + 1) * SLOT_MS)
    return (counted * 60_000) / Math.max(SLOT_MS, now - from)
  }
}

const since = (before: number | undefined, now: number | undefined): number =>
  Math.max(0, (now ?? 0) - (before ?? now ?? 0))
