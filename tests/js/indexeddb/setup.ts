// Stores on a database of their own, and what a program without redrive sees of it.
import 'fake-indexeddb/auto'
import { onTestFinished, vi } from 'vitest'
import type { TaskStore } from '../../../js/api/store.ts'
import { done } from '../../../js/stores/indexeddb/transact.ts'
import { type IndexedDbStoreOptions, indexedDbStore } from '../../../js/stores/indexeddb.ts'

let names = 0

/** Of a queue whose database is not there yet. */
export const freshName = (): string => `test-${process.pid}-${++names}`

export function openStore(name: string, options: Omit<IndexedDbStoreOptions, 'name'> = {}): TaskStore {
  const store = indexedDbStore({ name, ...options })
  onTestFinished(() => store.close())
  return store
}

/** As another tab has it: with modules of its own, so that it shares nothing but what tabs share. */
export async function openInOtherTab(
  name: string,
  options: Omit<IndexedDbStoreOptions, 'name'> = {},
): Promise<TaskStore> {
  vi.resetModules()
  const { indexedDbStore: open } = await import('../../../js/stores/indexeddb.ts')
  const store = open({ name, ...options })
  onTestFinished(() => store.close())
  return store
}

const ALL = ['tasks', 'bodies', 'attempts', 'lanes', 'meta'] as const

/** In one transaction, whatever version the database has. */
export async function edit<T>(name: string, work: (tx: IDBTransaction) => Promise<T>): Promise<T> {
  const database = await done(indexedDB.open(`redrive-${name}`))
  try {
    const tx = database.transaction([...ALL], 'readwrite')
    const over = new Promise<void>((resolve, reject) => {
      tx.oncomplete = () => resolve()
      tx.onabort = () => reject(tx.error)
    })
    const result = await work(tx)
    await over
    return result
  } finally {
    database.close()
  }
}

/** Changes one task's row behind the store's back. */
export async function editRow(name: string, taskId: string, change: Record<string, unknown>): Promise<void> {
  await edit(name, async (tx) => {
    const tasks = tx.objectStore('tasks')
    await done(tasks.put({ ...(await done(tasks.get(taskId))), ...change }))
  })
}

export const rowOf = (name: string, taskId: string): Promise<Record<string, unknown> | undefined> =>
  edit(name, (tx) => done(tx.objectStore('tasks').get(taskId)))

export const drop = (name: string): Promise<unknown> => done(indexedDB.deleteDatabase(`redrive-${name}`))

export interface Asked {
  transactions: number
  requests: number
  /** Rows that were given by `getAll`. */
  rows: number
}

/** What is asked of the database while `work` runs. */
export async function asked(work: () => Promise<unknown>): Promise<Asked> {
  const counts: Asked = { transactions: 0, requests: 0, rows: 0 }
  const spies = [IDBObjectStore, IDBIndex].flatMap(({ prototype }) =>
    ['get', 'getKey', 'getAll', 'getAllKeys', 'put', 'add', 'delete', 'count', 'openCursor', 'openKeyCursor']
      .filter((method) => method in prototype)
      .map((method) => spyOn(prototype, method, counts)),
  )
  const begin = IDBDatabase.prototype.transaction
  const transactions = vi.spyOn(IDBDatabase.prototype, 'transaction').mockImplementation(function (
    this: IDBDatabase,
    ...args: Parameters<typeof begin>
  ) {
    counts.transactions++
    return begin.apply(this, args)
  })
  try {
    await work()
  } finally {
    for (const spy of [...spies, transactions]) spy.mockRestore()
  }
  return counts
}

function spyOn(prototype: object, method: string, counts: Asked): { mockRestore(): void } {
  const target = prototype as Record<string, (...args: unknown[]) => IDBRequest>
  const real = target[method] as (...args: unknown[]) => IDBRequest
  target[method] = function (this: unknown, ...args) {
    counts.requests++
    const request = real.apply(this, args)
    if (method === 'getAll') {
      request.addEventListener('success', () => {
        counts.rows += request.result.length
      })
    }
    return request
  }
  return {
    mockRestore() {
      target[method] = real
    },
  }
}
