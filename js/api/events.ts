/** The events of a queue. */

import type { AttemptContext, AttemptLog, CircuitState, ExhaustedReason, RetryTask } from './task.ts'

/** The reason why something works less well than asked. */
export type DegradedCode =
  | 'core_unreachable'
  | 'wasm_refused'
  | 'storage_unavailable'
  | 'storage_full'
  | 'storage_evicted'
  | 'storage_replaced'
  | 'storage_damaged'
  | 'headers_withheld'
  | 'url_secret'
  | 'key_origin_missing'
  | 'credentials_failed'
  | 'credentials_missing'
  | 'maybe_cors'
  | 'hook_threw'
  | 'unreadable_record'
  | 'dead_letters_trimmed'
  | 'sync_refused'

/**
 * Per task: `queued`, (`attempt`, `retry`)*, `attempt`, then one of `succeeded`, `exhausted`, `cancelled`, each before
 * the caller's promise settles. A caller's own first attempt has no events: a success makes no task, and a transient failure
 * shows as `queued`.
 */
export interface QueueEvents {
  queued: { task: RetryTask }
  /** Left in the store by an earlier page or process, taken up here. */
  resumed: { task: RetryTask }
  attempt: { task: RetryTask; context: AttemptContext }
  retry: { task: RetryTask; delayMs: number; log: AttemptLog }
  /**
   * `response` is a clone, made only for a queue that has a listener; null where the answer is no `Response` (Axios). Begin to read
   * its body before anything is awaited: of one that no listener reads 64 KiB are kept that came within 250 ms, or nothing if it is longer.
   */
  succeeded: { task: RetryTask; response: Response | null }
  exhausted: { task: RetryTask; reason: ExhaustedReason }
  cancelled: { task: RetryTask }
  /** A replay met 401 twice: parked until `resume`. */
  unauthorized: { task: RetryTask }
  /** A breaker changed its state. From OPEN to HALF_OPEN it goes when something waits for it. */
  circuit: { origin: string; from: CircuitState; to: CircuitState }
  /** The message says what still works and what to do. */
  degraded: { code: DegradedCode; message: string }
  /**
   * Worth paging for. 'queue_depth': over 80 % of the capacity is taken, dead letters included; again after it was under 60 %. 'dead_letter_rate': over 5 in
   * a minute, once a minute. 'retry_storm': for each success of an origin over 10 tasks whose first attempt failed, 20
   * of them or more, in 10 s.
   */
  alert: { kind: 'queue_depth' | 'dead_letter_rate' | 'retry_storm'; value: number; threshold: number }
  idle: Record<string, never>
}
