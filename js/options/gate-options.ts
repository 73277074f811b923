/** The options of the gates before a retry, and their checks. The defaults are the core's. */

import { flag, fn, int, ms, num, oneOf, type Rules } from './check.ts'

/** When a breaker opens, for how long, and what closes it. A breaker knows of its own process only, and is never stored. */
export interface BreakerOptions {
  /** Opens after so many attempts in a row failed for a transient reason. 1 or more. @default 5 */
  readonly consecutiveFailures?: number
  /** Opens where this share of the recent attempts failed, 0..=1; and at least `minimumAttempts` were made. @default 0.5 */
  readonly failureRatio?: number
  /** @default 20 */
  readonly minimumAttempts?: number
  /** The time that counts as recent, for `failureRatio`. 1 or more. @default 10_000 */
  readonly windowMs?: number
  /** How long it stays open the first time, times 0.75 to 1.25; doubled each time its probe fails. @default 5_000 */
  readonly openMs?: number
  /** The longest, before the same share of chance. @default 60_000 */
  readonly maxOpenMs?: number
  /** Half-open, one attempt at a time is made; so many healthy answers in a row close it. @default 5 */
  readonly closeAfter?: number
  /**
   * While OPEN: 'hold' keeps retries waiting, and new calls are sent once as ever; 'fail' ends new calls at once with
   * CircuitOpenError, or with what `fallback` gives. @default 'hold', with a `fallback` 'fail'
   */
  readonly whenOpen?: 'hold' | 'fail'
  /** Answers a call that would fail so: from a cache, say. undefined: it fails. */
  readonly fallback?: (request: Request) => Response | undefined | Promise<Response | undefined>
  /** A retry storm (`alert`) opens it at once. @default false */
  readonly openOnStorm?: boolean
}

/** A retry costs a token; with none left it is put off by its next delay, and not counted. It is never dropped for it. */
export interface RetryBudgetOptions {
  /** The most tokens, and the first. 1..=1_000_000. @default 10; in browsers 1_000 */
  readonly capacity?: number
  /** Tokens that a success brings back. @default 0.2 */
  readonly perSuccess?: number
  /** Tokens that a second brings back. @default 0.1 */
  readonly perSecond?: number
}

const count = int(1, 1e6)
const tokens = num(0, 1e6)

export const BREAKER_RULES: Rules<BreakerOptions> = {
  consecutiveFailures: count,
  minimumAttempts: count,
  closeAfter: count,
  failureRatio: num(0, 1),
  windowMs: ms(1),
  openMs: ms(1),
  maxOpenMs: ms(1),
  whenOpen: oneOf('string', 'hold', 'fail'),
  fallback: fn,
  openOnStorm: flag,
}

export const BUDGET_RULES: Rules<RetryBudgetOptions> = { capacity: num(1, 1e6), perSuccess: tokens, perSecond: tokens }
