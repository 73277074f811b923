/** A policy as its users write it: when to try again and when to stop. One JSON value, the same in browser, Worker, Node and REST. */

export type JitterType =
  | 'NONE'
  | 'FULL'
  | 'EQUAL'
  | 'DECORRELATED'
  | 'ADDITIVE'
  | 'PROPORTIONAL'
  | 'DECORRELATED_CLAMPED'

export type BackoffStrategy =
  | 'exponential'
  | 'linear'
  | 'fixed'
  | 'polynomial'
  | 'sidekiq'
  | 'buckets'
  | 'padded_exponential'
  | 'spread'
  | 'table'

/** Marks of an answer whose request counts as delivered. */
export interface ExpectedAnswer {
  /** One of these statuses, 200 to 399. @default any below 400 that is not retried */
  readonly status?: readonly number[]
  /** The media type, such as 'application/json', without parameters: at most 255 characters. @default any */
  readonly contentType?: string
}

/**
 * A policy says when a failed request is sent again, and when it is given up. It is plain JSON, the same in a page, Node, a Worker and the
 * service. `presets` has complete ones; `npx @redrive/service plan` and the lab show the waits of any.
 *
 * Fields that are given hold for awaited calls and for those in the background (`enqueue`, `mode: 'defer'`, a Worker's 202, a task whose caller
 * is gone), but for `maxAttempts`. Where one is not given, the two differ: see `presets.interactive` and `presets.background`. One that shapes
 * a curve chooses the curve for both.
 */
export interface RetryPolicy {
  /** A name, which each of `policies` needs: it shows in tasks and metrics, and with it `maxAttempts` counts for enqueued and deferred calls, too. */
  readonly policyId: string
  /**
   * The curve of waits. exponential, linear and fixed are shaped by `initialDelayMs`, `multiplier`, `stepMs`,
   * `maxDelayMs` and `jitterType`; polynomial by `baseMs`, `exponent`, `jitterMs`; table by `delaysMs`; spread by
   * `initialDelayMs`, `multiplier`, `maxDelayMs`, `freshJitter`; the others are published curves with nothing to shape
   * but `maxDelayMs`. [backoff](https://github.com/redrive-dev/redrive/blob/main/docs/backoff.md) has the formulas. @default 'exponential', and 'spread' in the background
   */
  readonly strategy?: BackoffStrategy
  /**
   * Attempts of an awaited call in total, the first included, 1 to 1,000,000; 1 turns retrying off. Enqueued and deferred calls are retried for `totalBudgetMs` however many
   * attempts that takes; only the number of a call's own `redrive.policy`, or of a policy with a `policyId`, limits it, too. @default 12, or one for each 2.5 s of `waitMs` if that is more; 1_000_000 in the background
   */
  readonly maxAttempts?: number
  /** The first wait, before jitter; `maxDelayMs` where that is shorter. @default 500, and 1_000 in the background */
  readonly initialDelayMs?: number
  /** exponential: each wait is this many times the one before. 1, or 1.01 to 100. @default 2 */
  readonly multiplier?: number
  /** The longest wait of the curve. A longer Retry-After still applies in full. @default 8_000 for exponential and linear, or `initialDelayMs` where that is longer; 47_000 for spread; 600_000 for these three in the background; none for the others */
  readonly maxDelayMs?: number
  /**
   * The time that a task has from its call on, in milliseconds: an attempt that could not end within it is not made. At most `keyTtlMs`, with
   * or without a key: for a longer time set `keyTtlMs` alone. @default keyTtlMs
   */
  readonly totalBudgetMs?: number
  /** The random part of the waits of exponential, linear and fixed; the other strategies have their own. @default 'FULL' */
  readonly jitterType?: JitterType
  /** PROPORTIONAL: the share of the wait that varies, 0 to 1. @default 0.2 */
  readonly jitterRatio?: number
  /** spread: the share of the wait that is drawn anew each time, 0 to 0.5. @default 0.1 */
  readonly freshJitter?: number
  /** linear: added for each further retry. @default initialDelayMs */
  readonly stepMs?: number
  /** polynomial: the constant part. All three of them or none. @default 15_000 */
  readonly baseMs?: number
  /** polynomial: the retry's number, to this power, in seconds. 0 to 8, fractions allowed. @default 4 */
  readonly exponent?: number
  /** polynomial: the most that the random part adds, times the retry's number. @default 30_000 */
  readonly jitterMs?: number
  /** table: the waits, the last one repeated. 1 to 1,000 of them. @default none: 'table' needs them */
  readonly delaysMs?: readonly number[]
  /**
   * Statuses to retry, 200 to 599: each that is listed, even 400 and 422. 'broad': 408, 425, 429, 500, 502, 503, 504 and 520
   * to 524. Whatever the list says, a 409 to a request with a key is retried after an attempt that may have reached the server, or
   * with a `Retry-After`: the server is still at work on it. So is a 403 with a `Retry-After`,
   * or of a quota that is used up and begins anew later: it is a limit.
   * @default [408, 429, 502, 503, 504]
   */
  readonly retryableStatusCodes?: readonly number[] | 'broad'
  /**
   * The answer that a task has to get: another one, such as a login page, ends the task 'not_retryable', unless its status is retried. The
   * answer to a caller's own first attempt is the caller's to judge. @default none: any status below 400 that is not retried
   */
  readonly expect?: ExpectedAnswer
  /** Retry after a lost connection. @default true */
  readonly retryNetworkErrors?: boolean
  /** Retry after an attempt without an answer in time: `attemptTimeoutMs`, or a limit of the transport. @default true */
  readonly retryTimeouts?: boolean
  /** The time limit of one attempt, up to the headers of its answer, in milliseconds; 0: none. An attempt that has begun has all of it, even beyond `totalBudgetMs`. Where none is given, outside pages, the first attempt of an awaited call stays as long as its server answers no one. @default 10_000, and the time that the request's body needs at 50 KB/s; twice that for an attempt that follows one without an answer */
  readonly attemptTimeoutMs?: number
  /** How long one attempt is expected to take, in milliseconds, to see if it fits the budget. @default a moving average */
  readonly estimatedCallMs?: number
  /**
   * The longest wait that a server may ask for (`Retry-After`, `retry-after-ms`, a rate limit's reset). Beyond that there is no retry: the
   * caller gets the answer, and the task ends 'retry_after_too_long'. @default 86_400_000
   */
  readonly maxRetryAfterMs?: number
  /** How long the server remembers a key, in milliseconds from the first attempt: no attempt starts later, and the task ends 'total_budget', or 'key_expired' where it was put back since. @default 86_400_000 */
  readonly keyTtlMs?: number
}

/** The delays that a table needs. */
export type TableDelays =
  | { readonly strategy?: Exclude<BackoffStrategy, 'table'> }
  | { readonly delaysMs: readonly number[] }

/**
 * A policy as it is given: 'table' comes with its delays.
 *
 * @example
 * const policy: RetryPolicy = { policyId: 'webhooks', strategy: 'table', delaysMs: [5_000, 300_000, 1_800_000], maxAttempts: 4 }
 */
export type GivenPolicy = RetryPolicy & TableDelays
