/** A database as JSON, and back: what one version has left on somebody's disk, kept for those that come after it. */

export interface Dump {
  readonly name: string
  readonly version: number
  readonly stores: readonly DumpedStore[]
}

interface DumpedStore {
  readonly name: string
  readonly keyPath: string | string[] | null
  readonly indexes: readonly { readonly name: string; readonly keyPath: string | string[]; readonly unique: boolean }[]
  readonly records: readonly Record[]
}

interface Record {
  readonly key: unknown
  readonly value: unknown
}

const done = <T>(request: IDBRequest<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })

export async function dump(name: string): Promise<Dump> {
  const database = await done(indexedDB.open(name))
  const stores = await Promise.all([...database.objectStoreNames].map((store) => dumpStore(database, store)))
  const { version } = database
  database.close()
  return { name, version, stores }
}

async function dumpStore(database: IDBDatabase, name: string): Promise<DumpedStore> {
  const store = database.transaction(name).objectStore(name)
  const [keys, values] = await Promise.all([done(store.getAllKeys()), done(store.getAll())])
  const indexes = [...store.indexNames].map((index) => {
    const { keyPath, unique } = store.index(index)
    return { name: index, keyPath, unique }
  })
  const records = keys.map((key, i) => ({ key: encode(key), value: encode(values[i]) }))
  return { name, keyPath: store.keyPath, indexes, records }
}

/** Makes the database as it was, under a name of its own if one is given. */
export async function load({ name, version, stores }: Dump, as: string = name): Promise<void> {
  const request = indexedDB.open(as, version)
  request.onupgradeneeded = () => {
    for (const { name, keyPath, indexes } of stores) {
      const store = request.result.createObjectStore(name, { keyPath })
      for (const { name, keyPath, unique } of indexes) store.createIndex(name, keyPath, { unique })
    }
  }
  const database = await done(request)
  for (const { name, keyPath, records } of stores) {
    const store = database.transaction(name, 'readwrite').objectStore(name)
    for (const { key, value } of records) {
      await done(keyPath === null ? store.put(decode(value), decode(key) as IDBValidKey) : store.put(decode(value)))
    }
  }
  database.close()
}

/** A dump as a file keeps it: a record that holds its own key is its value alone. */
export function kept(text: string): Dump {
  const { stores, ...rest } = unfold(JSON.parse(text)) as Dump
  return { ...rest, stores: stores.map((store) => ({ ...store, records: store.records.map(keyed(store)) })) }
}

const keyed =
  ({ keyPath }: DumpedStore) =>
  (record: object) =>
    (typeof keyPath === 'string' ? { key: Reflect.get(record, keyPath), value: record } : record) as Record

/** A list whose entries are alike is `{ "$same": ..., "$each": [...] }` there: each entry adds to what is the same. */
function unfold(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(unfold)
  if (!isFields(value)) return value
  const { $same, $each } = value
  if (isFields($same) && Array.isArray($each)) return $each.map((each) => unfold(added($same, each)))
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, unfold(part)]))
}

interface Fields {
  readonly [name: string]: unknown
}
const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function added(same: Fields, each: Fields): Fields {
  const parts = Object.entries(each).map(([name, part]) => {
    const before = same[name]
    return [name, isFields(before) && isFields(part) ? added(before, part) : part]
  })
  return { ...same, ...Object.fromEntries(parts) }
}

/** What JSON has no word for is written as an object with one name that begins with `$`. */
function encode(value: unknown): unknown {
  if (typeof value === 'number' && !Number.isFinite(value)) return { $number: String(value) }
  if (value === undefined) return { $undefined: true }
  if (value instanceof Uint8Array) return { $bytes: Buffer.from(value).toString('base64') }
  if (Array.isArray(value)) return value.map(encode)
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, encode(part)]))
  }
  return value
}

function decode(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(decode)
  if (typeof value !== 'object' || value === null) return value
  if ('$number' in value) return Number(value.$number)
  if ('$undefined' in value) return undefined
  if ('$bytes' in value) return new Uint8Array(Buffer.from(String(value.$bytes), 'base64'))
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, decode(part)]))
}
