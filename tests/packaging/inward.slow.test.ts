// Names of properties that the build shortens must be nobody else's: not in what users write against, and not the
// platform's.
import 'fake-indexeddb/auto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { inward } from '../../scripts/build/bundle.mjs'
import { unpacked } from './pack.ts'

const names = inward.split(' ')

const { exports } = JSON.parse(readFileSync(join(unpacked, 'package.json'), 'utf8')) as {
  exports: Readonly<Record<string, { readonly types?: string }>>
}
/**
 * Named by the declarations of an entry, and out of reach of its users. Of what `redrive/internal` names the other two packages, whose names stay as they are,
 * use no more than functions, and of a `Rule` what has no short name.
 */
const OUT_OF_REACH =
  /^types\/(api\/(registry|leases)|options\/check|call\/(transport|discard|redirects)|platform\/(random|uuid7)|stores\/(memory\/rows|engine\/places))\.d\.ts$/

/** The declarations of an entry, and those that they import. */
function declarations(path: string, found: Set<string> = new Set()): Set<string> {
  if (found.has(path) || !existsSync(join(unpacked, path))) return found
  found.add(path)
  const imported = readFileSync(join(unpacked, path), 'utf8').matchAll(/from ['"](\.[^'"]+)\.[jt]s['"]/g)
  for (const [, other = ''] of imported) declarations(join(dirname(path), `${other}.d.ts`), found)
  return found
}

/** What users can see of the package. The Workers' entries have the same declarations. */
const PUBLIC = [
  ...new Set(Object.values(exports).flatMap(({ types }) => (types ? [...declarations(join(types))] : []))),
].filter((path) => path.startsWith('types/') && !OUT_OF_REACH.test(path))

/** What the queue makes of its options: no entry exports it. */
const INWARD_TYPES = /export interface (Idempotency)?Settings [\s\S]*?\n}/g

/** Declarations without their comments and texts. */
function wordsOf(file: string): Set<string> {
  const text = readFileSync(join(unpacked, file), 'utf8')
  const bare = text.replace(INWARD_TYPES, ' ').replace(/\/\*[\s\S]*?\*\/|\/\/.*$|'[^'\n]*'|"[^"\n]*"/gm, ' ')
  return new Set(bare.match(/[\w$]+/g))
}

test('no shortened name is in a declaration that users can see', () => {
  expect(PUBLIC.length).toBeGreaterThan(90)
  const seen = PUBLIC.flatMap((file) => {
    const words = wordsOf(file)
    return names.filter((name) => words.has(name)).map((name) => `${name} in ${file}`)
  })
  expect(seen).toEqual([])
})

test('no shortened name is one of the platform’s', () => {
  const platform = [
    Response,
    Request,
    Headers,
    URL,
    AbortSignal,
    AbortController,
    DOMException,
    ReadableStream,
    Promise,
  ]
  const more = [Map, Set, Array, String, Function, Object, Error, Event, EventTarget, WebAssembly.Memory, Uint8Array]
  const owned = new Set<string>(Object.getOwnPropertyNames(globalThis))
  for (const each of [...platform, ...more]) {
    for (const of of [each, each.prototype]) {
      for (let at = of; at; at = Object.getPrototypeOf(at)) {
        for (const name of Object.getOwnPropertyNames(at)) owned.add(name)
      }
    }
  }
  expect(owned.has('throwIfAborted')).toBe(true)
  expect(names.filter((name) => owned.has(name))).toEqual([])
})

test('no chunk exports a shortened name: it would keep it, and be asked for by the short one', () => {
  const files = readdirSync(unpacked).filter((name) => name.endsWith('.js'))
  expect(files.length).toBeGreaterThan(8)
  const exported = files.flatMap((name) => {
    const code = readFileSync(join(unpacked, name), 'utf8')
    const lists = [...code.matchAll(/export\s*\{([^}]*)\}/g)].flatMap(([, list = '']) => list.split(','))
    return lists.map(
      (each) =>
        each
          .split(/\bas\b/)
          .at(-1)
          ?.trim() ?? '',
    )
  })
  expect(exported).toContain('prepare')
  expect(names.filter((name) => exported.includes(name))).toEqual([])
})

test('nothing that is stored has a shortened name: another version would not find it there', async () => {
  const { RetryQueue } = await import(pathToFileURL(join(unpacked, 'index.js')).href)
  const { indexedDbStore } = await import(pathToFileURL(join(unpacked, 'indexeddb.js')).href)
  const store = indexedDbStore({ name: 'inward' })
  const fetch = async () => new Response('', { status: 503 })
  const queue = new RetryQueue({ principal: 'ann', store, fetch })
  const failed = new Promise((resolve) => queue.on('retry', resolve))
  await queue.enqueue('https://api.test/a', { method: 'POST', body: 'x', redrive: { orderKey: 'one' } })
  await failed
  await queue.close()
  const database = await done(indexedDB.open('redrive-inward'))
  const names = new Set<string>()
  for (const each of database.objectStoreNames) {
    namesIn(await done(database.transaction(each).objectStore(each).getAll()), names)
  }
  database.close()
  expect(names.size).toBeGreaterThan(80)
  expect([...names].filter((name) => name.length < 3)).toEqual(['id'])
})

function namesIn(value: unknown, names: Set<string>): void {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return
  for (const [name, part] of Object.entries(value)) {
    if (!Array.isArray(value)) names.add(name)
    namesIn(part, names)
  }
}

const done = <T>(request: IDBRequest<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })
