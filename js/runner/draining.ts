/** How long a queue that closes waits for its attempts in flight. */

import type { Clock } from '../platform/clock.ts'

export class Draining {
  readonly #isOver: () => boolean
  #end: (() => void) | undefined
  #underWay = 0
  #wasOver = false

  constructor(isOver: () => boolean) {
    this.#isOver = isOver
  }

  /** Takes note that something has ended. */
  look(): void {
    if (!this.#end) return
    // a claim may bring more after that, which is given back
    this.#wasOver ||= this.#isOver()
    if (this.#wasOver && this.#underWay === 0) this.#end()
  }

  /** Waits for this, too: calls, or an attempt that no task has taken up yet. */
  async until(ended: Promise<unknown>): Promise<void> {
    this.#underWay++
    try {
      await ended
    } finally {
      this.#underWay--
      this.look()
    }
  }

  /** Resolves once all has ended, `own` calls among it, or `ms` are over. */
  async wait(clock: Clock, ms: number, own: Promise<unknown>): Promise<void> {
    void this.until(own)
    await new Promise<void>((resolve) => {
      const disarm = clock.after(ms, resolve)
      this.#end = () => {
        disarm()
        resolve()
      }
      this.look()
    })
  }
}
