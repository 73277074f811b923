/**
 * The clocks of a device whose user sets the time and closes the lid, in virtual time; and enough turns of the event loop in
 * between for a database that works in them.
 */

import type { Clock } from '../../js/platform/clock.ts'
import { fakeClock } from '../../js/testing/clock.ts'

/** Of virtual time between two looks at the database. */
const STEP_MS = 50
/** More than any transaction takes. */
const TURNS = 60

export interface DeviceClock extends Clock {
  /** Lets time pass, as the monotonic clock counts it. */
  pass(ms: number): Promise<void>
  /** The user, or a time server, sets the wall clock. */
  set(byMs: number): void
  /** The lid is closed: both clocks go on, timers do not, and come late by as much. */
  sleep(ms: number): void
  /** Lets happen what needs no time. */
  quiet(): Promise<void>
  /** Every delay that a timer was armed with. */
  readonly delays: readonly number[]
}

export function deviceClock(): DeviceClock {
  const base = fakeClock()
  const delays: number[] = []
  let slept = 0
  const quiet = async (): Promise<void> => {
    for (let turn = 0; turn < TURNS; turn++) await new Promise((resolve) => setImmediate(resolve))
  }
  return {
    now: () => base.now() + slept,
    monotonic: () => base.monotonic() + slept,
    after(delayMs, wake) {
      delays.push(delayMs)
      return base.after(delayMs, wake)
    },
    async pass(ms) {
      await quiet()
      for (let left = ms; left > 0; left -= STEP_MS) {
        await base.advance(Math.min(left, STEP_MS))
        await quiet()
      }
    },
    set: (byMs) => base.step(byMs),
    sleep(ms) {
      slept += ms
    },
    quiet,
    delays,
  }
}
