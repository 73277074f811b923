/** The hooks that are asked between an attempt that failed and the next one. They are functions, so none is ever stored. */

import type { AttemptLog, RetryTask } from './task.ts'

/** An attempt that failed, as `shouldRetry` and `delay` are asked about it. */
export interface RetryContext {
  /** The attempt that failed; the first is 1. */
  readonly attemptNumber: number
  /** undefined: the call is no task yet, as after its first attempt. */
  readonly taskId: string | undefined
  /** null: there was no answer. */
  readonly response: { readonly status: number; readonly headers: { get(name: string): string | null } } | null
  /** The error as it was thrown, with what headers its transport puts there: a lost connection, or a `TimeoutError`. undefined where there is an answer. */
  readonly error: unknown
  readonly request: {
    /** Upper case. */
    readonly method: string
    /** Absolute. */
    readonly url: string
    /** A copy of those that the caller has sent; of a stored task those that were stored. */
    readonly headers: Headers
    readonly idempotencyKey: string | null
    /** The body can be sent again, and to repeat the request does no harm. Where it is false, `shouldRetry` cannot widen. */
    readonly isReplayable: boolean
  }
}

/** A retry that follows, as `on('retry')` and `onRetry` hear of it. */
export interface RetryNotice {
  readonly task: RetryTask
  /** The task's own wait, in milliseconds. Where its origin is left alone for longer, `log.data.nextAttemptAt` says until when. */
  readonly delayMs: number
  /** null: there was no answer. */
  readonly status: number | null
  /** Its words, without secrets; null where there is an answer. */
  readonly error: string | null
  readonly log: AttemptLog
}

export interface RetryHooks {
  /**
   * Asked after each attempt that failed, the first one included, before anything is decided: `true` tries again what would not be
   * (a 500, a 404), `false` ends it as 'vetoed', undefined leaves it to the policy. `true` lifts no limit (`maxAttempts`,
   * `totalBudgetMs`, `waitMs`, `keyTtlMs`, `maxRetryAfterMs`, the gates) and repeats nothing that must not be: no unsafe request
   * without a key, no body that cannot be sent again. Not asked about a success or an abort.
   *
   * May be async, for 5 s at most. What it throws is what the call rejects with, and the task ends; where no caller waits,
   * `degraded` 'hook_threw' says so and the policy decides, so that a mistake here loses no task. A function is not stored: a task
   * that outlives its process goes by the hooks of the queue that takes it up.
   * @default none: the policy decides
   */
  readonly shouldRetry?: (context: RetryContext) => boolean | undefined | Promise<boolean | undefined>
  /**
   * The wait before the next attempt, in milliseconds, in place of the policy's curve; undefined leaves it to the curve. A server's
   * own wait is never shortened to it. Asked with `shouldRetry`, also where no attempt follows; async and throwing as that.
   * @default none: the policy's curve
   */
  readonly delay?: (context: RetryContext) => number | undefined | Promise<number | undefined>
}
