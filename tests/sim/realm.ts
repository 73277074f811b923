/**
 * What a page's own store finds in its browser: one database, one set of locks and one channel for all tabs.
 *
 * All tabs of a world have their modules in common, as the tabs of a browser have not: each is given a store name of its
 * own, and whatever it asks for under that name is the world's.
 */

import { IDBFactory, IDBKeyRange } from 'fake-indexeddb'
import type { Hint, TaskStore } from '../../js/api/store.ts'
import { indexedDbStore } from '../../js/stores/indexeddb.ts'
import type { TermsOptions } from '../../js/stores/store-options.ts'
import { type Held, Locks } from './locks.ts'
import type { Page } from './page.ts'

const WORLD = 'world'
let pages = 0

export class Realm {
  readonly locks: Locks = new Locks()
  readonly #terms: TermsOptions
  readonly #factory = new IDBFactory()
  readonly #channels = new Set<Channel>()

  constructor(terms: TermsOptions) {
    this.#terms = terms
  }

  leaderOf(principal: string | null): string {
    return `redrive/${WORLD}${principal === null ? '' : ` ${principal}`}`
  }

  homeOf(owner: string): string {
    return `redrive/${WORLD}/${owner}`
  }

  /** All that is in its databases. */
  async contents(): Promise<readonly unknown[]> {
    const databases = await this.#factory.databases()
    return Promise.all(databases.map(({ name = '' }) => this.#contentsOf(name)))
  }

  async #contentsOf(name: string): Promise<readonly unknown[]> {
    const database = await answerTo(this.#factory.open(name))
    const names = [...database.objectStoreNames]
    const reading = database.transaction(names)
    const contents = await Promise.all(names.map((each) => answerTo(reading.objectStore(each).getAll())))
    database.close()
    return contents
  }

  /** A store as a tab has it. `letGo`: the tab is gone. */
  connect(page: Page): { readonly store: TaskStore; readonly letGo: () => void } {
    const name = `tab${++pages}`
    let gone = false
    const shared = (own: string) => own.replace(name, WORLD)
    const request = this.#requests(page, name, () => gone)
    const locks = { request, query: async () => this.#snapshot(name) }
    const channels = this.#channels
    page.realm = {
      locks,
      indexedDB: {
        // a tab that is gone opens nothing any more
        open: (own: string, version?: number) => (gone ? new EventTarget() : this.#factory.open(shared(own), version)),
      },
      IDBKeyRange,
      BroadcastChannel: class extends Channel {
        constructor(own: string) {
          super(shared(own), page, channels)
        }
      },
    }
    const store = page.run(() => indexedDbStore({ ...this.#terms, name }))
    const letGo = () => {
      gone = true
      this.locks.end(page)
      for (const channel of channels) if (channel.page === page) channel.close()
    }
    return { store: asSure(inPage(store, page)), letGo }
  }

  #requests(page: Page, name: string, isGone: () => boolean) {
    return (own: string, options: LockOptions, callback: LockGrantedCallback<unknown>): Promise<unknown> =>
      new Promise((resolve, reject) => {
        const { signal, mode = 'exclusive', steal = false } = options
        if (isGone()) return
        if (signal?.aborted) return reject(signal.reason)
        let held: Held | undefined
        const granted = async () => {
          try {
            resolve(await callback({ name: own, mode }))
          } catch (error) {
            reject(error)
          } finally {
            held?.release()
          }
        }
        const lost = () => reject(new DOMException('stolen', 'AbortError'))
        held = this.locks.request(page, own.replace(name, WORLD), granted, { mode, steal, lost })
        signal?.addEventListener('abort', () => {
          if (held?.isHeld) return
          held?.release()
          reject(signal.reason)
        })
      })
  }

  #snapshot(name: string): LockManagerSnapshot {
    const own = (shared: string) => ({ name: shared.replace(WORLD, name), mode: 'exclusive', clientId: '' }) as const
    const held = this.locks.held()
    const pending = this.locks.names().filter((shared) => this.locks.waiting(shared).length > 0)
    return { held: held.map(own), pending: pending.map(own) }
  }
}

function answerTo<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })
}

class Channel {
  readonly name: string
  readonly page: Page
  onmessage: ((event: { readonly data: unknown }) => void) | null = null
  readonly #channels: Set<Channel>

  constructor(name: string, page: Page, channels: Set<Channel>) {
    this.name = name
    this.page = page
    this.#channels = channels
    channels.add(this)
  }

  postMessage(data: unknown): void {
    for (const channel of this.#channels) {
      if (channel === this || channel.name !== this.name) continue
      const { page } = channel
      page.overChannel(() => page.run(() => this.#channels.has(channel) && channel.onmessage?.({ data })))
    }
  }

  close(): void {
    this.#channels.delete(this)
  }
}

/** Whoever calls it, it runs as the page. */
function inPage(store: TaskStore, page: Page): TaskStore {
  return new Proxy(store, {
    get(_, name) {
      const value: unknown = Reflect.get(store, name)
      return typeof value === 'function' ? (...args: unknown[]) => page.run(() => value.apply(store, args)) : value
    },
  })
}

/** What a channel loses never comes as far as this: what does is heard. */
function asSure(store: TaskStore): TaskStore {
  const subscribe = (listener: (hint: Hint) => void) =>
    store.subscribe?.((hint) => listener({ ...hint, isSure: true } as Hint)) ?? (() => {})
  return new Proxy(store, {
    get: (_, name) => (name === 'subscribe' ? subscribe : Reflect.get(store, name)),
  })
}
