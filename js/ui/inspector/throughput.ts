/** Successes per minute over the last minutes, from a count that is looked at now and then. */

/** Width of a bar. */
const SLOT_MS = 10_000
/** Bars that are kept: five minutes. */
const SLOTS = 30

export class Throughput {
  /** Successes by slot, the latest last. */
  #slots: number[] = []
  #slot = Number.NaN
  #last: number | undefined
  #beganAt = 0

  /** `count`: successes so far. One that is lower than before, as when old ones are deleted, says nothing. */
  look(now: number, count: number): void {
    const slot = Math.floor(now / SLOT_MS)
    if (this.#last === undefined) {
      this.#beganAt = now
      this.#slot = slot
      this.#slots = [0]
    }
    const passed = Math.min(SLOTS, slot - this.#slot)
    for (let i = 0; i < passed; i++) this.#slots.push(0)
    if (this.#slots.length > SLOTS) this.#slots.splice(0, this.#slots.length - SLOTS)
    this.#slot = Math.max(this.#slot, slot)
    const end = this.#slots.length - 1
    this.#slots[end] = (this.#slots[end] ?? 0) + Math.max(0, count - (this.#last ?? count))
    this.#last = count
  }

  get bars(): readonly number[] {
    return this.#slots
  }

  /** Over the last minute, or what of it was seen. undefined: less than ten seconds were. */
  perMinute(now: number): number | undefined {
    const seen = Math.min(60_000, now - this.#beganAt)
    if (this.#last === undefined || seen < SLOT_MS) return undefined
    const slots = this.#slots.slice(-6)
    const counted = slots.reduce((sum, each) => sum + each, 0)
    const since = Math.max(this.#beganAt, (this.#slot - slots.length + 1) * SLOT_MS)
    return (counted * 60_000) / Math.max(SLOT_MS, now - since)
  }
}
