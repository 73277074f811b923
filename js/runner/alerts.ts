/** Emits `alert` for what is worth paging for: once when it begins, and not again while it lasts. */

import type { QueueEvents } from '../api/events.ts'
import { TASKS_PER_SUCCESS } from '../core/codes.ts'
import type { QueueContext } from './context.ts'

/** Share of the capacity from which the queue counts as deep. */
const DEEP = 0.8
/** Share under which the next alert is allowed: a depth that sways about a limit is one alert. */
const CALM = 0.6
/** Dead letters in a minute that are not worth an alert yet. */
const DEAD_LETTERS = 5
const MINUTE_MS = 60_000

export class Alerts {
  readonly #host: QueueContext
  #isDeep = false
  /** Times of the last few dead letters, oldest first. */
  #diedAt: number[] = []
  #quietUntil = 0

  constructor(host: QueueContext) {
    this.#host = host
  }

  /** Hears how many tasks take room: those that wait or run, and dead letters. */
  held(held: number): void {
    const { capacity } = this.#host.settings
    const share = held / capacity
    if (share < CALM) this.#isDeep = false
    if (share <= DEEP || this.#isDeep) return
    this.#isDeep = true
    const message = `${held} tasks are held; beyond ${capacity} (capacity) calls are refused`
    this.#emit('queue_depth', held, capacity * DEEP, message)
  }

  /** Hears that one more task was given up. */
  deadLetter(): void {
    const now = this.#host.now()
    this.#diedAt = this.#diedAt.filter((at) => at > now - MINUTE_MS)
    this.#diedAt.push(now)
    const value = this.#diedAt.length
    if (value <= DEAD_LETTERS) return
    // more would not say more
    this.#diedAt.shift()
    if (now < this.#quietUntil) return
    this.#quietUntil = now + MINUTE_MS
    const message = `over ${DEAD_LETTERS} tasks were given up within a minute: see deadLetters.list()`
    this.#emit('dead_letter_rate', value, DEAD_LETTERS, message)
  }

  /** Hears of a retry storm: at an origin the first attempts of so many tasks failed for each success. */
  storm(tasksPerSuccess: number, origin?: string): void {
    const message = `${origin}: of ${tasksPerSuccess} tasks for each success the first attempt failed`
    this.#emit('retry_storm', tasksPerSuccess, TASKS_PER_SUCCESS, message, origin)
  }

  #emit(kind: QueueEvents['alert']['kind'], value: number, threshold: number, message: string, origin?: string): void {
    const alert = { kind, message, value, threshold, origin }
    this.#host.events.emit('alert', alert, `${kind} ${origin}`)
  }
}
