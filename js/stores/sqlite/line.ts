/**
 * Steps on a file, one after another. One that finds the file locked by another process is tried again a little later, and
 * those behind it wait: the event loop never stands still for longer than SQLite waits by itself (`BUSY_TIMEOUT_MS`).
 */

import { systemClock } from '../../platform/clock.ts'
import { isBusy } from './errors.ts'

/** A step that still finds the file locked after this long has failed. */
const PATIENCE_MS = 5_000
const FIRST_PAUSE_MS = 2
const LONGEST_PAUSE_MS = 25

interface Waiting {
  /** Settles what was asked for; says whether it has to be tried again. */
  readonly attempt: (isLast: boolean) => 'done' | 'again'
  readonly until: number
}

export class Line {
  readonly #waiting: Waiting[] = []

  /** Runs `step` at once where nothing waits before it. It may run several times: one that throws has changed nothing. */
  run<T>(step: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      const attempt: Waiting['attempt'] = (isLast) => {
        try {
          resolve(step())
        } catch (error) {
          if (isBusy(error) && !isLast) return 'again'
          reject(error)
        }
        return 'done'
      }
      if (this.#waiting.length === 0 && attempt(false) === 'done') return
      this.#waiting.push({ attempt, until: systemClock.monotonic() + PATIENCE_MS })
      if (this.#waiting.length === 1) this.#pause(FIRST_PAUSE_MS)
    })
  }

  /** By real time, whatever the store's own clock says: it is other processes that are waited for. */
  #pause(pauseMs: number): void {
    systemClock.after(pauseMs, () => this.#goOn(pauseMs))
  }

  #goOn(pauseMs: number): void {
    const [first] = this.#waiting
    if (!first) return
    const isLast = systemClock.monotonic() >= first.until
    if (first.attempt(isLast) === 'again') {
      this.#pause(Math.min(LONGEST_PAUSE_MS, pauseMs * 2))
      return
    }
    this.#waiting.shift()
    // others of the event loop come in between
    if (this.#waiting.length > 0) setImmediate(() => this.#goOn(FIRST_PAUSE_MS))
  }
}
