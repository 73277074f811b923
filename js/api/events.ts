/** The events of a queue. */

import type { RetryNotice } from './hooks.ts'
import type { AttemptContext, CircuitState, ExhaustedReason, RetryTask } from './task.ts'
import type { ExhaustedError } from './task-errors.ts'

/** The reason why something works less well than asked. */
export type DegradedCode =
  | 'core_unreachable'
  | 'wasm_refused'
  | 'options_refused'
  | 'storage_unavailable'
  | 'storage_full'
  | 'storage_evicted'
  | 'storage_replaced'
  | 'storage_damaged'
  | 'storage_unsafe'
  | 'headers_withheld'
  | 'url_secret'
  | 'key_origin_missing'
  | 'not_idempotent'
  | 'not_replayable'
  | 'body_too_large'
  | 'not_durable'
  | 'credentials_failed'
  | 'credentials_missing'
  | 'sign_failed'
  | 'maybe_cors'
  | 'redirected_to_page'
  | 'hook_threw'
  | 'time_faked'
  | 'unreadable_record'
  | 'dead_letters_trimmed'
  | 'sync_refused'
  | 'object_misconfigured'

/**
 * Per task: `queued`, (`attempt`, `retry`)*, `attempt`, then one of `succeeded`, `exhausted`, `cancelled`, each before
 * the caller's promise settles. A caller's own first attempt has no `attempt`: a success makes no task, and a transient failure
 * shows as `queued` and `retry`.
 */
export interface QueueEvents {
  queued: { task: RetryTask }
  /** Left in the store by an earlier page or process, taken up here. */
  resumed: { task: RetryTask }
  attempt: { task: RetryTask; context: AttemptContext }
  /** An attempt failed, the caller's own first one included, and another follows. */
  retry: RetryNotice
  /**
   * `response` is a clone, made only for a queue that has a listener; null where the answer is no `Response` (Axios), or was read already.
   * Begin to read its body before anything is awaited: of one that no listener reads 64 KiB are kept that came within 250 ms, or nothing if
   * it is longer.
   */
  succeeded: { task: RetryTask; response: Response | null }
  /**
   * `attempts`: those that counted. `responseStatus` of the last answer; null: the last attempt had none, or was not made here. `error` has
   * all of it in words, with what to do next.
   */
  exhausted: {
    task: RetryTask
    reason: ExhaustedReason
    attempts: number
    responseStatus: number | null
    error: ExhaustedError
  }
  cancelled: { task: RetryTask }
  /** A replay met 401 twice: parked until `resume`. */
  unauthorized: { task: RetryTask }
  /** A breaker changed its state. From OPEN to HALF_OPEN it goes when something waits for it. */
  circuit: { origin: string; from: CircuitState; to: CircuitState }
  /** The message says what still works and what to do. `origin`, with 'credentials_missing': the one it is about, if it is one. */
  degraded: {
    code: DegradedCode
    message: string
    origin?: string
    /** With 'dead_letters_trimmed': whose they were, and which. */
    principal?: string | null
    taskIds?: readonly string[]
  }
  /**
   * Worth paging for. 'queue_depth': over 80 % of the capacity is taken, dead letters included; again after it was under 60 %. 'dead_letter_rate': over 5 in
   * a minute, once a minute. 'retry_storm': for each success of an origin over 10 tasks whose first attempt failed, 20
   * of them or more, in 10 s. `message` says it in words.
   */
  alert: {
    kind: 'queue_depth' | 'dead_letter_rate' | 'retry_storm'
    message: string
    value: number
    threshold: number
    /** With a 'retry_storm'. */
    origin?: string | undefined
  }
  idle: Record<string, never>
}

/** The names of all events. */
export const EVENTS: readonly (keyof QueueEvents)[] = [
  'queued',
  'resumed',
  'attempt',
  'retry',
  'succeeded',
  'exhausted',
  'cancelled',
  'unauthorized',
  'circuit',
  'degraded',
  'alert',
  'idle',
]
