/**
 * The entries of Workbox's queue as tasks: what makes a task an entry, in which order they are, and how one is taken out.
 *
 * An entry that is put in front has a higher priority than all others, so the queue sends it first, too. While an `onSync` runs, one that
 * is taken out is only hidden: Workbox deletes it before it is sent, and loses it where the worker is killed then.
 */

import type { EnqueueReceipt } from '../../api/methods.ts'
import type { StoredTask, TaskStore } from '../../api/store.ts'
import { IdempotencyConflictError } from '../../api/task-errors.ts'
import { MAX_MS } from '../../options/check.ts'
import { internalsOf } from '../../queue/internals.ts'
import type { RetryQueue } from '../../queue/queue.ts'
import type { QueueContext } from '../../runner/context.ts'
import { isSoundTask } from '../../stores/engine/sound.ts'
import type { QueueEntry } from './entry.ts'
import { MARK, type Mark, markIn } from './mark.ts'
import { lifetimeOf } from './options.ts'
import { OwnHeaders } from './own-headers.ts'
import { argumentsOf } from './requests.ts'

/** Where an entry is put. 'left': Workbox had it before, so it comes before all that was pushed since. */
export type Place = 'end' | 'left' | 'front'
/** The end at which an entry is taken out. */
export type End = 'first' | 'last'

const PAGE = 1_000
/** Other processes' entries are found so much later at most: to list all costs more than to take one out. */
const LOOK_MS = 1_000
const PUSHED = 0
const LEFT = 1

/** A task that was handed out, and how its entry looked then. */
interface HandedOut {
  readonly record: StoredTask
  readonly look: string
  /** Its key, as the header had it. */
  readonly key: string | null
  /** Set where it was to be put back and could not be: it stays. */
  isKept?: true
}

/** More than Workbox's caller gives: for what was in Workbox's own database. */
export interface Origin {
  /** The mark of the entry there. */
  readonly from?: string
  readonly idempotencyKey?: string | undefined
}

export class Entries {
  readonly #queue: RetryQueue
  readonly #store: TaskStore
  readonly #host: QueueContext
  readonly #retentionMs: number
  readonly #own: OwnHeaders
  /** Ids in their order, as of the last look: what this process has changed since is in it. */
  #order: string[] = []
  #lookedAt = Number.NEGATIVE_INFINITY
  #runs = 0
  /** Hidden tasks, by id. */
  readonly #taken = new Map<string, HandedOut>()
  readonly #handedOut = new WeakMap<Request, HandedOut>()

  constructor(queue: RetryQueue, store: TaskStore, retentionMs: number) {
    this.#queue = queue
    this.#store = store
    this.#host = internalsOf(queue).host
    this.#retentionMs = retentionMs
    this.#own = new OwnHeaders(this.#host)
  }

  /** `request`: a copy whose body is used up here. `entry`: what the caller gave. undefined: it is back where it was, or has expired. */
  async add(
    entry: QueueEntry,
    request: Request,
    place: Place,
    origin: Origin = {},
  ): Promise<EnqueueReceipt | undefined> {
    const out = this.#outAs(entry.request)
    try {
      return await this.#add(entry, request, place, origin, out)
    } catch (error) {
      if (out) out.isKept = true
      throw error
    }
  }

  /** `out`: the task whose place it takes. */
  async #add(
    entry: QueueEntry,
    request: Request,
    place: Place,
    origin: Origin,
    out: HandedOut | undefined,
  ): Promise<EnqueueReceipt | undefined> {
    const isBack = async (): Promise<boolean> => {
      if (!out || place !== 'front' || out.look !== lookOf(entry) || !(await this.#isFirst(out.record))) return false
      const isThere = this.#taken.delete(out.record.taskId)
      if (isThere) this.#order.unshift(out.record.taskId)
      return isThere
    }
    if (this.#handedOut.get(entry.request) === out && (await isBack())) return undefined
    const { metadata } = entry
    // of an Infinity, which is for a request that never expires, JSON has no form
    const timestamp = Math.min(entry.timestamp ?? Math.floor(this.#host.settings.clock.now()), MAX_MS)
    // Workbox keeps it, and never gives it out
    if (this.#isOver(timestamp)) return undefined
    const { from, idempotencyKey } = origin
    const mark: Mark = { timestamp, ...(metadata && { metadata }), ...(from !== undefined && { from }) }
    const [url, init] = await argumentsOf(request)
    const priority = place === 'front' ? (await this.#highest()) + 1 : place === 'left' ? LEFT : PUSHED
    const expiresAt = Math.min(Math.max(0, Math.round(timestamp)) + this.#retentionMs, MAX_MS)
    const enqueue = (): Promise<EnqueueReceipt> =>
      this.#queue.enqueue(url, {
        ...init,
        redrive: {
          // Workbox repeats whatever it is given
          idempotent: true,
          ...(idempotencyKey !== undefined && { idempotencyKey }),
          ...lifetime(expiresAt, this.#host.now(), this.#retentionMs),
          priority,
          meta: { [MARK]: mark },
        },
      })
    let receipt = await enqueue().catch((error) => {
      if (out && error instanceof IdempotencyConflictError) return undefined
      throw error
    })
    if (out) {
      const { taskId } = out.record
      if (receipt?.taskId === taskId && (await isBack())) return undefined
      // its key is free then for the request, which nothing else keeps out: what is refused has been refused by now
      await this.#remove(taskId)
      if (!receipt || receipt.taskId === taskId) receipt = await enqueue()
    }
    if (!receipt) return undefined
    if (place === 'end') this.#order.push(receipt.taskId)
    else if (place === 'front') this.#order.unshift(receipt.taskId)
    else this.#lookedAt = Number.NEGATIVE_INFINITY
    return receipt
  }

  /** Has the task give what is not stored of it, where it is handed out by this process. */
  async keepOwn({ taskId, durability }: EnqueueReceipt, request: Request): Promise<readonly string[]> {
    if (durability === 'memory') return []
    const { withheldHeaders = [] } = (await this.#store.get(taskId)) ?? {}
    this.#own.keep(taskId, request.headers, withheldHeaders)
    return withheldHeaders
  }

  /** Takes out the first or last that has not expired. */
  async take(end: End): Promise<QueueEntry | undefined> {
    for (;;) {
      const record = await this.#next(end)
      if (!record) return undefined
      const entry = await this.#entryOf(record)
      const key = entry.request.headers.get(this.#host.settings.idempotency.header)
      const out: HandedOut = { record, look: lookOf(entry), key }
      if (this.#runs > 0) this.#taken.set(record.taskId, out)
      // it may have begun, or ended, meanwhile
      else if ((await this.#queue.cancel(record.taskId)) !== 'cancelled') continue
      this.#handedOut.set(entry.request, out)
      return entry
    }
  }

  async all(): Promise<QueueEntry[]> {
    const entries: QueueEntry[] = []
    for (const record of await this.#waiting()) entries.push(await this.#entryOf(record))
    return entries
  }

  async count(): Promise<number> {
    return (await this.#waiting()).length
  }

  /** While `work` runs, what is taken out is hidden; then it is deleted, however that has ended. */
  async hiding<T>(work: () => T | Promise<T>): Promise<T> {
    this.#runs++
    try {
      return await work()
    } finally {
      this.#runs--
      if (this.#runs === 0) await this.deleteTaken()
    }
  }

  /** Deletes what was taken out and not put back. */
  async deleteTaken(): Promise<void> {
    for (const [taskId, { isKept }] of this.#taken) {
      if (!isKept) await this.#remove(taskId)
      else if (this.#taken.delete(taskId)) this.#lookedAt = Number.NEGATIVE_INFINITY
    }
  }

  /** The tasks that were made of entries of Workbox's own database, by their marks; one that was cancelled only where it is the last word. */
  async takenOver(): Promise<ReadonlyMap<string, StoredTask>> {
    const found = new Map<string, StoredTask>()
    for (const record of await this.#records({})) {
      const from = markIn(record)?.from
      if (from === undefined || (found.has(from) && record.status === 'CANCELLED')) continue
      found.set(from, record)
    }
    return found
  }

  /** The task that a request is which is put back: a copy is known by its key, since a body that was sent is used up. */
  #outAs(request: Request): HandedOut | undefined {
    const own = this.#handedOut.get(request)
    if (own && this.#taken.has(own.record.taskId)) return own
    const key = request.headers.get(this.#host.settings.idempotency.header)
    return key === null ? undefined : [...this.#taken.values()].find((out) => out.key === key)
  }

  async #remove(taskId: string): Promise<void> {
    await this.#queue.cancel(taskId)
    this.#taken.delete(taskId)
  }

  async #next(end: End): Promise<StoredTask | undefined> {
    for (let hasLooked = false; ; ) {
      if (!hasLooked && (this.#order.length === 0 || this.#host.now() - this.#lookedAt >= LOOK_MS)) {
        hasLooked = true
        this.#lookedAt = this.#host.now()
        this.#order = (await this.#waiting()).map(({ taskId }) => taskId)
      }
      const taskId = end === 'first' ? this.#order.shift() : this.#order.pop()
      if (taskId === undefined) return undefined
      const record = this.#taken.has(taskId) ? undefined : await this.#store.get(taskId)
      if (record?.status === 'PENDING' && isSoundTask(record) && this.#isLive(record)) return record
    }
  }

  /** All that waits, in its order, without what is taken out or has expired. */
  async #waiting(): Promise<StoredTask[]> {
    const records = await this.#records({ active: true })
    return records.filter((record) => !this.#taken.has(record.taskId) && this.#isLive(record)).sort(inOrder)
  }

  /** Whether a task that is taken out would be the first again. */
  async #isFirst(record: StoredTask): Promise<boolean> {
    const [first] = await this.#waiting()
    return !first || inOrder(record, first) < 0
  }

  async #highest(): Promise<number> {
    const [first] = await this.#waiting()
    return Math.max(LEFT, first?.priority ?? 0)
  }

  /** Tasks that other code has made in the same database are no entries. */
  async #records(which: { readonly active?: true }): Promise<StoredTask[]> {
    const { principal } = this.#host
    const found: StoredTask[] = []
    for (let cursor: string | undefined; ; ) {
      const page = await this.#store.list({
        ...which,
        principal,
        limit: PAGE,
        ...(cursor === undefined ? {} : { cursor }),
      })
      found.push(...page.tasks.filter((record) => isSoundTask(record) && markIn(record)))
      cursor = page.cursor
      if (cursor === undefined) return found
    }
  }

  #isLive(record: StoredTask): boolean {
    const mark = markIn(record)
    return mark !== undefined && !this.#isOver(mark.timestamp)
  }

  #isOver(timestamp: number): boolean {
    return this.#host.now() - timestamp > this.#retentionMs
  }

  async #entryOf(record: StoredTask): Promise<QueueEntry> {
    const body = record.bodyBytes > 0 ? await this.#store.body(record.taskId) : undefined
    const request = await this.#own.requestOf(record, body)
    const { timestamp, metadata } = markIn(record) as Mark
    return { request, timestamp, ...(metadata && { metadata }) }
  }
}

const inOrder = (one: StoredTask, other: StoredTask): number =>
  other.priority - one.priority || (one.taskId < other.taskId ? -1 : 1)

/** A timestamp that lies ahead has its request live longer, which is what Workbox has it for. */
function lifetime(expiresAt: number, now: number, retentionMs: number): object {
  const leftMs = expiresAt - now
  return leftMs > retentionMs ? { expiresAt, policy: { keyTtlMs: lifetimeOf(leftMs) } } : { expiresAt }
}

/** All that a caller may have changed of an entry before it is put back. */
const lookOf = ({ request, timestamp, metadata }: QueueEntry): string =>
  JSON.stringify([[...request.headers], timestamp, metadata])
