/**
 * How often a token may ask: the generic cell rate algorithm, one number a token, in the memory of this process. Said to callers in the
 * fields of draft-ietf-httpapi-ratelimit-headers: `RateLimit-Policy: "token";q=1000;w=2` and `RateLimit: "token";r=998;t=1`.
 */

import type { RateSettings } from './context.ts'
import { Problem } from './problem.ts'

/** Tokens beyond so many are forgotten, those that rest first. */
const MOST_KNOWN = 10_000

export class Rates {
  readonly #now: () => number
  /** When each token will have its whole burst again. */
  readonly #fullAt = new Map<string, number>()

  /** `now`: milliseconds that never go back. */
  constructor(now: () => number) {
    this.#now = now
  }

  /** Counts a request; gives the fields for its answer. Throws 'rate-limited', with the same fields, where it comes too early. */
  take(id: string, settings: RateSettings | undefined): Readonly<Record<string, string>> {
    if (!settings) return {}
    const { perSecond, burst = Math.max(1, 2 * perSecond) } = settings
    const now = this.#now()
    const each = 1_000 / perSecond
    const most = Math.max(1, Math.floor(burst))
    const window = most * each
    const policy = `"token";q=${most};w=${Math.max(1, Math.ceil(window / 1_000))}`
    const fullAt = Math.max(this.#fullAt.get(id) ?? now, now) + each
    const wait = fullAt - now - window
    // the millionth of a millisecond that a division leaves over is no cause to refuse
    if (wait > 1e-6) {
      const seconds = Math.max(1, Math.ceil(wait / 1_000))
      const fields = { 'ratelimit-policy': policy, ratelimit: `"token";r=0;t=${seconds}`, 'retry-after': `${seconds}` }
      throw new Problem(
        'rate-limited',
        `this token may ask ${perSecond} times a second; ask again in ${seconds} s`,
        {},
        fields,
      )
    }
    this.#keep(id, fullAt, now)
    const left = Math.floor((window - (fullAt - now)) / each + 1e-6)
    return { 'ratelimit-policy': policy, ratelimit: `"token";r=${left};t=${Math.ceil((fullAt - now) / 1_000)}` }
  }

  #keep(id: string, fullAt: number, now: number): void {
    this.#fullAt.set(id, fullAt)
    if (this.#fullAt.size <= MOST_KNOWN) return
    for (const [each, at] of this.#fullAt) if (at <= now) this.#fullAt.delete(each)
  }
}
