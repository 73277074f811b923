/** A task as this process holds it, and the form in which it is shown. */

import type { StoredTask } from '../api/store.ts'
import type { ExhaustedReason, Labels, RetryTask, TaskStatus } from '../api/task.ts'
import type { Call } from '../call/call.ts'
import type { Sanitizer } from '../core/sanitizer.ts'
import type { TaskOptions } from '../options/task-options.ts'
import { FOREVER } from '../platform/clock.ts'
import { timeOfId } from '../platform/uuid7.ts'
import { Course, type HeldLease, type Kept, type Shown, type Waiter } from './course.ts'
import { type HistoryEntry, unsent } from './history.ts'

/** A hundred attempts that were sent, which is what is shown, and as many as can be given back. */
const MAX_ENTRIES = 120
const NO_LABELS: Labels = {}
// most requests have nothing to show but their URL
const NO_NAMES: readonly string[] = Object.freeze([])

/** The words that a call or a record gives its task to be known by. */
export const labelsIn = ({ meta, tags }: Pick<TaskOptions, 'meta' | 'tags'>): Labels =>
  meta || tags ? { ...(meta && { meta: meta as NonNullable<Labels['meta']> }), ...(tags && { tags }) } : NO_LABELS

function shownOf({ about, call, record }: Task, sanitizer: Sanitizer): Shown {
  if (record) {
    const { headers, withheldHeaders } = record
    return { url: sanitizer.url(record.targetUrl), headers, withheld: withheldHeaders }
  }
  const { headers, withheld, unknown } = sanitizer.headers(call?.headers ?? [])
  const names = withheld.length + unknown.length > 0 ? Object.freeze([...withheld, ...unknown].sort()) : NO_NAMES
  return { url: sanitizer.url(about.url), headers: Object.freeze(headers), withheld: names }
}

const STATUSES: readonly TaskStatus[] = ['PENDING', 'IN_FLIGHT', 'SUCCEEDED', 'EXHAUSTED', 'CANCELLED']

// a number with these, and a status in its low bits, takes the room of one field
const STATUS = 7
const FLAGS = { announced: 8, isHandedOver: 16, unauthorized: 32, isUnsigned: 64, cancelRequested: 128 }
// above these, how long before its id it was made, if that is little more than an hour at most
const AGE_BITS = 8
const MAX_AGE_MS = 2 ** 22

/** The course of all tasks that nothing has come of yet. */
const NOTHING_YET: Readonly<Course> = new Course()

/**
 * Times are kept from the first task's on: milliseconds of several weeks are small integers, which take no room beyond their field, and
 * a date takes an object of its own.
 */
let epoch: number | undefined

/** Each field that every task has costs eight bytes a task, and a private method a field: what is rarer is in its `Course`. */
export class Task {
  readonly taskId: string
  /** Gone once the task succeeded or was cancelled: an ended row keeps no headers and no body. */
  call: Call | null
  /** The core's handle while the task waits or runs. */
  slot = -1
  #due: number | null = null
  #state = 0
  #course = NOTHING_YET
  /** `queued` was emitted. */
  declare announced: boolean
  /** A call with its key was enqueued while its caller waited: it goes on without that caller. */
  declare isHandedOver: boolean
  /** The next attempt follows a 401. */
  declare unauthorized: boolean
  /** `sign` failed for the last attempt. */
  declare isUnsigned: boolean
  declare cancelRequested: boolean
  /** Headers that `credentials` gave for the last attempt. */
  declare overlay: Course['overlay']
  /** Status of the last attempt; 0: it had no response. */
  declare lastStatus: number
  /** Stops listening to the caller's signal. */
  declare unlink: Course['unlink']
  /** Callers of `result()`. */
  declare outcome: Course['outcome']
  /** The task as its store has it; undefined: it lives in memory. */
  declare record: StoredTask | undefined
  declare reason: ExhaustedReason | undefined

  static {
    const { prototype } = Task
    for (const [name, flag] of Object.entries(FLAGS)) {
      Object.defineProperty(prototype, name, {
        get(this: Task) {
          return (this.#state & flag) !== 0
        },
        set(this: Task, is: boolean) {
          this.#state = is ? this.#state | flag : this.#state & ~flag
        },
      })
    }
    // what is seldom asked for has one function for all names, which takes longer than one for each
    for (const name of Object.keys(NOTHING_YET) as (keyof Course)[]) {
      if (name in prototype) continue
      Object.defineProperty(prototype, name, {
        get(this: Task) {
          return this.#course[name]
        },
        set(this: Task, value: never) {
          this.own[name] = value
        },
      })
    }
  }

  constructor(taskId: string, createdAt: number, call: Call) {
    this.taskId = taskId
    this.call = call
    epoch ??= createdAt
    const ageMs = timeOfId(taskId) - createdAt
    if (ageMs >= 0 && ageMs < MAX_AGE_MS && Number.isInteger(ageMs)) this.#state = ageMs << AGE_BITS
    else this.own.createdAt = createdAt
  }

  get createdAt(): number {
    return this.#course.createdAt ?? timeOfId(this.taskId) - (this.#state >>> AGE_BITS)
  }

  get nextAttemptAt(): number | null {
    return this.#due === null ? null : (epoch as number) + this.#due
  }

  set nextAttemptAt(at: number | null) {
    this.#due = at === null ? null : at - (epoch as number)
  }

  get principal(): string | null {
    return this.about.principal
  }

  get origin(): string {
    return this.about.origin
  }

  get key(): string | null {
    return this.about.key
  }

  get policyId(): string {
    return this.about.policy.policyId
  }

  get status(): TaskStatus {
    return STATUSES[this.#state & STATUS] as TaskStatus
  }

  set status(status: TaskStatus) {
    this.#state = (this.#state & ~STATUS) | STATUSES.indexOf(status)
  }

  get attemptNumber(): number {
    return this.#course.attemptNumber
  }

  set attemptNumber(value: number) {
    this.own.attemptNumber = value
  }

  /** The attempt under way. */
  get attempt(): Course['attempt'] {
    return this.#course.attempt
  }

  set attempt(value: Course['attempt']) {
    this.own.attempt = value
  }

  /** The last attempt, whose answer the caller gets if there is no better one. */
  get last(): Course['last'] {
    return this.#course.last
  }

  set last(value: Course['last']) {
    this.own.last = value
  }

  get waiter(): Waiter | undefined {
    return this.#course.waiter
  }

  set waiter(value: Waiter | undefined) {
    this.own.waiter = value
  }

  /** Callers of the same request under the same key, who get the same answer. */
  get joined(): readonly Waiter[] {
    return this.#course.joined
  }

  set joined(value: readonly Waiter[]) {
    this.own.joined = value
  }

  /** The lease under which an attempt may be made. */
  get lease(): HeldLease | undefined {
    return this.#course.lease
  }

  set lease(value: HeldLease | undefined) {
    this.own.lease = value
  }

  /** Until when the waiter waits. */
  get waitUntil(): number {
    return (epoch as number) + (this.#course.waitUntil ?? FOREVER)
  }

  set waitUntil(at: number) {
    this.own.waitUntil = at - (epoch as number)
  }

  get endedAt(): number {
    return (epoch as number) + this.#course.endedAt
  }

  set endedAt(at: number) {
    this.own.endedAt = at - (epoch as number)
  }

  /** The lines of its log. */
  get entries(): readonly HistoryEntry[] {
    return [this.#course.lines ?? []].flat()
  }

  /** Method and target for messages: its path as it is shown, or no path before that, as it may hold a secret. */
  get what(): string {
    return `${this.about.method} ${this.#course.target ?? this.origin}`
  }

  /** Its call, or the parts of that which are left. */
  get about(): Call | Kept {
    return this.call ?? (this.#course.kept as Kept)
  }

  /** Its own course, to be written to. */
  private get own(): Course {
    if (this.#course === NOTHING_YET) this.#course = new Course()
    return this.#course as Course
  }

  log(entry: HistoryEntry): void {
    const { own } = this
    const { lines } = own
    // a copy of just the right size: most tasks log a line or two, and push would reserve room for seventeen
    if (!lines) own.lines = entry
    else own.lines = 'length' in lines ? [...lines.slice(1 - MAX_ENTRIES), entry] : [lines, entry]
  }

  show(sanitizer: Sanitizer): RetryTask {
    let { shown: seen } = this.#course
    if (!seen) {
      seen = shownOf(this, sanitizer)
      this.own.shown = seen
      this.own.target = seen.url.split(/[?#]/, 1)[0]
    }
    const shown: { -readonly [K in keyof RetryTask]: RetryTask[K] } = {
      taskId: this.taskId,
      idempotencyKey: this.key,
      targetUrl: seen.url,
      method: this.about.method,
      headers: seen.headers,
      withheldHeaders: seen.withheld,
      policyId: this.policyId,
      principal: this.principal,
      attemptNumber: this.attemptNumber,
      nextAttemptAt: this.nextAttemptAt,
      createdAt: this.createdAt,
      status: this.status,
    }
    if (this.call?.hasBody) shown.bodyRef = 'inline'
    if (this.reason) shown.reason = this.reason
    const { options } = this.about
    return options.meta || options.tags ? Object.assign(shown, labelsIn(options)) : shown
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
    this.own.shown = undefined
    this.attemptNumber = record.attemptNumber
  }

  /** Forgets the request. */
  strip(): void {
    if (this.call) {
      const { method, url, origin, principal, key, fingerprint, sender, policy, options } = this.call
      const given = labelsIn(options)
      this.own.kept = { method, url, origin, principal, key, fingerprint, sender, policy, options: given }
    }
    this.call = null
    this.overlay = null
    this.own.shown = undefined
  }
}

/** The trace id of a W3C traceparent header. */
export function traceIdOf(headers: Headers): string | undefined {
  return /^[\da-f]{2}-([\da-f]{32})-/.exec(headers.get('traceparent') ?? '')?.[1]
}
