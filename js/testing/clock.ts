/** A clock that moves only when a test moves it. */

import { type Clock, systemClock } from '../platform/clock.ts'
import { nextTurn } from '../platform/turn.ts'

export interface FakeClock extends Clock {
  /** Lets `ms` pass, waking timers in order; between two of them everything that was promised is let happen. */
  advance(ms: number): Promise<void>
  /** Moves the wall clock alone, as a user or NTP does; negative: back. */
  step(ms: number): void
  /** Lets happen what needs no time. */
  settle(): Promise<void>
  /** Timers armed now. */
  readonly timers: number
}

interface Timer {
  readonly at: number
  readonly order: number
  readonly wake: () => void
}

const START = Date.UTC(2030, 0, 1)

export function fakeClock(startAt: number = START): FakeClock {
  let elapsed = 0
  let wall = startAt
  let order = 0
  const timers = new Set<Timer>()
  const next = (until: number): Timer | undefined => {
    let first: Timer | undefined
    for (const timer of timers) {
      if (
        timer.at <= until &&
        (!first || timer.at < first.at || (timer.at === first.at && timer.order < first.order))
      ) {
        first = timer
      }
    }
    return first
  }
  return {
    now: () => wall + elapsed,
    monotonic: () => elapsed,
    after(delayMs, wake) {
      const timer = { at: elapsed + Math.max(0, delayMs), order: order++, wake }
      timers.add(timer)
      return () => timers.delete(timer)
    },
    async advance(ms) {
      const until = elapsed + ms
      await settle()
      for (let timer = next(until); timer; timer = next(until)) {
        timers.delete(timer)
        elapsed = Math.max(elapsed, timer.at)
        timer.wake()
        await settle()
      }
      elapsed = until
    },
    step(ms) {
      wall += ms
    },
    settle: () => settle(),
    get timers() {
      return timers.size
    },
  }
}

type Later = (then: () => void) => unknown

/** Ten turns of the event loop: reading a body or starting the core takes a few of them. `later`: a real timer, where there are no messages. */
export async function settle(later: Later = (then) => systemClock.after(0, then)): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await (nextTurn() ?? new Promise<void>(later))
}
