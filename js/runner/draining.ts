/** How long a queue that closes waits for its attempts in flight. */

import type { Clock } from '../platform/clock.ts'

export class Draining {
  readonly #isOver: () => boolean
  #end: (() => void) | undefined

  constructor(isOver: () => boolean) {
    this.#isOver = isOver
  }

  /** Takes note that something has ended. */
  look(): void {
    if (this.#end && this.#isOver()) this.#end()
  }

  /** Resolves once all has ended, or `ms` are over. */
  async wait(clock: Clock, ms: number): Promise<void> {
    if (this.#isOver()) return
    await new Promise<void>((resolve) => {
      const disarm = clock.after(ms, resolve)
      this.#end = () => {
        disarm()
        resolve()
      }
    })
  }
}
