/** The queue's one wake-up timer, armed for the next moment that matters and for nothing else. */

import type { Engine } from '../core/engine.ts'
import { type Clock, MAX_TIMER_MS, systemClock } from '../platform/clock.ts'

export interface WakeTimer {
  /** `at` on the steady clock; Infinity: nothing to wait for. */
  arm(at: number, now: number): void
  /** `trapped`: the core is not to be called any more; what it armed wakes in vain, once. */
  free(trapped: boolean): void
}

/** The timer to use: in browsers the core's own (gloo-timers); elsewhere, and in tests, the clock's. */
export function makeWakeTimer(engine: Engine, clock: Clock, wake: () => void): WakeTimer {
  const inBrowser = clock === systemClock && globalThis.location !== undefined
  return inBrowser ? new CoreTimer(engine, wake) : new ClockTimer(clock, wake)
}

class ClockTimer implements WakeTimer {
  readonly #clock: Clock
  readonly #wake: () => void
  #armedAt = Number.POSITIVE_INFINITY
  #disarm: (() => void) | undefined

  constructor(clock: Clock, wake: () => void) {
    this.#clock = clock
    this.#wake = wake
  }

  arm(at: number, now: number): void {
    if (at === this.#armedAt) return
    this.free()
    if (at === Number.POSITIVE_INFINITY) return
    this.#armedAt = at
    this.#disarm = this.#clock.after(Math.min(Math.max(at - now, 0), MAX_TIMER_MS), () => {
      this.#armedAt = Number.POSITIVE_INFINITY
      this.#wake()
    })
  }

  free(): void {
    this.#disarm?.()
    this.#armedAt = Number.POSITIVE_INFINITY
  }
}

class CoreTimer implements WakeTimer {
  readonly #timer: InstanceType<Engine['glue']['WakeTimer']>
  #armedAt = Number.POSITIVE_INFINITY

  constructor(engine: Engine, wake: () => void) {
    this.#timer = new engine.glue.WakeTimer(() => {
      this.#armedAt = Number.POSITIVE_INFINITY
      wake()
    })
  }

  arm(at: number, now: number): void {
    if (at === this.#armedAt) return
    this.#armedAt = at
    if (at === Number.POSITIVE_INFINITY) this.#timer.disarm()
    else this.#timer.arm(at - now)
  }

  free(trapped: boolean): void {
    if (!trapped) this.#timer.free()
  }
}
