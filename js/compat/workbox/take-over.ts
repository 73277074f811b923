/**
 * Takes over what the database of Workbox or Serwist still holds of a queue, so that nothing is lost on the day of the change.
 *
 * Each entry gets a mark there, then it is enqueued here, and once that is on the disk it is deleted there: a worker that is killed in between
 * finds the mark at its task, and makes no second one. An entry stays there for longer where its task alone could not be sent after
 * this process: its credentials are not stored. Then it is deleted when that task has ended, and until then each new process begins with it.
 *
 * What cannot be taken over stays as it is, and `degraded` says so. An older worker, with Workbox, may run at the same time: what it has
 * taken out already is not seen here, and what it takes out meanwhile is sent twice at worst.
 */

import type { EnqueueReceipt } from '../../api/methods.ts'
import type { StoredTask } from '../../api/store.ts'
import { QueueFullError, StorageFullError } from '../../api/task-errors.ts'
import { internalsOf } from '../../queue/internals.ts'
import type { RetryQueue } from '../../queue/queue.ts'
import type { QueueContext } from '../../runner/context.ts'
import { giverFor } from '../../runner/credentials.ts'
import { DATABASES, type DatabaseName, type Marked, WorkboxDatabase, type WorkboxEntry } from './database.ts'
import type { Entries } from './entries.ts'
import { ExclusiveLock } from './lock.ts'
import { requestOf } from './requests.ts'

const ENDS = ['succeeded', 'exhausted', 'cancelled'] as const

const isFull = (error: unknown): boolean => error instanceof QueueFullError || error instanceof StorageFullError

/** Whether it is an error after which the next entry would fail as well. */
const isOurFault = (error: unknown): boolean =>
  isFull(error) || /^(STORAGE_|QUEUE_CLOSED|WASM_)/.test(String((error as { readonly code?: unknown } | null)?.code))

export interface TakeOverOptions {
  readonly retentionMs: number
  /** The user's own code shifts the entries: each part of one matters. */
  readonly isManual: boolean
}

interface Taken {
  readonly entry: WorkboxEntry
  readonly request: Request
  /** The key of the task that it was before. */
  readonly idempotencyKey: string | undefined
}

export class TakeOver {
  readonly #queue: RetryQueue
  readonly #host: QueueContext
  readonly #entries: Entries
  readonly #options: TakeOverOptions
  readonly #lock: ExclusiveLock
  /** Entries that stay until their tasks have ended, by task. */
  readonly #held = new Map<string, Marked>()
  /** Entries that are sent from where they lie, by mark. */
  readonly #sending = new Map<string, Promise<void>>()
  /** How many of these have failed since the last look. */
  #failures = 0
  #hears = false
  #looking: Promise<boolean> | undefined
  #hasLooked = false

  constructor(queue: RetryQueue, entries: Entries, options: TakeOverOptions) {
    this.#queue = queue
    this.#host = internalsOf(queue).host
    this.#entries = entries
    this.#options = options
    this.#lock = new ExclusiveLock(`redrive/${queue.name}/take-over`)
  }

  /** Takes over what is there now. Whether it all was taken that can be: what fails is said, and stays for the next look. */
  look(): Promise<boolean> {
    this.#looking ??= this.#look()
      .catch((error) => this.#failed(error))
      .finally(() => {
        this.#looking = undefined
        this.#hasLooked = true
      })
    return this.#looking
  }

  /** Resolves once that was done as often as it was begun, and once at least. */
  async looked(): Promise<void> {
    if (this.#looking || !this.#hasLooked) await this.look()
  }

  /** Whether all that is sent from where it lies has arrived. */
  async sent(): Promise<boolean> {
    await Promise.all(this.#sending.values())
    return this.#failures === 0
  }

  close(): void {
    this.#lock.release()
  }

  async #look(): Promise<boolean> {
    let isAllOver = true
    this.#failures = 0
    for (const name of DATABASES) {
      await this.#inDatabase(name, async (database) => {
        if (!(await this.#lock.acquire())) return
        try {
          isAllOver = (await this.#takeAll(database)) && isAllOver
        } finally {
          this.#resign()
        }
      })
    }
    return isAllOver
  }

  async #takeAll(database: WorkboxDatabase): Promise<boolean> {
    const { retentionMs } = this.#options
    const since = this.#host.now() - retentionMs
    const { marked, unreadable } = await database.mark(this.#queue.name, since, this.#host.makeKey)
    if (unreadable > 0) this.#unreadable(`${unreadable} of its entries cannot be read`)
    if (marked.length === 0) return true
    const known = await this.#entries.takenOver()
    const here = new Set([...this.#held.values()].map(({ mark }) => mark))
    let isAllOver = true
    for (const each of marked) {
      if (here.has(each.mark) || this.#sending.has(each.mark)) continue
      try {
        isAllOver = (await this.#take(database, each, known.get(each.mark))) && isAllOver
      } catch (error) {
        if (isOurFault(error)) throw error
        this.#unreadable(`an entry cannot be taken over (${(error as Error).message})`)
      }
    }
    return isAllOver
  }

  /** `before`: the task that an earlier process has made of it. False: it is for a later look. */
  async #take(database: WorkboxDatabase, marked: Marked, before: StoredTask | undefined): Promise<boolean> {
    if (before && before.status !== 'CANCELLED') {
      if (!isLive(before) || this.#isWhole(before.withheldHeaders, before.targetUrl)) {
        await database.delete(marked)
        return true
      }
      // the process that had its credentials is gone, and so a task with them takes its place. One that has begun ends first
      if ((await this.#queue.cancel(before.taskId)) !== 'cancelled') return false
    }
    const entry = await database.read(marked)
    if (!entry) return true
    const request = requestOf(entry.requestData)
    if (request.mode === 'no-cors') this.#sendAsItLies(request, marked)
    else await this.#enqueue(database, marked, { entry, request, idempotencyKey: before?.idempotencyKey ?? undefined })
    return true
  }

  async #enqueue(database: WorkboxDatabase, marked: Marked, taken: Taken): Promise<void> {
    const { request } = taken
    const receipt = await this.#add(marked, taken)
    if (!receipt) return
    const withheld = await this.#entries.keepOwn(receipt, request)
    const isWhole = receipt.durability !== 'memory' && this.#isWhole(withheld, request.url)
    if (isWhole) await database.delete(marked)
    else this.#keepUntilEnded(receipt.taskId, marked)
  }

  async #add({ mark: from }: Marked, { entry, request, idempotencyKey }: Taken): Promise<EnqueueReceipt | undefined> {
    const { timestamp, metadata } = entry
    const origin = { from, idempotencyKey }
    const add = (more: object) => this.#entries.add({ request, timestamp, ...more }, request.clone(), 'left', origin)
    try {
      return await add(metadata ? { metadata } : {})
    } catch (error) {
      if (this.#options.isManual || !metadata || isOurFault(error)) throw error
      // it may hold what JSON cannot, and nothing but an `onSync` asks for it
      return add({})
    }
  }

  /** Whether our task alone is enough to send it, whichever process does. */
  #isWhole(withheldHeaders: readonly string[], url: string): boolean {
    return withheldHeaders.length === 0 || giverFor(this.#host.settings, { url }) !== undefined
  }

  /** No queue takes it: it is sent as Workbox would, with each look, until it has arrived. */
  #sendAsItLies(request: Request, marked: Marked): void {
    const sending = this.#host.settings
      .fetch(request)
      .then(() => this.#inDatabase(marked.database, (database) => database.delete(marked)))
      .catch(() => {
        this.#failures++
      })
      .finally(() => {
        this.#sending.delete(marked.mark)
        this.#resign()
      })
    this.#sending.set(marked.mark, sending)
  }

  /** Has the entry stay until the task has ended. */
  #keepUntilEnded(taskId: string, marked: Marked): void {
    this.#held.set(taskId, marked)
    if (this.#hears) return
    this.#hears = true
    // not before: of an answer that has a listener a copy is made
    for (const event of ENDS) this.#host.events.on(event, ({ task }) => this.#ended(task.taskId), true)
  }

  #ended(taskId: string): void {
    const marked = this.#held.get(taskId)
    if (!marked) return
    this.#inDatabase(marked.database, (database) => database.delete(marked))
      .catch((error) => this.#failed(error))
      .finally(() => {
        this.#held.delete(taskId)
        this.#resign()
      })
  }

  /** Another process may go on, once nothing is left that only this one can send. */
  #resign(): void {
    if (this.#held.size === 0 && this.#sending.size === 0) this.#lock.release()
  }

  async #inDatabase(name: DatabaseName, work: (database: WorkboxDatabase) => Promise<void>): Promise<void> {
    const database = await WorkboxDatabase.open(name)
    if (!database) return
    try {
      await work(database)
    } finally {
      database.close()
    }
  }

  #unreadable(what: string): void {
    const where = `the queue '${this.#queue.name}' in the database of Workbox or Serwist`
    this.#host.degraded('unreadable_record', `${where}: ${what}; it stays there, unsent`, `left ${what}`)
  }

  #failed(error: unknown): false {
    const why = error instanceof Error ? error.message : String(error)
    const what = `what Workbox or Serwist has left of '${this.#queue.name}' is not taken over yet (${why})`
    const code = isFull(error) ? 'storage_full' : 'unreadable_record'
    this.#host.degraded(code, `${what}: it stays there, and is looked for again with the next sync`, 'left')
    return false
  }
}

const isLive = ({ status }: StoredTask): boolean => status === 'PENDING' || status === 'IN_FLIGHT'
