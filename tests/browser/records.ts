/** The records of every database of a page's origin, as the browser gives them: what a search of the files may have missed. */
import type { Page } from 'playwright-core'

export interface DumpedStore {
  readonly database: string
  readonly store: string
  /** Keys and values; bytes as one character each, so that text in them can be found. */
  readonly records: readonly (readonly [key: unknown, value: unknown])[]
}

export function recordsOf(page: Page): Promise<readonly DumpedStore[]> {
  return page.evaluate(async () => {
    const done = <T>(request: IDBRequest<T>) =>
      new Promise<T>((resolve, reject) => {
        request.onsuccess = () => resolve(request.result)
        request.onerror = () => reject(request.error)
      })
    const readable = (value: unknown): unknown => {
      if (value instanceof ArrayBuffer || ArrayBuffer.isView(value)) return new TextDecoder('latin1').decode(value)
      if (Array.isArray(value)) return value.map(readable)
      if (typeof value === 'object' && value !== null) {
        return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, readable(part)]))
      }
      return value
    }
    const dumped: DumpedStore[] = []
    for (const { name: database = '' } of await indexedDB.databases()) {
      const open = await done(indexedDB.open(database))
      for (const store of open.objectStoreNames) {
        const kept = open.transaction(store).objectStore(store)
        const [keys, values] = await Promise.all([done(kept.getAllKeys()), done(kept.getAll())])
        // noise that fills room: see js/stores/indexeddb/quota-reserve.ts
        const shown = keys.flatMap((key, i) =>
          key === 'ballast' ? [] : [[readable(key), readable(values[i])] as const],
        )
        dumped.push({ database, store, records: shown })
      }
      open.close()
    }
    return dumped
  })
}
