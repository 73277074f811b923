/**
 * Workbox's own database, or that of Serwist, as far as it is taken over: its entries are marked, read and deleted, and none is made. It may be in use by an older
 * worker at the same time, whose entries come and go; so each step is one transaction, and none writes an entry back that is gone.
 */

import type { RequestData } from './requests.ts'

/** Serwist began as a copy of Workbox: its entries are the same, in a database of its own. */
export const DATABASES = ['workbox-background-sync', 'serwist-background-sync'] as const
export type DatabaseName = (typeof DATABASES)[number]
const STORE = 'requests'
const INDEX = 'queueName'
/** The field that is added to an entry. Workbox passes over it, also where a deploy is taken back. */
const MARK = 'redrive'

/** An entry by its id and mark: an id may be another entry's by now. */
export interface Marked {
  readonly database: DatabaseName
  readonly id: IDBValidKey
  readonly mark: string
}

export interface WorkboxEntry {
  readonly requestData: RequestData
  readonly timestamp: number
  readonly metadata?: object
}

export interface Found {
  /** In their order. */
  readonly marked: readonly Marked[]
  /** Entries that are left alone: they are none that Workbox 5 to 7 has written. */
  readonly unreadable: number
}

type Row = Readonly<Record<string, unknown>>

export class WorkboxDatabase {
  readonly #name: DatabaseName
  readonly #db: IDBDatabase

  private constructor(name: DatabaseName, db: IDBDatabase) {
    this.#name = name
    this.#db = db
    // a later Workbox may want another version of it
    db.onversionchange = () => db.close()
  }

  /** undefined: there is none. */
  static async open(name: DatabaseName = DATABASES[0]): Promise<WorkboxDatabase | undefined> {
    const db = await openExisting(name)
    if (!db) return undefined
    const { objectStoreNames } = db
    if (objectStoreNames.contains(STORE) && db.transaction(STORE).objectStore(STORE).indexNames.contains(INDEX)) {
      return new WorkboxDatabase(name, db)
    }
    db.close()
    return undefined
  }

  close(): void {
    this.#db.close()
  }

  /**
   * Gives each entry of a queue a mark that it keeps, and deletes those from before `since`. The marks are on the disk once it has resolved:
   * who takes an entry over twice is to know it again.
   */
  mark(queueName: string, since: number, makeMark: () => string): Promise<Found> {
    const marked: Marked[] = []
    let unreadable = 0
    return this.#write('strict', (store) => {
      const request = store.index(INDEX).openCursor(IDBKeyRange.only(queueName))
      request.onsuccess = () => {
        const cursor = request.result
        if (!cursor) return
        const row = cursor.value as Row
        const entry = entryOf(row)
        if (!entry) unreadable++
        else if (entry.timestamp < since) cursor.delete()
        else {
          const known = markOf(row)
          const mark = known ?? makeMark()
          if (known === undefined) cursor.update({ ...row, [MARK]: mark })
          marked.push({ database: this.#name, id: cursor.primaryKey, mark })
        }
        cursor.continue()
      }
    }).then(() => ({ marked, unreadable }))
  }

  /** undefined: it is gone, or another one has its id. */
  async read({ id, mark }: Marked): Promise<WorkboxEntry | undefined> {
    const row = await new Promise<unknown>((resolve, reject) => {
      const request = this.#db.transaction(STORE).objectStore(STORE).get(id)
      request.onsuccess = () => resolve(request.result)
      request.onerror = () => reject(request.error)
    })
    return isRow(row) && markOf(row) === mark ? entryOf(row) : undefined
  }

  async delete({ id, mark }: Marked): Promise<void> {
    await this.#write('relaxed', (store) => {
      const request = store.get(id)
      request.onsuccess = () => {
        if (isRow(request.result) && markOf(request.result) === mark) store.delete(id)
      }
    })
  }

  #write(durability: IDBTransactionDurability, work: (store: IDBObjectStore) => void): Promise<void> {
    return new Promise((resolve, reject) => {
      const transaction = this.#db.transaction(STORE, 'readwrite', { durability })
      transaction.oncomplete = () => resolve()
      transaction.onabort = () => reject(transaction.error)
      work(transaction.objectStore(STORE))
    })
  }
}

/** Opens it as it is: one that is not there is not made. */
function openExisting(name: DatabaseName): Promise<IDBDatabase | undefined> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(name)
    let isNew = false
    request.onupgradeneeded = () => {
      isNew = true
      request.transaction?.abort()
    }
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => (isNew ? resolve(undefined) : reject(request.error))
  })
}

const isBuffer = (value: unknown): boolean => Object.prototype.toString.call(value) === '[object ArrayBuffer]'
const isRow = (value: unknown): value is Row => typeof value === 'object' && value !== null

function markOf(row: Row): string | undefined {
  const mark = row[MARK]
  return typeof mark === 'string' && mark !== '' ? mark : undefined
}

/** The parts of an entry that are used, if they are what Workbox writes. Whether they make a request, the platform says. */
function entryOf({ requestData, timestamp, metadata }: Row): WorkboxEntry | undefined {
  if (typeof timestamp !== 'number' || Number.isNaN(timestamp) || !isRow(requestData)) return undefined
  const { url, headers, body } = requestData
  const isSound = typeof url === 'string' && isRow(headers) && (body === undefined || isBuffer(body))
  if (!isSound) return undefined
  const data = requestData as unknown as RequestData
  return { requestData: data, timestamp, ...(isRow(metadata) && { metadata }) }
}
