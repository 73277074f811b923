/**
 * The alarm of a Durable Object: one stands as long as there is something to do. It is set in the same event as the write that
 * makes it necessary, and the platform commits both as one.
 */

import { type Clock, FOREVER, within } from '../platform/clock.ts'
import type { AlarmStorage } from './object-state.ts'

/** The delay of the alarm that follows should the object die during a run. */
const WATCH_MS = 5_000
/** Storage that refuses an alarm is asked again, less and less often, for as long as an alarm may run. */
const FIRST_AGAIN_MS = 100
const LAST_AGAIN_MS = 30_000
const PATIENCE_MS = 10 * 60_000
/** Storage that takes longer counts as having failed. */
const ANSWER_MS = 10_000

export class Alarm {
  readonly #storage: AlarmStorage
  readonly #clock: Clock
  readonly #failed: (error: unknown) => void
  /** The instant at which the alarm is to ring; Infinity: never. */
  #at = FOREVER
  /** Whether the storage holds this alarm, as far as is known. */
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

  /** Sets an alarm at `at`, or leaves an earlier one. It returns at once: the platform commits the alarm with what was written in this event. */
  need(at: number | null): void {
    // while one runs, its end says when the next one comes, and its watch stands should there be no end
    if (at === null || this.isRunning || (this.#isTold && at >= this.#at)) return
    this.#at = Math.min(this.#at, at)
    this.#asked = this.#tell().catch(this.#failed)
  }

  /**
   * Asks the storage whether an alarm stands, whatever is remembered here, and sets one at `at` if none does. Each call of the
   * object does so, since without an alarm nothing runs. Rejects where the alarm cannot be set.
   */
  async check(at: number | null): Promise<void> {
    // an alarm that is still being set may yet be refused
    await this.#asked
    if (at === null || this.isRunning || (this.#isTold && (await this.#storage.getAlarm()) !== null)) return
    this.#at = Math.min(this.#at, at)
    await this.#tell()
  }

  /** Begins a run: the alarm rings. */
  async start(): Promise<void> {
    this.isRunning = true
    await this.#set(this.#clock.now() + WATCH_MS)
  }

  /**
   * Ends a run and sets the next alarm at `at`, or none. A `need` counts again from here on, also while the storage is asked.
   * Rejects only if the storage refuses for ten minutes.
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
