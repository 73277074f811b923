/** A task as this process holds it, and as it is shown to others. */

import type { Finished } from './attempt.ts'
import type { Call } from './request.ts'
import type { AttemptLog, ExhaustedReason, RetryTask, TaskOutcome, TaskStatus } from './types.ts'

/** Whoever waits for the answer. */
export interface Waiter {
  resolve(value: unknown): void
  reject(error: unknown): void
}

/** One line of the attempt log; words are made when somebody reads it. */
export interface Entry {
  readonly attemptNumber: number
  readonly startedAt: number
  readonly durationMs: number
  readonly status: number
  readonly error: string | null
  /** The server's wait in ms; NaN: it named none. */
  readonly serverDelayMs: number
  readonly next: string
  /** When the next attempt is due; NaN: there is none. */
  readonly nextAt: number
}

/** "the last 100 are kept" */
const MAX_ENTRIES = 100
const NO_ENTRIES: readonly Entry[] = []

export class Task {
  readonly taskId: string
  readonly createdAt: number
  readonly principal: string | null
  readonly method: string
  readonly url: string
  readonly origin: string
  readonly key: string | null
  readonly policyId: string
  readonly hasBody: boolean
  /** Gone once the task succeeded or was cancelled: an ended row keeps no headers and no body. */
  call: Call | null
  /** The core's handle while the task waits or runs. */
  slot = -1
  /** `queued` was emitted. */
  announced = false
  status: TaskStatus = 'PENDING'
  reason: ExhaustedReason | undefined
  attemptNumber = 0
  nextAttemptAt: number | null = null
  endedAt = 0
  /** The next attempt follows a 401. */
  unauthorized = false
  cancelRequested = false
  controller: AbortController | undefined
  waiter: Waiter | undefined
  /** Stops listening to the caller's signal. */
  unlink: (() => void) | undefined
  /** The last attempt, whose answer the caller gets if there is no better one. */
  last: Finished | undefined
  entries: readonly Entry[] = NO_ENTRIES
  /** Of the last attempt; 0: it had no response. */
  lastStatus = 0
  /** Callers of `result()`. */
  outcome: { readonly promise: Promise<TaskOutcome>; readonly resolve: (outcome: TaskOutcome) => void } | undefined
  #shown: { readonly headers: Readonly<Record<string, string>>; readonly withheld: readonly string[] } | undefined

  constructor(taskId: string, createdAt: number, principal: string | null, call: Call) {
    this.taskId = taskId
    this.createdAt = createdAt
    this.principal = principal
    this.method = call.method
    this.url = call.url
    this.origin = call.origin
    this.key = call.key
    this.policyId = call.policy.policyId
    this.hasBody = call.hasBody
    this.call = call
  }

  /** Method and target for messages, without the query, which may hold a secret. */
  get what(): string {
    return `${this.method} ${this.url.split(/[?#]/, 1)[0]}`
  }

  log(entry: Entry): void {
    // a copy of just the right size: most tasks log a line or two, and push would reserve room for seventeen
    this.entries = [...this.entries.slice(1 - MAX_ENTRIES), entry]
  }

  /** `kept` says which of the names may be shown and stored: the core's list. */
  show(kept: (names: string) => Uint8Array): RetryTask {
    this.#shown ??= sanitize(this.call?.headers ?? new Headers(), kept)
    const shown: { -readonly [K in keyof RetryTask]: RetryTask[K] } = {
      taskId: this.taskId,
      idempotencyKey: this.key,
      targetUrl: this.url,
      method: this.method,
      headers: this.#shown.headers,
      withheldHeaders: this.#shown.withheld,
      policyId: this.policyId,
      principal: this.principal,
      attemptNumber: this.attemptNumber,
      nextAttemptAt: this.nextAttemptAt,
      createdAt: this.createdAt,
      status: this.status,
    }
    if (this.hasBody && this.call) shown.bodyRef = 'inline'
    if (this.reason) shown.reason = this.reason
    return shown
  }

  /** Back from the dead letters: key and history stay, attempts are counted anew. */
  revive(): void {
    this.status = 'PENDING'
    this.reason = undefined
    this.attemptNumber = 0
    this.unauthorized = false
    this.cancelRequested = false
  }

  /** Forgets the request. */
  strip(): void {
    this.call = null
    this.#shown = undefined
  }
}

function sanitize(headers: Headers, kept: (names: string) => Uint8Array) {
  const all = [...headers]
  const keep = all.length > 0 ? kept(all.map(([name]) => name).join('\n')) : []
  return {
    // shared by everybody the task is shown to
    headers: Object.freeze(Object.fromEntries(all.filter((_, i) => keep[i] === 1))),
    withheld: Object.freeze(all.filter((_, i) => keep[i] !== 1).map(([name]) => name)),
  }
}

/** The public form of a log line. */
export function showEntry(taskId: string, entry: Entry): AttemptLog {
  const { attemptNumber, startedAt, durationMs, status, error } = entry
  const decision = explain(entry)
  return { taskId, attemptNumber, startedAt, durationMs, responseStatus: status || null, errorMessage: error, decision }
}

/** "503, Retry-After 120 s: next at 14:03:10" (UTC). */
function explain({ status, error, serverDelayMs, next, nextAt }: Entry): string {
  const happened = status ? String(status) : (error ?? 'not sent')
  const asked = Number.isNaN(serverDelayMs) ? '' : `, Retry-After ${serverDelayMs / 1000} s`
  const at = Number.isNaN(nextAt) ? '' : ` at ${new Date(nextAt).toISOString().slice(11, 19)}`
  return `${happened}${asked}: ${next}${at}`
}

/** The log from `cursor` on, an index; oldest first. */
export function showEntries(
  { taskId, entries }: Task,
  { limit = 100, cursor = '0' }: { readonly limit?: number; readonly cursor?: string },
): { attempts: readonly AttemptLog[]; cursor?: string } {
  const from = Number(cursor)
  const to = from + Math.max(1, Math.floor(limit))
  const attempts = entries.slice(from, to).map((entry) => showEntry(taskId, entry))
  return to < entries.length ? { attempts, cursor: String(to) } : { attempts }
}

/** The trace id of a W3C traceparent header. */
export function traceIdOf(headers: Headers): string | undefined {
  return /^[\da-f]{2}-([\da-f]{32})-/.exec(headers.get('traceparent') ?? '')?.[1]
}
