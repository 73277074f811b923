/**
 * Workbox's `Queue` over a `RetryQueue`: what is pushed becomes a task in its store. The queue is paused but for replays, so that nothing is
 * sent before the browser has said that there is a network, and a user's own `onSync` can take the requests out.
 *
 * A replay is the queue's own work: backoff, `Retry-After`, one key for all attempts, leases, dead letters. Workbox's stops at
 * the first request that fails, and takes any answer for a delivery.
 */

import type { TaskStore } from '../../api/store.ts'
import { type Drain, drainOf } from '../../queue/drain.ts'
import { internalsOf } from '../../queue/internals.ts'
import { RetryQueue } from '../../queue/service-worker-queue.ts'
import type { QueueContext } from '../../runner/context.ts'
import { indexedDbStore } from '../../stores/indexeddb.ts'
import { Entries, type Place } from './entries.ts'
import type { QueueEntry } from './entry.ts'
import { WorkboxQueueError } from './errors.ts'
import { checkOptions, type PlainOptions, settingsFor } from './options.ts'
import { assertQueueable } from './requests.ts'
import { SyncTag } from './sync-tag.ts'
import { TakeOver } from './take-over.ts'
import { whenActive } from './when-active.ts'

export type OnSyncCallback = (options: { readonly queue: Queue }) => void | Promise<void>

export interface QueueOptions extends PlainOptions {
  /**
   * Called with each sync, in place of `replayRequests()`. Until it has ended, a request that it shifts or pops stays in the store, so
   * that none is lost where the worker is killed meanwhile. @default `replayRequests`
   */
  readonly onSync?: OnSyncCallback
}

const names = new Set<string>()

export class Queue {
  /** The queue behind it: for its events, `deadLetters` and `stats()`. It is paused but for replays; `fetch` and `enqueue` work all the same. */
  readonly retryQueue: RetryQueue
  readonly #name: string
  readonly #onSync: OnSyncCallback
  /** The user's own code takes the requests out. */
  readonly #isManual: boolean
  readonly #drainMs: number
  readonly #host: QueueContext
  readonly #store: TaskStore
  readonly #entries: Entries
  readonly #takeOver: TakeOver
  readonly #drain: Drain
  readonly #sync: SyncTag
  readonly #undo: (() => void)[] = []
  #syncs = 0
  /** A sync has come, or was asked for. */
  #hasSync = false
  #isAddedDuringSync = false
  #replays = 0
  #isClosed = false

  /** Throws where this worker has a queue of that name, or an option is wrong. */
  constructor(name: string, options: QueueOptions = {}) {
    checkOptions(name, options)
    if (names.has(name)) {
      const remedy = 'give each queue a name of its own'
      throw new WorkboxQueueError(
        'duplicate-queue-name',
        name,
        `there is a queue '${name}' in this worker already; ${remedy}`,
      )
    }
    const { queue, retentionMs, drainMs } = settingsFor(name, options)
    this.#sync = new SyncTag(name, options.forceSyncFallback === true)
    this.#name = name
    this.#isManual = options.onSync !== undefined
    this.#onSync = options.onSync ?? this.replayRequests
    this.#drainMs = drainMs
    this.#store = queue.store ?? indexedDbStore({ name, ...(queue.clock && { clock: queue.clock }) })
    this.retryQueue = new RetryQueue({ ...queue, store: this.#store })
    this.retryQueue.pause()
    this.#host = internalsOf(this.retryQueue).host
    this.#entries = new Entries(this.retryQueue, this.#store, retentionMs)
    this.#takeOver = new TakeOver(this.retryQueue, this.#entries, { retentionMs, isManual: this.#isManual })
    this.#drain = drainOf(this.retryQueue, this.#host)
    names.add(name)
    this.#begin()
  }

  get name(): string {
    return this.#name
  }

  /** Stores a request behind all others, and asks for a sync. */
  async pushRequest(entry: QueueEntry): Promise<void> {
    await this.#add(entry, 'end')
  }

  /** Stores a request before all others, and asks for a sync. */
  async unshiftRequest(entry: QueueEntry): Promise<void> {
    await this.#add(entry, 'front')
  }

  /** Takes out the last request. One whose attempt has begun stays. */
  async popRequest(): Promise<QueueEntry | undefined> {
    await this.#takeOver.looked()
    return this.#entries.take('last')
  }

  /** Takes out the first request. One whose attempt has begun stays. */
  async shiftRequest(): Promise<QueueEntry | undefined> {
    await this.#takeOver.looked()
    return this.#entries.take('first')
  }

  /** All requests that have not expired, in their order. */
  async getAll(): Promise<QueueEntry[]> {
    await this.#takeOver.looked()
    return this.#entries.all()
  }

  /** How many `getAll` would give. */
  async size(): Promise<number> {
    await this.#takeOver.looked()
    return this.#entries.count()
  }

  /**
   * Sends what waits, now, and what fails again as its policy says; a wait that a server asked for is kept. Rejects with 'queue-replay-failed'
   * where requests are left that are not due soon.
   */
  async replayRequests(): Promise<void> {
    if (await this.#sendAll(true)) return
    const why = this.#drain.blindness() ?? 'not every request could be sent'
    throw new WorkboxQueueError('queue-replay-failed', this.#name, `queue '${this.#name}': ${why}; the rest is kept`)
  }

  /** Asks the browser for a sync. Without Background Sync, or where it is refused, requests are sent for as long as this worker lives. */
  async registerSync(): Promise<void> {
    this.#hasSync = true
    try {
      if (await this.#sync.register()) return
    } catch (error) {
      const still = this.#isManual ? 'they wait for a later sync' : 'they are sent while this worker lives'
      const message = `the browser refuses a background sync of '${this.#sync.tag}' (${error}): ${still}`
      this.#host.degraded('sync_refused', message, 'sync')
    }
    if (!this.#isManual && !this.#isClosed) this.retryQueue.resume()
  }

  /** For tests and tools, since a worker is simply ended: releases the name, the store and all that listens. What is stored stays. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const undo of this.#undo) undo()
    names.delete(this.#name)
    this.#drain.stop()
    this.#takeOver.close()
    await this.retryQueue.close({ drainMs: 0 })
  }

  async #add(entry: QueueEntry, place: Place): Promise<void> {
    const request = readEntry(entry)
    await this.#entries.add(entry, request, place).then((receipt) => {
      // it is the user's code that sends it
      if (receipt && this.#isManual) return this.#entries.keepOwn(receipt, entry.request)
      return undefined
    })
    if (this.#syncs > 0) this.#isAddedDuringSync = true
    else await this.registerSync()
  }

  #begin(): void {
    if (this.#sync.isSupported) {
      this.#undo.push(this.#sync.listen((lastChance) => this.#answer(lastChance)))
      // a store that fails is told of by the queue
      const goOn = (): void => void this.#goOn().catch(() => {})
      this.#undo.push(whenActive(this.#host.settings.clock, goOn))
      return
    }
    const begun = this.#run()
    // tasks that are left go on by themselves; an error of the user's own is the user's to catch
    if (!this.#isManual) begun.catch(() => {})
  }

  /** Whether all is sent, and taken over: what could not be at first may be once there is room. */
  async #sendAll(isNow: boolean): Promise<boolean> {
    for (let looks = 1; ; looks++) {
      const isAllOver = await this.#takeOver.look()
      await this.#entries.deleteTaken()
      const isDone = (await this.#hasNothing()) || (await this.#replay(isNow))
      if (!isDone || isAllOver || looks > 1) return (await this.#takeOver.sent()) && isDone && isAllOver
    }
  }

  /** Whether nothing waits any more. `isNow`: what waits for its own curve goes at once. */
  async #replay(isNow: boolean): Promise<boolean> {
    this.#replays++
    this.retryQueue.resume()
    let isDone = false
    try {
      if (isNow) await this.retryQueue.flush()
      isDone = (await this.#drain.run(this.#drainMs)) && this.#drain.blindness() === undefined
    } finally {
      this.#replays--
      this.#rest(isDone)
    }
    return isDone
  }

  async #run(): Promise<void> {
    // not waited for: without Background Sync, Workbox calls `onSync` in its constructor
    void this.#takeOver.look()
    await this.#entries.hiding(() => this.#onSync({ queue: this }))
  }

  /** Runs what the browser has woken the worker for. */
  async #answer(lastChance: boolean): Promise<void> {
    this.#hasSync = true
    this.#syncs++
    let isDone = false
    try {
      await this.#run()
      isDone = true
    } finally {
      // a sync that failed is repeated by the browser, except the last time
      if (this.#isAddedDuringSync && (isDone || lastChance)) await this.registerSync()
      this.#syncs--
      if (this.#syncs === 0) this.#isAddedDuringSync = false
    }
  }

  /**
   * For what an earlier worker has left: its sync may have had its last chance, or fires in some minutes, since the last one failed. What is due
   * is sent while this worker lives.
   */
  async #goOn(): Promise<void> {
    await this.#takeOver.look()
    const hasNothing = await this.#hasNothing()
    if (hasNothing || this.#hasSync || this.#isClosed) return
    await this.registerSync()
    if (!this.#isManual) await this.#sendAll(false)
  }

  /** Whether nothing waits, asked without opening the core: a service worker begins with each navigation. */
  async #hasNothing(): Promise<boolean> {
    if (this.retryQueue.stats().depth > 0) return false
    // a store that cannot be asked is told of by the queue
    const counts = await this.#store.counts().catch(() => undefined)
    return counts !== undefined && counts.pending + counts.inFlight === 0
  }

  /** Pauses after a replay, unless what is left is to go on. */
  #rest(isDone: boolean): void {
    if (this.#replays > 0 || this.#isClosed) return
    if (this.#isManual || (isDone && this.#sync.isUsable)) this.retryQueue.pause()
  }
}

/** A copy of the request, made before anything is awaited: its owner may use the body at once. */
function readEntry(entry: QueueEntry): Request {
  const { request, timestamp } = Object(entry) as QueueEntry
  if (!(request instanceof Request)) throw new TypeError('expected an entry such as { request: new Request(url) }')
  if (timestamp !== undefined && !(timestamp >= Number.NEGATIVE_INFINITY)) {
    throw new RangeError(`timestamp: expected epoch milliseconds, got ${timestamp}`)
  }
  assertQueueable(request)
  // one that is put back where it was needs none of its body
  return request.bodyUsed ? request : request.clone()
}
