/** The events of a queue, and what its methods take and give beside tasks. */

import type { RedriveError } from './errors.ts'
import type {
  AttemptContext,
  AttemptLog,
  CircuitState,
  Durability,
  ExhaustedReason,
  RetryTask,
  TaskStatus,
} from './task.ts'

/** The reason why something works less well than asked. */
export type DegradedCode =
  | 'core_unreachable'
  | 'wasm_refused'
  | 'storage_unavailable'
  | 'storage_full'
  | 'storage_evicted'
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
  /** `response` is a clone, made only for a queue that has a listener; null where the answer is no `Response` (Axios). */
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
   * Worth paging for. 'queue_depth': over 80 % of the capacity; again after it was under 60 %. 'dead_letter_rate': over 5 in
   * a minute, once a minute. 'retry_storm': for each success of an origin over 10 tasks whose first attempt failed, 20
   * of them or more, in 10 s.
   */
  alert: { kind: 'queue_depth' | 'dead_letter_rate' | 'retry_storm'; value: number; threshold: number }
  idle: Record<string, never>
}

export interface EnqueueReceipt {
  readonly taskId: string
  readonly idempotencyKey: string | null
  readonly durability: Durability
  readonly deduplicated: boolean
}

export interface TaskOutcome {
  readonly task: RetryTask
  readonly responseStatus: number | null
  /** Absent with SUCCEEDED. */
  readonly error?: RedriveError
}

export interface PageOptions {
  /** 1..=1000. @default 100 */
  readonly limit?: number
  /** From the page before. */
  readonly cursor?: string
}

export interface ListFilter extends PageOptions {
  readonly status?: TaskStatus
  readonly origin?: string
}

export interface TaskPage {
  readonly tasks: readonly RetryTask[]
  /** Absent on the last page. */
  readonly cursor?: string
}

export interface RedriveAllOptions {
  /** At most this many go back per second. @default all at once; the queue's limits hold anyway */
  readonly perSecond?: number
  readonly acceptDuplicateRisk?: boolean
  /** Stops between two tasks; those already put back stay. */
  readonly signal?: AbortSignal
  readonly onProgress?: (done: number, total: number) => void
}

/** Tasks that were given up, kept until they are redriven, purged, or past their retention. */
export interface DeadLetters {
  list(options?: PageOptions): Promise<TaskPage>
  /** Puts it back with its key and history, attempts counted anew. Past keyTtlMs it needs acceptDuplicateRisk. */
  redrive(taskId: string, options?: { readonly acceptDuplicateRisk?: boolean }): Promise<RetryTask>
  /** Resolves with how many went back; those past keyTtlMs stay unless acceptDuplicateRisk. */
  redriveAll(options?: RedriveAllOptions): Promise<number>
  /** Deletes one, or all; resolves with how many. */
  purge(taskId?: string): Promise<number>
  /**
   * All dead letters with their attempts as JSON text: ids, URLs as shown, methods, sanitized headers, reasons, attempt
   * logs; never a body or a credential.
   */
  export(): Promise<string>
}
