/**
 * How often a token may ask: the generic cell rate algorithm, one number a token, in the memory of this process. Said to callers in the
 * fields of draft-ietf-httpapi-ratelimit-headers: `RateLimit-Policy: "token";q=1000;w=2` and `RateLimit: "token";r=998;t=1`.
 */

import type { RateSettings } from './context.ts'
import { Problem } from './problem.ts'

/** Tokens beyond so many are forgotten, those that rest first. */
const MOST_KNOWN = 10_000

/** The time that a request costs, the time that a burst may be ahead, and both in the words of the header. */
function termsOf({ perSecond, burst = Math.max(1, 2 * perSecond) }: RateSettings) {
  const each = 1_000 / perSecond
  const most = Math.max(1, Math.floor(burst))
  const window = most * each
  return { each, window, policy: `"token";q=${most};w=${Math.max(1, Math.ceil(window / 1_000))}` }
}

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
    const { perSecond } = settings
    const now = this.#now()
    const { each, window, policy } = termsOf(settings)
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
    return this.#counted(id, fullAt, now, settings)
  }

  /**
   * Counts so many more for a request that was let through, and gives the fields for its answer. However many they are, they are not
   * refused, or a batch beyond the burst would never pass: what is asked next waits for it.
   */
  charge(id: string, settings: RateSettings | undefined, more: number): Readonly<Record<string, string>> {
    if (!settings) return {}
    const now = this.#now()
    const fullAt = Math.max(this.#fullAt.get(id) ?? now, now) + (more * 1_000) / settings.perSecond
    return this.#counted(id, fullAt, now, settings)
  }

  #counted(id: string, fullAt: number, now: number, settings: RateSettings): Readonly<Record<string, string>> {
    const { each, window, policy } = termsOf(settings)
    this.#keep(id, fullAt, now)
    const left = Math.max(0, Math.floor((window - (fullAt - now)) / each + 1e-6))
    return { 'ratelimit-policy': policy, ratelimit: `"token";r=${left};t=${Math.ceil((fullAt - now) / 1_000)}` }
  }

  #keep(id: string, fullAt: number, now: number): void {
    this.#fullAt.set(id, fullAt)
    if (this.#fullAt.size <= MOST_KNOWN) return
    for (const [each, at] of this.#fullAt) if (at <= now) this.#fullAt.delete(each)
  }
}
