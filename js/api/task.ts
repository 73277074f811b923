/** A task as its users see it: what it is, what was done about it and why, and what stands between it and its next attempt. */

export type TaskStatus = 'PENDING' | 'IN_FLIGHT' | 'SUCCEEDED' | 'EXHAUSTED' | 'CANCELLED'

export type CircuitState = 'CLOSED' | 'OPEN' | 'HALF_OPEN'

export type RetryDecision = 'ENQUEUE' | 'FAIL_FAST' | 'CIRCUIT_OPEN'

export type Durability = 'memory' | 'relaxed' | 'strict' | 'replicated'

/** The rule that ended a task without success. */
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
  | 'target_refused'
  | 'circuit_open'
  | 'closed'

/** All that `redrive.reason` of a call that was given up, or not tried again, may say. */
export type GivenUpReason = ExhaustedReason | NotRetriedReason

/** Not `unknown`, nor a type that has itself in it: the types of Cloudflare's RPC let neither through. */
type MetaValue = string | number | boolean | object | null
/** Plain JSON. */
export type JsonObject = Readonly<Record<string, MetaValue>>

/** The words that its caller gave a task to be known by. They are shown and stored as they are, and never sent. */
export interface Labels {
  /** Plain JSON, frozen. Absent: none was given. */
  readonly meta?: JsonObject
  /** Each once. Absent: none was given. */
  readonly tags?: readonly string[]
}

/**
 * Why a call whose first attempt failed for a transient reason was not tried again, and no task was made of it. 'key_origin_missing': its origin is not in
 * `idempotency.origins`. 'not_idempotent': its method is unsafe and it has no key. 'body_too_large': over `maxBodyBytes`. 'not_durable': deferred in a durable queue that cannot store it. 'queue_full': see `capacity`. 'core_unavailable': the core is not loaded, or not yet.
 */
export type NotRetriedReason =
  | 'key_origin_missing'
  | 'not_idempotent'
  | 'body_too_large'
  | 'not_durable'
  | 'queue_full'
  | 'core_unavailable'

/** A request that failed for a transient reason, or was enqueued, and is kept until it ends. */
export interface RetryTask extends Labels {
  /** UUIDv7. */
  readonly taskId: string
  /** One key for all attempts. null: a method that is safe to repeat, sent without one. */
  readonly idempotencyKey: string | null
  /** Absolute. */
  readonly targetUrl: string
  readonly method: string
  /** Only names on the list of headers that may be stored, in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** Names of credentials, and of headers that are on no list: sent from memory, their values never shown or stored. */
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
  /** The decision, as `explain` calls it. Absent: written by a version that did not record it. */
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
  /** The decision in numbers and codes. Absent: nothing but `kind` is known. */
  readonly data?: DecisionData
}

/**
 * The kinds of decision: an attempt went out, waits for the next one, was given back (`released`, `parked`) or lost with its
 * process (`lost`), the task was put back from the dead letters or has ended. `waits` is no decision: it says what holds the task now.
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
  /** The wait that the curve alone would have chosen. */
  readonly curveMs?: number
  /** The wait that the server asked for, as it was given. */
  readonly serverDelayMs?: number
  /** The server asked for a wait in a form that cannot be read. */
  readonly serverDelayUnreadable?: true
  /** Added to what the server asked for, so that not all come at once. */
  readonly spreadMs?: number
  /** Epoch ms. */
  readonly nextAttemptAt?: number
  /** Whether the attempt counts against `maxAttempts`. */
  readonly counted?: boolean
  /** The next attempt follows a 401: `credentials` is called with `unauthorized`. */
  readonly authorize?: true
  /** With 'released' and 'parked'. */
  readonly cause?: ReleaseCause
  /** A redirect has answered the request, by this attempt or before: the URL of the GET that it made of it, which is all that is sent from then on. */
  readonly seeOther?: string
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
 * Why an attempt was given back. 'in_progress': its server still works on an earlier one. 'principal': the current principal is another one. 'page_hidden': its page was put away. 'lease':
 * its lease would have run out before the attempt could end, or the store did not give its body.
 */
export type ReleaseCause =
  | 'unauthorized'
  | 'in_progress'
  | 'credentials_failed'
  | 'credentials_missing'
  | 'sign_failed'
  | 'offline'
  | 'paused'
  | 'principal'
  | 'page_hidden'
  | 'closing'
  | 'lease'

/** The gates between a task and its next attempt, in the order in which they are looked at. */
export type Gate =
  | 'in-flight'
  | 'started'
  | 'parked'
  | 'needs'
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
  | 'rate'
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
