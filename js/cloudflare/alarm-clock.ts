/**
 * The queue's timers in a Durable Object. They run while an alarm runs. Between alarms none does: a timer would keep the object in
 * memory, and paid for, and would be lost with it. The soonest of them becomes the next alarm instead.
 */

import { type Clock, FOREVER, systemClock } from '../platform/clock.ts'

interface Timer {
  readonly at: number
  readonly wake: () => void
  disarm: (() => void) | undefined
}

export class AlarmClock implements Clock {
  readonly #clock: Clock
  readonly #timers = new Set<Timer>()
  #isRunning = false

  constructor(clock: Clock = systemClock) {
    this.#clock = clock
  }

  now(): number {
    return this.#clock.now()
  }

  monotonic(): number {
    return this.#clock.monotonic()
  }

  after(delayMs: number, wake: () => void): () => void {
    const timer: Timer = { at: this.now() + Math.max(0, delayMs), wake, disarm: undefined }
    this.#timers.add(timer)
    if (this.#isRunning) this.#arm(timer)
    return () => this.#drop(timer)
  }

  /** Starts the timers: an alarm runs, and those that fell due meanwhile fire now. */
  start(): void {
    this.#isRunning = true
    for (const timer of this.#timers) this.#arm(timer)
  }

  /** Stops the timers: the alarm is over. */
  stop(): void {
    this.#isRunning = false
    for (const timer of this.#timers) {
      timer.disarm?.()
      timer.disarm = undefined
    }
  }

  /** When the first of the timers is due; null: there is none. */
  nextAt(): number | null {
    const first = Math.min(...[...this.#timers].map(({ at }) => at))
    return first === FOREVER ? null : first
  }

  #arm(timer: Timer): void {
    timer.disarm = this.#clock.after(timer.at - this.now(), () => {
      this.#drop(timer)
      timer.wake()
    })
  }

  #drop(timer: Timer): void {
    timer.disarm?.()
    this.#timers.delete(timer)
  }
}
