/**
 * One open of the database. It cannot be taken back, and a second one would only wait behind it: so it is kept until it
 * answers, however late, and the wait for it is bounded.
 */

import { type Clock, within } from '../../platform/clock.ts'
import { Lost, translated, unavailable } from './failures.ts'

/** Longest wait for an open, in real milliseconds. */
const OPEN_MS = 3_000

/** The make of a database. */
export interface Layout {
  readonly version: number
  /** Makes of version `from`, 0 for none, the present one. A throw leaves the database as it was. */
  upgrade(database: IDBDatabase, tx: IDBTransaction, from: number): void
}

export class Opening {
  /** However late. Rejects with `Lost` where another open may do better. */
  readonly opened: Promise<IDBDatabase>
  readonly #name: string
  #isBlocked = false

  constructor(factory: IDBFactory | undefined, name: string, layout: Layout) {
    this.#name = name
    this.opened = this.#open(factory, layout)
    this.opened.catch(() => {}) // no call may be waiting any more
  }

  /** Rejects with a RedriveError where it takes longer than 3 s. */
  within(timer: Clock): Promise<IDBDatabase> {
    let isAnswered = false
    const answer = this.opened.finally(() => {
      isAnswered = true
    })
    return within(timer, OPEN_MS, 'opening the database', answer).catch((error: unknown) => {
      throw isAnswered ? error : this.#unanswered(error)
    })
  }

  #unanswered(cause: unknown): Error {
    return unavailable(
      this.#name,
      this.#isBlocked
        ? 'another tab holds it open in an earlier version; close or reload the other tabs of this site'
        : 'the browser has not opened it for 3 s; close the other tabs of this site, or restart the browser',
      cause,
    )
  }

  async #open(given: IDBFactory | undefined, layout: Layout): Promise<IDBDatabase> {
    const name = this.#name
    const request = ask(given, name, layout.version)
    return new Promise((resolve, reject) => {
      let thrown: { readonly error: unknown } | undefined
      let cause: DOMException | null = null
      request.onblocked = () => {
        this.#isBlocked = true
      }
      request.onupgradeneeded = ({ oldVersion }) => {
        const tx = request.transaction as IDBTransaction // there is one during an upgrade
        // of the transaction's error the request only says 'AbortError'
        tx.onabort = () => {
          cause = tx.error
        }
        try {
          layout.upgrade(request.result, tx, oldVersion)
        } catch (error) {
          thrown = { error }
          tx.abort()
        }
      }
      request.onsuccess = () => resolve(request.result)
      request.onerror = (event) => {
        event.preventDefault() // Firefox would report it as unhandled
        reject(thrown ? thrown.error : translated(cause ?? request.error, name))
      }
    })
  }
}

function ask(given: IDBFactory | undefined, name: string, version: number): IDBOpenDBRequest {
  let factory: IDBFactory | undefined
  try {
    factory = given ?? globalThis.indexedDB // where storage is forbidden, reading it may throw
    if (factory) return factory.open(name, version)
  } catch (error) {
    const failure = translated(error, name)
    throw failure instanceof Lost
      ? unavailable(name, 'the browser refused to open it; allow site data for this page', error)
      : failure
  }
  throw unavailable(name, 'there is no IndexedDB here; allow site data for this page, or use another store')
}
