/**
 * The alarm of a Durable Object: as long as there is something to do, one stands. It is set in the same event as what
 * makes it necessary, which the platform writes down as one.
 */

import { type Clock, within } from '../platform/clock.ts'
import type { AlarmStorage } from './object-state.ts'

/** Should the object die while an alarm runs, the next one comes so soon. */
const WATCH_MS = 5_000
/** Storage that refuses an alarm is asked again, less and less often, for as long as an alarm may run. */
const FIRST_AGAIN_MS = 100
const LAST_AGAIN_MS = 30_000
const PATIENCE_MS = 10 * 60_000
/** Storage that does not answer has not done it. */
const ANSWER_MS = 10_000
const FOREVER = Number.POSITIVE_INFINITY

export class Alarm {
  readonly #storage: AlarmStorage
  readonly #clock: Clock
  readonly #failed: (error: unknown) => void
  /** When it is to ring; Infinity: never. */
  #at = FOREVER
  /** Whether the storage has been told so, as far as is known. */
  #isTold = true
  /** The last `need`, until the storage has answered it. */
  #asked: Promise<void> = Promise.resolve()
  /** From `start` to `end`. */
  isRunning = false

  /** `failed` hears of an alarm that could not be set with what makes it necessary; the next call looks for it. */
  constructor(storage: AlarmStorage, clock: Clock, failed: (error: unknown) => void) {
    this.#storage = storage
    this.#clock = clock
    this.#failed = failed
  }

  /** One is to ring at `at`, or before. Nothing is waited for: what was written in this event goes to the disk with it. */
  need(at: number | null): void {
    // while one runs, its end says when the next one comes, and its watch stands should there be no end
    if (at === null || this.isRunning || (this.#isTold && at >= this.#at)) return
    this.#at = Math.min(this.#at, at)
    this.#asked = this.#tell().catch(this.#failed)
  }

  /**
   * Whatever is remembered: whether one stands, and one that was refused is set. Of each call, since nothing runs without an
   * alarm. One that stands is left alone: who set it knew when. Rejects where it cannot be set.
   */
  async check(at: number | null): Promise<void> {
    // what is still being set may yet be refused
    await this.#asked
    if (at === null || this.isRunning || (this.#isTold && (await this.#storage.getAlarm()) !== null)) return
    this.#at = Math.min(this.#at, at)
    await this.#tell()
  }

  /** It rings. */
  async start(): Promise<void> {
    this.isRunning = true
    await this.#set(this.#clock.now() + WATCH_MS)
  }

  /**
   * It has rung: the next one at `at`, or none; what is needed from now on counts again, also while the storage is asked. Rejects
   * only if that refuses for ten minutes.
   */
  async end(at: number | null): Promise<void> {
    this.isRunning = false
    this.#at = at ?? FOREVER
    const giveUpAt = this.#clock.now() + PATIENCE_MS
    for (let againMs = FIRST_AGAIN_MS; ; againMs = Math.min(LAST_AGAIN_MS, againMs * 2)) {
      try {
        return await this.#tell()
      } catch (error) {
        if (this.#clock.now() >= giveUpAt) throw error
        await new Promise<void>((resolve) => this.#clock.after(againMs, resolve))
      }
    }
  }

  async #tell(): Promise<void> {
    const at = this.#at
    this.#isTold = true
    try {
      await (at === FOREVER ? this.#storage.deleteAlarm() : this.#set(at))
    } catch (error) {
      this.#isTold = false
      throw error
    }
  }

  async #set(at: number): Promise<void> {
    await within(this.#clock, ANSWER_MS, 'setting the alarm', this.#storage.setAlarm(at))
  }
}
