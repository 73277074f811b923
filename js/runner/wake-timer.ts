/** The queue's one wake-up timer, armed for the next moment that matters and for nothing else. */

import type { Engine } from '../core/engine.ts'
import { type Clock, FOREVER, MAX_TIMER_MS, systemClock } from '../platform/clock.ts'
import type { QueueContext } from './context.ts'

/** A timer never comes so much before its time, unless a test has it come. */
const EARLY_MS = 200

/** A timer that is armed again and again. */
interface Timer {
  arm(delayMs: number): void
  disarm(): void
  free(): void
}

type Place = Pick<QueueContext, 'now' | 'degraded' | 'settings'>

export class WakeTimer {
  readonly #timer: Timer
  /** The timer is the core's own (gloo-timers), as in browsers; elsewhere, and in tests, it is the clock's. */
  readonly #isCores: boolean
  readonly #host: Place
  #armedAt: number = FOREVER
  /** When it is to wake: the longest timer may end before `armedAt`. */
  #wakesAt: number = FOREVER
  /** Fake timers put another `setTimeout` in its place, and what the one before had armed may never come. */
  #armedBy: unknown

  constructor(engine: Engine, host: Place, wake: () => void) {
    const { clock } = host.settings
    const woken = () => {
      if (clock === systemClock) this.#look()
      this.#armedAt = FOREVER
      wake()
    }
    this.#host = host
    this.#isCores = clock === systemClock && globalThis.location !== undefined
    this.#timer = this.#isCores ? new engine.glue.WakeTimer(woken) : clockTimer(clock, woken)
  }

  /** `at` on the steady clock; Infinity: nothing to wait for. */
  arm(at: number, now: number): void {
    const { setTimeout } = globalThis
    if (at === this.#armedAt && setTimeout === this.#armedBy) return
    this.#armedAt = at
    this.#armedBy = setTimeout
    this.#wakesAt = Math.min(at, now + MAX_TIMER_MS)
    if (at === FOREVER) this.#timer.disarm()
    else this.#timer.arm(at - now)
  }

  /** `trapped`: the core is not to be called any more; what it armed wakes in vain, once. */
  free(trapped: boolean): void {
    if (!trapped || !this.#isCores) this.#timer.free()
  }

  #look(): void {
    const earlyMs = this.#wakesAt - this.#host.now()
    if (earlyMs < EARLY_MS) return
    const message = `a timer came ${earlyMs} ms early: fake timers replace setTimeout and no clock; have them replace Date and performance too`
    this.#host.degraded('time_faked', message, '')
  }
}

function clockTimer(clock: Clock, wake: () => void): Timer {
  let disarm = () => {}
  return {
    arm(delayMs) {
      disarm()
      disarm = clock.after(Math.min(Math.max(delayMs, 0), MAX_TIMER_MS), wake)
    },
    disarm: () => disarm(),
    free: () => disarm(),
  }
}
