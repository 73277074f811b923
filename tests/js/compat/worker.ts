/** A service worker in Node: its globals, the browser's part of Background Sync, Workbox's own queue and its database. */

import 'fake-indexeddb/auto'
import { IDBFactory } from 'fake-indexeddb'
import { onTestFinished, vi } from 'vitest'
import type { Queue as WorkboxQueue } from 'workbox-background-sync/Queue.js'
import type { TaskStore } from '../../../js/api/store.ts'
import { Queue, type QueueOptions } from '../../../js/compat/workbox.ts'
import { RetryQueue } from '../../../js/index.ts'
import { memoryStore } from '../../../js/stores/memory.ts'
import { type FakeClock, fakeClock, type ScriptedServer, scriptedServer } from '../../../js/testing.ts'
import { withMethods } from '../durable-setup.ts'
import { Events, NO_GATES, PLAIN_CURVE } from '../setup.ts'

// a queue waits ten seconds, of real time, for its chunks: on a busy machine they are here before
const early = new RetryQueue({ store: memoryStore(), principal: null, warn: false })
await early.ready
await early.close()

export const SITE = 'https://site.test'
export const ORDERS = `${SITE}/orders`

export interface Opened {
  readonly queue: Queue
  readonly events: Events
}

export interface Worker {
  readonly clock: FakeClock
  readonly server: ScriptedServer
  readonly store: TaskStore
  /** Tags of the syncs that were asked for. */
  readonly asked: readonly string[]
  /** Whether the browser refuses syncs. */
  isRefusing: boolean
  /** A queue in a process of its own. */
  open(name?: string, options?: QueueOptions): Opened
  /** Ends the process of a queue: nothing that it had in memory is left. */
  end(opened: Opened): Promise<void>
  /** Kills it: nothing that it does from here on has an effect. */
  kill(opened: Opened): Promise<void>
  /** The browser's sync; resolves with how it ended. */
  sync(name?: string, how?: { readonly lastChance?: boolean; readonly by?: 'workbox' | 'serwist' }): Promise<string>
  /** Lets pass what needs no time of the clock's, but the database's. */
  rest(): Promise<void>
  /** Runs `work` while the clock goes on. */
  during<T>(work: Promise<T>): Promise<T>
}

/** `hasSync`: as in Chromium. */
export function worker({ hasSync = true } = {}): Worker {
  const asked: string[] = []
  const listeners = new Set<(event: Event) => void>()
  const clock = fakeClock(Date.now())
  const server = scriptedServer({ clock })
  // the other worker of a test has what this one has stored, as if it were on a disk
  const store = withMethods(memoryStore({ clock }), { durability: 'strict' })
  const register = async (tag: string): Promise<void> => {
    if (made.isRefusing) throw new DOMException('Permission denied.', 'NotAllowedError')
    asked.push(tag)
  }
  vi.stubGlobal('indexedDB', new IDBFactory())
  vi.stubGlobal('registration', hasSync ? { sync: { register } } : {})
  vi.stubGlobal('location', new URL(`${SITE}/worker.js`))
  vi.stubGlobal('self', globalThis)
  vi.stubGlobal('addEventListener', (type: string, listener: (event: Event) => void) => {
    if (type === 'sync') listeners.add(listener)
  })
  vi.stubGlobal('removeEventListener', (_: string, listener: (event: Event) => void) => listeners.delete(listener))
  onTestFinished(() => {
    vi.unstubAllGlobals()
    vi.unstubAllEnvs()
  })
  const rest = async (): Promise<void> => {
    // an IndexedDB that is played in Node takes real turns
    for (let i = 0; i < 30; i++) {
      await new Promise((resolve) => setImmediate(resolve))
      await clock.advance(0)
    }
  }
  const during: Worker['during'] = async (work) => {
    let isOver = false
    const over = work.finally(() => {
      isOver = true
    })
    over.catch(() => {})
    while (!isOver) {
      await rest()
      if (!isOver) await clock.advance(500)
    }
    return over
  }
  let seed = 0n
  const made: Worker = {
    clock,
    server,
    store,
    asked,
    isRefusing: false,
    open(name = 'orders', { redrive = {}, ...options } = {}) {
      const queue = new Queue(name, {
        ...options,
        redrive: {
          store,
          clock,
          fetch: server.fetch,
          seed: ++seed,
          ...NO_GATES,
          drainMs: 20_000,
          warn: false,
          ...redrive,
          policy: { ...PLAIN_CURVE, ...redrive.policy },
        },
      })
      const events = new Events()
      events.listen(queue.retryQueue)
      const opened = { queue, events }
      onTestFinished(() => made.end(opened))
      return opened
    },
    end: ({ queue }) => during(queue.close()),
    async kill(opened) {
      for (const listener of listeners) listeners.delete(listener)
      await made.end(opened)
    },
    async sync(name = 'orders', { lastChance = false, by = 'workbox' } = {}) {
      const tag = `${by}-background-sync:${name}`
      const works: Promise<unknown>[] = []
      const waitUntil = (work: Promise<unknown>) => works.push(work)
      for (const listener of [...listeners]) listener({ tag, lastChance, waitUntil } as unknown as Event)
      const ended = Promise.all(works).then(
        () => (works.length > 0 ? 'well' : 'unanswered'),
        (error) => String(error.name),
      )
      return during(ended)
    },
    rest,
    during,
  }
  return made
}

/** POSTs as pages send them. */
export const post = (body: string, headers: Record<string, string> = {}, url: string = ORDERS): Request =>
  new Request(url, { method: 'POST', body, headers })

/** Workbox's own queue, which fills its own database. */
export async function workbox(name = 'orders'): Promise<WorkboxQueue> {
  const { Queue: Real } = await silently(() => import('workbox-background-sync/Queue.js'))
  return old(Real, name)
}

/** That of Serwist, which began as a copy of Workbox. */
export async function serwist(name = 'orders'): Promise<WorkboxQueue> {
  const { BackgroundSyncQueue } = await silently(() => import('serwist'))
  return old(BackgroundSyncQueue, name)
}

function silently<T>(load: () => Promise<T>): Promise<T> {
  vi.stubEnv('NODE_ENV', 'production') // else it says all that it does
  return load()
}

function old(Real: object, name: string): WorkboxQueue {
  const Made = Real as (new (name: string) => WorkboxQueue) & { readonly _queueNames: Set<string> }
  Made._queueNames.clear()
  const { addEventListener } = globalThis
  // its worker is gone when ours hears a sync
  globalThis.addEventListener = () => {}
  try {
    return new Made(name)
  } finally {
    globalThis.addEventListener = addEventListener
  }
}

/** What Workbox's database holds, or that of Serwist. */
export async function rowsOfWorkbox(database?: string): Promise<Record<string, unknown>[]> {
  const db = await openWorkbox(database)
  const rows = await asked<Record<string, unknown>[]>(db.transaction('requests').objectStore('requests').getAll())
  db.close()
  return rows
}

/** Changes what it holds by hand. */
export async function changeWorkbox(change: (store: IDBObjectStore) => void): Promise<void> {
  const db = await openWorkbox()
  const transaction = db.transaction('requests', 'readwrite')
  change(transaction.objectStore('requests'))
  await new Promise((resolve) => {
    transaction.oncomplete = resolve
  })
  db.close()
}

const openWorkbox = (name = 'workbox-background-sync'): Promise<IDBDatabase> => asked(indexedDB.open(name))

const asked = <T>(request: IDBRequest): Promise<T> =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })
