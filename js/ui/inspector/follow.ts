/**
 * Looks at a source again and again: once a second while the page is in view, seldom while it is not, at once where something has changed, and with
 * growing waits while the source fails. It keeps no more than when and why.
 */

import type { Clock } from 'redrive'
import { errorText, systemClock } from 'redrive/internal'
import { InspectorError } from './source.ts'

/** The last look, where it failed. */
export interface Failure {
  readonly message: string
  /** When looks began to fail, and when the next one comes; epoch ms. */
  readonly sinceAt: number
  readonly tryAt: number
  readonly needsToken: boolean
}

export interface FollowOptions {
  readonly look: () => Promise<void>
  /** Called after each look, and once a second: countdowns go on. */
  readonly changed: () => void
  /** The page is out of view. */
  readonly isHidden: () => boolean
  readonly clock?: Clock
}

const LOOK_MS = 1_000
const HIDDEN_MS = 10_000
/** Between a change and the look at it: many come together. */
const LOOK_SOON_MS = 150
const LONGEST_MS = 30_000

export class Follow {
  failure: Failure | undefined
  readonly #options: FollowOptions
  readonly #clock: Clock
  #failures = 0
  #nextAt = 0
  #disarm: (() => void) | undefined
  #disarmSoon: (() => void) | undefined
  #looking: Promise<void> | undefined
  #next: Promise<void> | undefined

  constructor(options: FollowOptions) {
    this.#options = options
    this.#clock = options.clock ?? systemClock
  }

  start(): void {
    this.stop()
    this.#arm()
    void this.look()
  }

  stop(): void {
    this.#disarm?.()
    this.#disarmSoon?.()
    this.#disarm = this.#disarmSoon = undefined
  }

  /** Something has changed. One that fails is left alone until its time. */
  soon(): void {
    if (this.failure || this.#disarmSoon || !this.#disarm) return
    this.#disarmSoon = this.#clock.after(this.#options.isHidden() ? LOOK_MS : LOOK_SOON_MS, () => {
      this.#disarmSoon = undefined
      void this.look()
    })
  }

  /** Looks now, or once the look under way is over: that one may have seen what was before. Never rejects. */
  look(): Promise<void> {
    if (!this.#looking) return this.#begin()
    this.#next ??= this.#looking.then(() => {
      this.#next = undefined
      return this.#begin()
    })
    return this.#next
  }

  #begin(): Promise<void> {
    this.#looking = this.#look().finally(() => {
      this.#looking = undefined
    })
    return this.#looking
  }

  async #look(): Promise<void> {
    const { look, changed, isHidden } = this.#options
    try {
      await look()
      this.failure = undefined
      this.#failures = 0
      this.#nextAt = this.#clock.now() + (isHidden() ? HIDDEN_MS : LOOK_MS)
    } catch (error) {
      const now = this.#clock.now()
      const { needsToken = false, retryAfterMs = 0 } = error instanceof InspectorError ? error : {}
      const wait = Math.max(retryAfterMs, Math.min(LONGEST_MS, LOOK_MS * 2 ** this.#failures++))
      this.#nextAt = needsToken ? Number.POSITIVE_INFINITY : now + wait
      const sinceAt = this.failure?.sinceAt ?? now
      this.failure = { message: errorText(error), sinceAt, tryAt: this.#nextAt, needsToken }
    }
    changed()
  }

  #arm(): void {
    this.#disarm = this.#clock.after(LOOK_MS, () => {
      this.#arm()
      // a timer may be some milliseconds early
      if (!this.#looking && this.#clock.now() + LOOK_SOON_MS >= this.#nextAt) void this.#begin()
      else if (!this.#options.isHidden()) this.#options.changed()
    })
  }
}
