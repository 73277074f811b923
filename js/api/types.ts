/** The words of the public contract: what a task is, what is logged about it, what the events carry. No code. */

import type { RedriveError } from './errors.ts'

export type TaskStatus = 'PENDING' | 'IN_FLIGHT' | 'SUCCEEDED' | 'EXHAUSTED' | 'CANCELLED'
export type CircuitState = 'CLOSED' | 'OPEN' | 'HALF_OPEN'
export type RetryDecision = 'ENQUEUE' | 'FAIL_FAST' | 'CIRCUIT_OPEN'
export type Durability = 'memory' | 'relaxed' | 'strict' | 'replicated'

/** Which rule ended a task without success. */
export type ExhaustedReason =
  | 'max_attempts'
  | 'total_budget'
  | 'wait_exceeded'
  | 'not_retryable'
  | 'key_expired'
  | 'key_conflict'
  | 'expired'
  | 'retry_after_too_long'
  | 'outcome_unknown'
  | 'vetoed'
  | 'body_missing'

/** A request that failed for a passing reason, or was enqueued, and is kept until it ends. */
export interface RetryTask {
  /** UUIDv7. */
  readonly taskId: string
  /** The same for every attempt. null: a method that is safe to repeat, sent without one. */
  readonly idempotencyKey: string | null
  /** Absolute. */
  readonly targetUrl: string
  readonly method: string
  /** Only names on the list of headers that may be stored, in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** Names only, of what is on no list: sent from memory, never shown or stored. */
  readonly withheldHeaders: readonly string[]
  /** Absent: no body. */
  readonly bodyRef?: string
  readonly policyId: string
  readonly principal: string | null
  /** Attempts begun so far. */
  readonly attemptNumber: number
  /** Epoch ms; null while in flight or ended. */
  readonly nextAttemptAt: number | null
  /** Epoch ms of the call. */
  readonly createdAt: number
  readonly status: TaskStatus
  /** With EXHAUSTED. */
  readonly reason?: ExhaustedReason
}

export interface AttemptLog {
  readonly taskId: string
  readonly attemptNumber: number
  /** Epoch ms. */
  readonly startedAt: number
  readonly durationMs: number
  /** null: no response. */
  readonly responseStatus: number | null
  readonly errorMessage: string | null
  /** Why the next step was taken, in words: "503, Retry-After 120 s: next at 14:03:10". */
  readonly decision: string
  /** What was decided, as `explain` calls it. Absent: a version wrote it that did not say. */
  readonly kind?: DecisionKind
  /** The rest of it in numbers and codes: what is not in the fields above. */
  readonly data?: DecisionData
}

/** One decision about a task. */
export interface Decision {
  /** Epoch ms. */
  readonly at: number
  readonly kind: DecisionKind
  /** "503, Retry-After 120 s; next in 121.4 s, at 14:03:10 (the curve alone: 4 s)" */
  readonly text: string
  /** The same for programs. Absent: nothing but `kind` is known. */
  readonly data?: DecisionData
}

/**
 * What was decided: an attempt went out, waits for the next one, was given back (`released`, `parked`) or lost with its
 * process (`lost`), the task was put back from the dead letters or has ended. `waits` is no decision: what holds it now.
 */
export type DecisionKind =
  | 'queued'
  | 'attempt'
  | 'retry'
  | 'released'
  | 'parked'
  | 'lost'
  | 'redriven'
  | 'waits'
  | 'succeeded'
  | 'exhausted'
  | 'cancelled'

/** A decision in numbers and codes. Each field is there only where it is known and means something. Plain JSON. */
export interface DecisionData {
  /** With 'queued'. */
  readonly policyId?: string
  /** The first is 1. Of an attempt that was given back, the number it would have had. */
  readonly attemptNumber?: number
  readonly durationMs?: number
  readonly responseStatus?: number
  readonly errorMessage?: string
  /** From the end of the attempt to the next one. */
  readonly delayMs?: number
  /** What the curve alone would have waited. */
  readonly curveMs?: number
  /** What the server asked for, as it said it. */
  readonly serverDelayMs?: number
  /** It asked in a way that nobody can read. */
  readonly serverDelayUnreadable?: true
  /** Added to what the server asked for, so that not all come at once. */
  readonly spreadMs?: number
  /** Epoch ms. */
  readonly nextAttemptAt?: number
  /** Whether the attempt counts against `maxAttempts`. */
  readonly counted?: boolean
  /** The next attempt follows a 401: `credentials` is told. */
  readonly authorize?: true
  /** With 'released' and 'parked'. */
  readonly cause?: ReleaseCause
  /** With 'exhausted'. */
  readonly reason?: ExhaustedReason
  /** With 'waits': the first that holds it. */
  readonly gate?: Gate
  /** Epoch ms; when that gate opens if nothing changes. */
  readonly until?: number
  /** At 'behind': how many of its order come first, counted up to 1,000. */
  readonly ahead?: number
}

/**
 * Why an attempt was given back. 'principal': somebody else is there by now. 'page_hidden': its page was put away. 'lease': its
 * store would not have let it end in time, or did not give its body.
 */
export type ReleaseCause =
  | 'unauthorized'
  | 'credentials_failed'
  | 'credentials_missing'
  | 'offline'
  | 'paused'
  | 'principal'
  | 'page_hidden'
  | 'closing'
  | 'lease'

/** What stands between a task and its next attempt, in the order in which it is looked at. */
export type Gate =
  | 'in-flight'
  | 'started'
  | 'parked'
  | 'behind'
  | 'principal'
  | 'due'
  | 'lane-held'
  | 'lane-paused'
  | 'paused'
  | 'offline'
  | 'probing'
  | 'circuit-open'
  | 'circuit-probing'
  | 'retry-budget'
  | 'ramp'
  | 'lane-limit'
  | 'limit'
  | 'ready'

export interface AttemptContext {
  readonly attemptNumber: number
  /** Aborted when the attempt is cancelled, times out, or the queue closes. */
  readonly signal: AbortSignal
  /** The previous attempt was answered with 401: fetch a new token. */
  readonly unauthorized: boolean
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

export interface OriginStats {
  readonly depth: number
  readonly inFlight: number
  readonly circuit: CircuitState
  readonly heldUntilAt: number | null
  /** Tokens left of its retry budget; Infinity where there is none. */
  readonly retryBudget: number
}

export interface QueueStats {
  /** Tasks waiting or in flight. */
  readonly depth: number
  readonly capacity: number
  readonly inFlight: number
  readonly deadLetters: number
  /** Calls answered with a success at once; they never became a task. */
  readonly firstAttemptSucceeded: number
  readonly succeeded: number
  readonly exhausted: number
  readonly cancelled: number
  /** Every request sent, first attempts included. */
  readonly attempts: number
  readonly nextAttemptAt: number | null
  /** Answers whose Retry-After could not be read; the curve's wait was taken instead. */
  readonly unusableRetryAfter: number
  readonly origins: Readonly<Record<string, OriginStats>>
}

/** Why something works less well than asked. */
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
  | 'policy_missing'
  | 'sync_refused'

/**
 * Per task: `queued`, (`attempt`, `retry`)*, `attempt`, then one of `succeeded`, `exhausted`, `cancelled`, each before
 * the caller's promise settles. A caller's own first attempt has no events: a success makes no task, and a failure that
 * may pass shows as `queued`.
 */
export interface QueueEvents {
  queued: { task: RetryTask }
  /** Left in the store by an earlier page or process, taken up here. */
  resumed: { task: RetryTask }
  attempt: { task: RetryTask; context: AttemptContext }
  retry: { task: RetryTask; delayMs: number; log: AttemptLog }
  /** `response` is a clone, made only where somebody listens; null where the answer is no `Response` (Axios). */
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
