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

export interface RetryPolicy {
  /** A label: it shows in tasks and metrics. */
  readonly policyId: string
  /**
   * The curve of waits. exponential, linear and fixed are shaped by `initialDelayMs`, `multiplier`, `stepMs`,
   * `maxDelayMs` and `jitterType`; polynomial by `baseMs`, `exponent`, `jitterMs`; table by `delaysMs`; spread by
   * `initialDelayMs`, `multiplier`, `maxDelayMs`, `freshJitter`; the others are published curves with nothing to shape
   * but `maxDelayMs`. docs/backoff.md has the formulas. @default 'exponential'
   */
  readonly strategy?: BackoffStrategy
  /** Attempts in total, the first included; 1 turns retrying off. 1..=100. @default 5 */
  readonly maxAttempts?: number
  /** The first wait, before jitter. @default 500 */
  readonly initialDelayMs?: number
  /** exponential: each wait is this many times the one before. 1, or 1.01..=100. @default 2 */
  readonly multiplier?: number
  /** Longest wait the curve gives. A longer Retry-After is never shortened to it. @default 30_000 for exponential and linear, 47_000 for spread, none for the others */
  readonly maxDelayMs?: number
  /** From createdAt; an attempt that could not end inside it is not made. @default 86_400_000 */
  readonly totalBudgetMs?: number
  /** How chance spreads the waits of exponential, linear and fixed; the other strategies bring their own. @default 'FULL' */
  readonly jitterType?: JitterType
  /** PROPORTIONAL: the share of the wait that varies, 0..=1. @default 0.2 */
  readonly jitterRatio?: number
  /** spread: the share that is drawn anew each time, 0..=0.5. @default 0.1 */
  readonly freshJitter?: number
  /** linear: added for each further retry. @default initialDelayMs */
  readonly stepMs?: number
  /** polynomial: the constant part. All three of them or none. @default 15_000 */
  readonly baseMs?: number
  /** polynomial: the retry's number, to this power, in seconds. 0..=8, fractions allowed. @default 4 */
  readonly exponent?: number
  /** polynomial: the most that chance adds, times the retry's number. @default 30_000 */
  readonly jitterMs?: number
  /** table: the waits, the last one repeated. 1 to 1,000 of them. */
  readonly delaysMs?: readonly number[]
  /** Answers worth another attempt, 100..=599. @default [429, 502, 503, 504] */
  readonly retryableStatusCodes?: readonly number[]
  /** Whether no answer at all (connection lost, timeout) is worth another attempt. @default true */
  readonly retryNetworkErrors?: boolean
  /** Time to response headers; 0: none. The body is the caller's. @default 30_000 */
  readonly attemptTimeoutMs?: number
  /** The time that one call is expected to take, for the budget check; a moving average when absent. */
  readonly estimatedCallMs?: number
  /** A server delay longer than this ends the task, 'retry_after_too_long'. @default 86_400_000 */
  readonly maxServerDelayMs?: number
  /** How long the server remembers a key, from the first attempt: no attempt starts later, and the task ends 'key_expired'. @default 86_400_000 */
  readonly keyTtlMs?: number
}
