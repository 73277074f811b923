/** Bytes that have changed on the disk: what can be mended is, what cannot is put aside, and the queue goes on. */

import {
  closeSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { expect, test } from 'vitest'
import type { TaskStore } from '../../js/api/store.ts'
import { sqliteStore } from '../../js/stores/sqlite.ts'
import { setup } from './service/service-setup.ts'
import { QUICK_FOLDER } from './sqlite/quick-folder.ts'
import { edit, freshPath, openStore, soundnessOf } from './sqlite/setup.ts'
import { claimOf, succeeded, taskOf } from './sqlite/words.ts'
import { TERMS } from './store-contract/kit.ts'

const TASKS = 60

/** A file with tasks, closed, so that all is in the file itself. */
async function filled(otherBytes = 0): Promise<string> {
  const path = freshPath(QUICK_FOLDER)
  const store = openStore(path)
  if (otherBytes > 0) await store.enqueue([taskOf(-1, { body: new Uint8Array(otherBytes), dueInMs: 80_000_000 })])
  for (let n = 0; n < TASKS; n++) {
    const body = new Uint8Array(600).fill(n)
    await store.enqueue([taskOf(n, { body, ...(n % 10 === 0 && { orderKey: 'a' }), deadlineInMs: 80_000_000 + n })])
  }
  await store.close()
  return path
}

/** Where a page begins of a table or an index: its root, or the leaf that is its first. */
function pageOf(path: string, name: string, which: 'root' | 'leaf'): { readonly from: number; readonly to: number } {
  return edit(path, (database) => {
    const found = database.prepare(`SELECT pageno, pagetype FROM dbstat WHERE name = ? ORDER BY path`).all(name)
    const leaf = found.find(({ pagetype }) => pagetype === 'leaf')
    const { page_size: size } = database.prepare('PRAGMA page_size').get() as { page_size: number }
    const page = Number((which === 'root' ? found[0] : leaf)?.pageno)
    return { from: (page - 1) * size, to: page * size }
  })
}

/** Writes over the first bytes of a page. */
function damage(path: string, name: string, which: 'root' | 'leaf', bytes = 64): void {
  const file = openSync(path, 'r+')
  writeSync(file, new Uint8Array(bytes).fill(0xa5), 0, bytes, pageOf(path, name, which).from)
  closeSync(file)
}

/** Changes one bit of `text`, in the middle of the places where a leaf has it: in the byte that is `at` places into it. */
function flip(path: string, name: string, text: string, at: number): void {
  const bytes = readFileSync(path)
  const { from, to } = pageOf(path, name, 'leaf')
  const found: number[] = []
  for (let i = bytes.indexOf(text, from); i >= 0 && i < to; i = bytes.indexOf(text, i + 1)) found.push(i)
  const place = found[found.length >> 1]
  if (place === undefined) throw new Error(`${name} has no '${text}' there`)
  bytes[place + at] = (bytes[place + at] ?? 0) ^ 0x10
  writeFileSync(path, bytes)
}

interface Told {
  readonly store: TaskStore
  readonly reports: string[]
  readonly messages: string[]
}

function opened(path: string): Told {
  const store = openStore(path)
  const reports: string[] = []
  const messages: string[] = []
  store.configure?.(TERMS, (code, message) => {
    reports.push(code)
    messages.push(message)
  })
  return { store, reports, messages }
}

/** Delivers what is there; gives the tasks whose body came whole. */
async function drain(store: TaskStore): Promise<number[]> {
  const delivered: number[] = []
  for (let turns = 0; turns < 40; turns++) {
    const { claimed } = await store.turn({ owner: 'test', settle: [], renew: [], claim: claimOf(20) })
    if (claimed.length === 0) break
    for (const { task } of claimed) {
      const body = await store.body(task.taskId)
      if (body?.byteLength === 600) delivered.push(body[0] ?? -1)
    }
    await store.turn({ owner: 'test', settle: claimed.map(({ lease }) => succeeded(lease)), renew: [], claim: null })
  }
  return delivered.sort((a, b) => a - b)
}

const INDEXES = [
  'tasks_due',
  'tasks_soonest',
  'tasks_deadlines',
  'tasks_orders',
  'tasks_keys',
  'tasks_own',
  'tasks_dead',
  'sqlite_autoindex_tasks_1',
  'lanes_ready',
  'lanes_next',
  'line_first',
]

test.for(INDEXES)('S1 L1 the index %s is damaged: it is built anew, and every task is delivered', async (name) => {
  const path = await filled()
  damage(path, name, 'root')
  const { store, reports } = opened(path)
  await store.enqueue([taskOf(TASKS, { body: new Uint8Array(600).fill(TASKS) })])
  expect(await drain(store)).toEqual(Array.from({ length: TASKS + 1 }, (_, n) => n))
  expect(reports.filter((code) => code !== 'storage_damaged')).toEqual([])
  expect(soundnessOf(path)).toBe('ok')
})

test.for(['tasks', 'bodies', 'lanes', 'line', 'state'] as const)(
  'S1 S20 a page of the table %s is damaged: what can be read is delivered, the file is put aside, and it is said',
  async (name) => {
    const path = await filled()
    damage(path, name, 'leaf')
    const { store, reports } = opened(path)
    await store.enqueue([taskOf(TASKS, { body: new Uint8Array(600).fill(TASKS) })])
    const delivered = await drain(store)
    expect(delivered).toContain(TASKS)
    // a page has few rows of tasks, and fewer bodies
    expect(delivered.length).toBeGreaterThan(TASKS - 20)
    if (name !== 'tasks' && name !== 'bodies') expect(delivered).toHaveLength(TASKS + 1)
    expect(reports).toContain('storage_damaged')
    expect(readdirSync(dirname(path)).some((file) => file.includes('.damaged-'))).toBe(true)
    expect(soundnessOf(path)).toBe('ok')
  },
)

test('a file that is no database any more is left alone, and nothing is said to be stored', async () => {
  const path = await filled()
  const file = openSync(path, 'r+')
  writeSync(file, new Uint8Array(100), 0, 100, 0)
  closeSync(file)
  const { store } = opened(path)
  await expect(store.enqueue([taskOf(TASKS)])).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' })
  await expect(store.turn({ owner: 'test', settle: [], renew: [], claim: claimOf(1) })).rejects.toThrow(path)
})

/** Some bytes, one bit of which makes SQLite find nothing, or less than there is. */
const CHANGED: readonly (readonly [name: string, text: string, at: number])[] = [
  ['tasks_due', 'https://api.test', 1],
  ['tasks_soonest', 'https://api.test', 1],
  ['sqlite_autoindex_tasks_1', '00000000-0000-7000', 1],
  ['line_first', 'https://api.test', 1],
]

/** A larger file is not looked at as a whole when it is opened. */
const LARGE = 5 * 2 ** 20

test.for([0, LARGE].flatMap((bytes) => CHANGED.map((changed) => [bytes, ...changed] as const)))(
  'S1 L1 beside %i bytes one bit of the index %s has changed, and SQLite does not stumble: every task is delivered',
  async ([bytes, name, text, at]) => {
    const path = await filled(bytes)
    flip(path, name, text, at)
    const { store, reports } = opened(path)
    expect(await drain(store)).toHaveLength(TASKS)
    expect(reports).toEqual(['storage_damaged'])
  },
)

test.for([
  ['status', 'PENDING', 3],
  ['lane', 'https://api.test', 4],
] as const)(
  'S1 S20 the %s of a row is damaged: it is put aside, counted and told, and all others are delivered',
  async ([, text, at]) => {
    const path = await filled()
    flip(path, 'tasks', text, at)
    const { store, messages } = opened(path)
    expect(await drain(store)).toHaveLength(TASKS - 1)
    expect((await store.counts()).unreadable).toBe(1)
    expect((await store.unreadable?.({ limit: 9 }))?.records).toHaveLength(1)
    expect(messages.join()).toMatch(/damaged.* put aside since they cannot be read: 1;/)
  },
)

test.for([0, 8_192, 40_960])(
  'S1 a file that is cut to %i bytes while it is in use is put aside, and what was stored afterwards is found',
  async (bytes) => {
    const path = await filled()
    const { store, reports } = opened(path)
    await store.enqueue([taskOf(TASKS)])
    expect(await store.counts()).toMatchObject({ pending: TASKS + 1 })
    truncateSync(path, bytes)
    await store.enqueue([taskOf(TASKS + 1)])
    expect(reports).toEqual(['storage_damaged'])
    expect(readdirSync(dirname(path)).filter((name) => name.includes('.damaged-'))).toHaveLength(1)
    await store.enqueue([taskOf(TASKS + 2)])
    await store.close()
    const after = openStore(path)
    for (const n of [TASKS + 1, TASKS + 2]) expect(await after.get(taskOf(n).taskId)).toBeDefined()
    expect(soundnessOf(path)).toBe('ok')
  },
)

test('a file that another process has written anew, smaller than it was, is no damage', async () => {
  const path = await filled()
  const { store, reports } = opened(path)
  await store.counts()
  const size = statSync(path).size
  const other = openStore(path)
  await other.purgeAll()
  expect(statSync(path).size).toBeLessThan(size)
  await store.enqueue([taskOf(TASKS)])
  expect(await store.counts()).toMatchObject({ pending: 1 })
  expect(reports).toEqual([])
})

test.for([
  ['CREATE INDEX lanes_next', TASKS],
  ['CREATE INDEX tasks_aside', TASKS],
  ['CREATE TABLE homes', TASKS],
  ['CREATE TABLE tasks', 0],
] as const)(
  'S1 S20 SQLite cannot say which tables there are (%s): what it still knows is brought into a new file, and told',
  async ([text, count]) => {
    const path = await filled()
    const bytes = readFileSync(path)
    const at = bytes.indexOf(text) + 3
    bytes[at] = (bytes[at] ?? 0) ^ 1
    writeFileSync(path, bytes)
    const { store, reports } = opened(path)
    await store.enqueue([taskOf(TASKS, { body: new Uint8Array(600).fill(TASKS) })])
    expect(await drain(store)).toHaveLength(count + 1)
    expect(reports).toEqual(['storage_damaged'])
    expect(readdirSync(dirname(path)).some((file) => file.includes('.damaged-'))).toBe(true)
  },
)

test('S20 a service logs the damage that its first question has found, before its queue listens', async () => {
  const path = freshPath(QUICK_FOLDER)
  const store = sqliteStore({ path, everyone: true })
  await store.counts()
  await store.close()
  damage(path, 'tasks', 'root')
  const { log } = await setup({ store: sqliteStore({ path, everyone: true }) })
  expect(log).toContainEqual(
    expect.objectContaining({ code: 'storage_damaged', message: expect.stringContaining(`'${path}.damaged-`) }),
  )
})
