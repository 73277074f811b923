/** The options of the gates before a retry, and their checks. The defaults are the core's. */

import { flag, fn, int, ms, num, oneOf, type Rules } from './check.ts'

/** When a breaker opens, for how long, and what closes it. A breaker knows of its own process only, and is never stored. */
export interface BreakerOptions {
  /**
   * A server that answers this share of its attempts, or more, works, however often it fails; 0.01 to 1. Opens where such a server
   * would fail so often in a row less than once in a thousand times, and so would this one by its record of the last minute: after 5
   * failures in a row of a server that has hardly failed, after 31 of one that answers a fifth. 1: after the first. @default 0.2
   */
  readonly fairShare?: number
  /**
   * And only where nothing has succeeded for so long, since the first attempt that failed began. Where each failure came sooner than that,
   * an awaited call still passes until the row is too long for a server that answers `fairShare`. 0 or more. @default 2_500
   */
  readonly afterMs?: number
  /** The longest that it stays open the first time, times 0.5 to 1; doubled each time its probe fails. 1 or more. @default 1_000 */
  readonly openMs?: number
  /**
   * The longest that it ever stays open, before the same share of chance; then one attempt may see how the server does. How often it
   * is asked from then on is the ramp's matter. 1 or more. @default 4_000
   */
  readonly maxOpenMs?: number
  /**
   * The fate of an awaited call while OPEN. Enqueued and deferred calls wait in any case.
   * - 'wait': it waits, unsent, for as long as its `waitMs`. Where the circuit stays open for longer it fails at once.
   * - 'fail': it fails at once: with what `fallback` gives or with CircuitOpenError; if it was sent already, with its last answer.
   * - 'hold': it is sent once, and its retries wait for as long as its caller does; so do those of deferred calls.
   * @default 'wait'; with a `fallback` 'fail'
   */
  readonly whenOpen?: 'wait' | 'fail' | 'hold'
  /** Answers a call that would fail so before it was sent: from a cache, say, within its `waitMs`. undefined: it fails. @default none: such a call fails */
  readonly fallback?: (request: Request) => Response | undefined | Promise<Response | undefined>
  /** A retry storm (`alert`) opens it at once. @default false */
  readonly openOnStorm?: boolean
}

/** A retry costs a token; with none left it is put off by its next delay, and not counted. It is never dropped for it. */
export interface RetryBudgetOptions {
  /** The most tokens, and the first: a burst of so many retries. 1 to 1,000,000. @default 100 */
  readonly capacity?: number
  /** Tokens that a success brings back. @default 2 */
  readonly perSuccess?: number
  /** Tokens that a second brings back. @default 1 */
  readonly perSecond?: number
}

/** A token bucket for each origin (of each principal). Each process has its own, and none is stored. */
export interface RateOptions {
  /** Attempts per second, over any longer time. 0.001 to 1,000,000. */
  readonly perSecond: number
  /** Attempts that may start at once after a pause. 1 to 1,000,000. @default 1 */
  readonly burst?: number
}

const tokens = num(0, 1e6)

export const BREAKER_RULES: Rules<BreakerOptions> = {
  fairShare: num(0.01, 1),
  afterMs: ms(0),
  openMs: ms(1),
  maxOpenMs: ms(1),
  whenOpen: oneOf('wait', 'fail', 'hold'),
  fallback: fn,
  openOnStorm: flag,
}

export const BUDGET_RULES: Rules<RetryBudgetOptions> = { capacity: num(1, 1e6), perSuccess: tokens, perSecond: tokens }

export const RATE_RULES: Rules<RateOptions> = { perSecond: num(0.001, 1e6), burst: int(1, 1e6) }
