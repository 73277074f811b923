/** IndexedDB that fails on demand: the real events of fake-indexeddb, at the moments that a browser takes for them. */
import { IDBFactory } from 'fake-indexeddb'
import { expect, onTestFinished, vi } from 'vitest'
import { Connection, type Layout, type Work } from '../../../js/stores/indexeddb/connection.ts'
import { done } from '../../../js/stores/indexeddb/transact.ts'

export const notes: Layout = { version: 1, upgrade: (database) => void database.createObjectStore('notes') }

export const error = (name: string): DOMException => new DOMException(`injected ${name}`, name)

/** What fake-indexeddb has and browsers keep to themselves. */
interface Inner {
  _abort(name: string): void
  _execRequestAsync(request: { readonly source: IDBObjectStore; readonly operation: () => never }): IDBRequest
}
const inner = (tx: IDBTransaction): Inner => tx as unknown as Inner

/** The engine ends the transaction by itself. */
export const engineAborts = (tx: IDBTransaction, name: string): void => inner(tx)._abort(name)

/** The browser takes the connection away. Of what was under way neither `complete` nor `abort` is heard, as in Chromium (156). */
export function closesSilently(database: IDBDatabase): void {
  const phases = { CAPTURING_PHASE: 1, AT_TARGET: 2, BUBBLING_PHASE: 3 }
  database.dispatchEvent({ type: 'close', initialized: true, eventPath: [], ...phases } as unknown as Event)
}

/** One more request of `tx`, which fails. */
export function failingRequest(tx: IDBTransaction, failure: DOMException): IDBRequest {
  const operation = (): never => {
    throw failure
  }
  return inner(tx)._execRequestAsync({ source: tx.objectStore('notes'), operation })
}

/** A request whose error is heard in a task of its own, as in browsers, where the engine aborts only after it. */
export function earlyFailure(failure: DOMException): IDBRequest {
  const request = { error: failure } as { -readonly [K in keyof IDBRequest]: IDBRequest[K] }
  queueMicrotask(() => request.onerror?.(new Event('error')))
  return request
}

/** An error of ours, and words of its message in their order. */
export const fails = (code: string, ...words: string[]): unknown =>
  expect.objectContaining({ code, message: expect.stringMatching(new RegExp(words.join('.*'))) })

export const put =
  (value: string): Work<string> =>
  async (tx) => {
    await done(tx.objectStore('notes').put(value, 'note'))
    return value
  }
export const get: Work<string | undefined> = (tx) => done<string | undefined>(tx.objectStore('notes').get('note'))

export interface Setup {
  readonly factory: IDBFactory
  readonly connection: Connection
  /** Opens that were asked of the browser. */
  readonly opens: () => number
  /** What the next opens do instead. */
  readonly opening: (() => IDBOpenDBRequest)[]
  /** What the next transactions do before anything else. */
  readonly starting: (() => void)[]
}

export function setup(layout: Layout = notes, factory: IDBFactory = new IDBFactory()): Setup {
  const opening: (() => IDBOpenDBRequest)[] = []
  const starting: (() => void)[] = []
  const open = vi.fn((name: string, version: number): IDBOpenDBRequest => {
    const instead = opening.shift()
    if (instead) return instead()
    const request = factory.open(name, version)
    request.addEventListener('success', () => {
      const { result } = request
      const transaction = result.transaction.bind(result)
      result.transaction = (...terms) => {
        starting.shift()?.()
        return transaction(...terms)
      }
    })
    return request
  })
  const faulty = { open } as unknown as IDBFactory
  const connection = new Connection({ name: 'test', layout, stores: ['notes'], factory: faulty })
  onTestFinished(() => connection.close())
  return { factory, connection, opens: () => open.mock.calls.length, opening, starting }
}

/** An open that fails by an event. */
export function failedOpen(failure: DOMException): IDBOpenDBRequest {
  const request = { error: failure } as { -readonly [K in keyof IDBOpenDBRequest]: IDBOpenDBRequest[K] }
  queueMicrotask(() => request.onerror?.({ preventDefault() {} } as Event))
  return request
}

/** A plain connection of a page that gives way to nobody. */
export async function stubborn(factory: IDBFactory, version: number): Promise<IDBDatabase> {
  const request = factory.open('test', version)
  request.onupgradeneeded = () => void request.result.createObjectStore('notes')
  return done(request)
}
