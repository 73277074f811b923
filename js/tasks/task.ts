/** A task as this process holds it, and the form in which it is shown. */

import type { TaskOutcome } from '../api/methods.ts'
import type { StoredTask } from '../api/store.ts'
import type { ExhaustedReason, Labels, RetryTask, TaskStatus } from '../api/task.ts'
import type { Finished } from '../call/attempt.ts'
import type { Call } from '../call/call.ts'
import type { RepeatAnswer } from '../call/transport.ts'
import type { Sanitizer } from '../core/sanitizer.ts'
import type { TaskOptions } from '../options/task-options.ts'
import { FOREVER } from '../platform/clock.ts'
import type { HistoryEntry } from './history.ts'

/** A caller who waits for the answer. */
export interface Waiter {
  resolve(value: unknown): void
  reject(error: unknown): void
}

/** A hundred attempts that were sent, which is what is shown, and as many as can be given back. */
const MAX_ENTRIES = 120
const NO_ENTRIES: readonly HistoryEntry[] = []
const NOBODY: readonly Waiter[] = []
const NO_LABELS: Labels = {}
// most requests have nothing to show but their URL
const NO_HEADERS: Readonly<Record<string, string>> = Object.freeze({})
const NO_NAMES: readonly string[] = Object.freeze([])

/** The parts of a request that may be seen, as the core says; made once for all to whom the task is shown. */
interface Shown {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly withheld: readonly string[]
}

/** The words that a call or a record gives its task to be known by. */
export const labelsIn = ({ meta, tags }: Pick<TaskOptions, 'meta' | 'tags'>): Labels =>
  meta || tags ? { ...(meta && { meta: meta as NonNullable<Labels['meta']> }), ...(tags && { tags }) } : NO_LABELS

/** A store's lease, as the process that has it keeps it. */
export interface HeldLease {
  readonly token: number
  readonly forMs: number
  /** End of the lease on the queue's clock, counted from before the claim. */
  endsAt: number
  renewAt: number
  /** The request has left: the server may have it. */
  isSent?: boolean
  /** Given back, the task waits for its missing credentials. */
  parks?: boolean
  /** The reason why the task ends, where the core is not asked. */
  reason?: ExhaustedReason
  /** Error that the task ends with, if the store agrees that it is this runner's to end. */
  damage?: unknown
  /** Another process may have the task by now: only a success is worth telling. */
  lost?: boolean
}

/** A line that is not about an attempt. */
function unsent(kind: HistoryEntry['kind'], attemptNumber: number, at: number, next: string): HistoryEntry {
  return {
    sent: false,
    kind,
    attemptNumber,
    startedAt: at,
    durationMs: 0,
    status: 0,
    error: null,
    serverDelayMs: Number.NaN,
    curveMs: Number.NaN,
    spreadMs: 0,
    counted: undefined,
    authorize: false,
    cause: undefined,
    next,
    nextAt: Number.NaN,
  }
}

function shownOf({ url, call, record }: Task, sanitizer: Sanitizer): Shown {
  if (record) {
    const { headers, withheldHeaders } = record
    return { url: sanitizer.url(record.targetUrl), headers, withheld: withheldHeaders }
  }
  const sanitized = sanitizer.headers(call?.headers ?? [])
  const withheld = [...sanitized.withheld, ...sanitized.unknown]
  const headers = Object.keys(sanitized.headers).length > 0 ? Object.freeze(sanitized.headers) : NO_HEADERS
  return {
    url: sanitizer.url(url),
    headers,
    withheld: withheld.length > 0 ? Object.freeze(withheld.sort()) : NO_NAMES,
  }
}

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
  readonly labels: Labels
  fingerprint: string | undefined
  /** Kept of its call, once that is gone. */
  sender: string | undefined
  /** Gone once the task succeeded or was cancelled: an ended row keeps no headers and no body. */
  call: Call | null
  /** The core's handle while the task waits or runs. */
  slot = -1
  /** A call with its key was handed over while its caller waited: it goes on without that caller. */
  isHandedOver = false
  /** `queued` was emitted. */
  announced = false
  status: TaskStatus = 'PENDING'
  reason: ExhaustedReason | undefined
  attemptNumber = 0
  nextAttemptAt: number | null = null
  endedAt = 0
  /** The next attempt follows a 401. */
  unauthorized = false
  /** `sign` failed for the last attempt. */
  isUnsigned = false
  cancelRequested = false
  /** The task as its store has it; undefined: it lives in memory. */
  record: StoredTask | undefined
  /** The lease under which an attempt may be made. */
  lease: HeldLease | undefined
  /** The attempt under way. */
  attempt: { abort(reason?: unknown): void } | undefined
  /** Headers that `credentials` gave for the last attempt. */
  overlay: Headers | null = null
  waiter: Waiter | undefined
  /** Until when the waiter waits. */
  waitUntil: number = FOREVER
  /** Callers of the same request under the same key, who get the same answer. */
  joined: readonly Waiter[] = NOBODY
  /** Stops listening to the caller's signal. */
  unlink: (() => void) | undefined
  /** The last attempt, whose answer the caller gets if there is no better one. */
  last: Finished<RepeatAnswer> | undefined
  entries: readonly HistoryEntry[] = NO_ENTRIES
  /** Status of the last attempt; 0: it had no response. */
  lastStatus = 0
  /** Callers of `result()`. */
  outcome: { readonly promise: Promise<TaskOutcome>; readonly resolve: (outcome: TaskOutcome) => void } | undefined
  #shown: Shown | undefined
  #target: string

  constructor(taskId: string, createdAt: number, principal: string | null, call: Call) {
    this.taskId = taskId
    this.createdAt = createdAt
    this.principal = principal
    this.method = call.method
    this.url = call.url
    this.origin = call.origin
    this.#target = call.origin
    this.key = call.key
    this.policyId = call.policy.policyId
    this.hasBody = call.hasBody
    this.fingerprint = call.fingerprint
    this.labels = labelsIn(call.options)
    this.call = call
  }

  /** Method and target for messages: its path as it is shown, or no path before that, as it may hold a secret. */
  get what(): string {
    return `${this.method} ${this.#target}`
  }

  log(entry: HistoryEntry): void {
    // a copy of just the right size: most tasks log a line or two, and push would reserve room for seventeen
    const { entries } = this
    this.entries = entries.length === 0 ? [entry] : [...entries.slice(1 - MAX_ENTRIES), entry]
  }

  show(sanitizer: Sanitizer): RetryTask {
    if (!this.#shown) {
      this.#shown = shownOf(this, sanitizer)
      this.#target = this.#shown.url.split(/[?#]/, 1)[0] as string
    }
    const shown: { -readonly [K in keyof RetryTask]: RetryTask[K] } = {
      taskId: this.taskId,
      idempotencyKey: this.key,
      targetUrl: this.#shown.url,
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
    return this.labels === NO_LABELS ? shown : Object.assign(shown, this.labels)
  }

  /** Brings the task back from the dead letters: key and history stay, attempts are counted anew. */
  revive(now: number): void {
    const { attemptNumber, reason = '' } = this
    // it was given up while it waited, which no attempt has told
    if (this.entries.at(-1)?.kind !== 'exhausted') this.log(unsent('exhausted', attemptNumber, this.endedAt, reason))
    this.log(unsent('redriven', 0, now, ''))
    this.status = 'PENDING'
    this.reason = undefined
    this.attemptNumber = 0
    this.unauthorized = false
    this.cancelRequested = false
  }

  /** How long its caller waits from `now` on. Infinity: none does. */
  leftMs(now: number): number {
    return this.waiter ? this.waitUntil - now : FOREVER
  }

  /** Names of headers that are not stored and not supplied: the request would go out without them. */
  missing(overlay: Headers | null): readonly string[] {
    if (!this.call?.rebuilt || !this.record) return []
    return this.record.withheldHeaders.filter((name) => !overlay?.has(name))
  }

  /** Takes over the task as its store has it now. */
  setRecord(record: StoredTask): void {
    this.record = record
    this.#shown = undefined
    this.attemptNumber = record.attemptNumber
  }

  /** Forgets the request. */
  strip(): void {
    this.call = null
    this.overlay = null
    this.#shown = undefined
  }
}

/** The trace id of a W3C traceparent header. */
export function traceIdOf(headers: Headers): string | undefined {
  return /^[\da-f]{2}-([\da-f]{32})-/.exec(headers.get('traceparent') ?? '')?.[1]
}
