/** A file that is deleted, moved or replaced while it is in use: what was said to be stored is in the file that its path leads to. */

import { existsSync, mkdirSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import type { TaskStore } from '../../js/api/store.ts'
import { fakeClock } from '../../js/testing.ts'
import { bySize } from '../size.ts'
import { ended, linesOf, start, wordsOf } from './processes/run.ts'
import { edit, freshPath, openStore, soundnessOf } from './sqlite/setup.ts'
import { claiming, claimOf, succeeded, taskOf } from './sqlite/words.ts'
import { TERMS } from './store-contract/kit.ts'

const WAYS = [
  'deleted with its log',
  'deleted',
  'moved away',
  'with its folder deleted and made anew',
  'replaced by an earlier copy',
  'replaced by an empty file',
  'without its log',
  'without its index',
  'without both',
]

/** In a folder of its own, which a test may delete. */
function deepPath(): string {
  const path = join(dirname(freshPath()), 'deep', 'tasks.db')
  mkdirSync(dirname(path))
  return path
}

test.for(WAYS.slice(0, bySize(1, WAYS.length)))(
  'S1 a file that is %s: a process that is then killed has lost nothing it was told is stored',
  {
    timeout: 60_000,
  },
  async (way) => {
    const path = deepPath()
    const { lines: told, end } = await wordsOf(start('sqlite/vanishing.ts', path, way))
    expect(end).toEqual([null, 'SIGKILL'])
    expect(told.length).toBeGreaterThanOrEqual(20)
    const store = openStore(path)
    for (const line of told) {
      const [outcome, taskId = ''] = line.split(' ')
      expect(outcome).toBe('stored')
      const n = Number(taskId.slice(-12))
      expect(await store.body(taskId)).toEqual(new Uint8Array(500).fill(n))
    }
    expect(await store.counts()).toMatchObject({ pending: told.length, bytes: told.length * 500 })
    expect(soundnessOf(path)).toBe('ok')
  },
)

const ids = async (store: TaskStore, status?: 'PENDING'): Promise<string[]> =>
  (await store.list({ limit: 100, ...(status && { status }) })).tasks.map(({ taskId }) => taskId)

test('S1 S2 S5 what waits, runs and has ended goes along, with its history, its lease and its place', async () => {
  const path = freshPath()
  const clock = fakeClock()
  const store = openStore(path, { clock })
  const reports: string[] = []
  store.configure?.(TERMS, (code, message) => reports.push(`${code} ${message}`))
  await store.enqueue([1, 2, 3].map((n) => taskOf(n, { orderKey: n > 1 ? 'a' : `${n}` })))
  const { claimed } = await store.turn(claiming(10))
  expect(claimed).toHaveLength(2)
  const [first, second] = claimed.map(({ lease }) => lease)
  if (!first || !second) throw new Error('nothing was claimed')
  await store.turn({ owner: 'test', settle: [succeeded(first)], renew: [], claim: null })
  rmSync(path)
  const turn = await store.turn({ owner: 'test', settle: [succeeded(second)], renew: [], claim: claimOf(10) })
  expect(turn.settled).toEqual(['applied'])
  expect(turn.claimed.map(({ task }) => task.taskId)).toEqual([taskOf(3).taskId])
  expect(turn.claimed[0]?.lease.token).toBeGreaterThan(second.token)
  expect(await store.counts()).toMatchObject({ pending: 0, inFlight: 1, succeeded: 2 })
  expect(await store.history?.(first.taskId)).toHaveLength(1)
  expect(reports).toEqual([expect.stringContaining('storage_replaced')])
  expect(reports[0]).toContain(`'${path}' was deleted, moved or replaced while it was in use: its 3 tasks`)
})

test('S1 S4 of two processes that have the old file open both go on in the new one, and each task is there once', async () => {
  const path = freshPath()
  const [one, other] = [openStore(path), openStore(path)]
  await one.enqueue([taskOf(1), taskOf(2)])
  await other.enqueue([taskOf(3)])
  rmSync(path)
  await one.enqueue([taskOf(4)])
  await one.purge({ taskId: taskOf(1).taskId })
  await other.enqueue([taskOf(5)])
  // a task that was purged since does not come back with the second
  expect(await ids(other)).toEqual([2, 3, 4, 5].map((n) => taskOf(n).taskId))
  expect(await ids(one)).toEqual(await ids(other))
})

test('S1 a process that only asks is answered out of the file that the path leads to, not out of the one that another has emptied', async () => {
  const path = freshPath()
  const [one, other] = [openStore(path), openStore(path)]
  const { taskId } = taskOf(1)
  await one.enqueue([taskOf(1)])
  expect(await other.get(taskId)).toBeDefined()
  const questions: readonly ((store: TaskStore) => Promise<unknown>)[] = [
    (store) => store.get(taskId),
    (store) => store.body(taskId),
    (store) => store.counts(),
    ids,
  ]
  for (const ask of questions) {
    const before = await ask(other)
    rmSync(path)
    await one.turn({ owner: 'test', settle: [], renew: [], claim: null })
    expect(await ask(other)).toEqual(before)
  }
})

test('S1 a file that comes back to its path while its tasks are moved out of it is not emptied', async () => {
  const path = freshPath()
  const clock = fakeClock()
  const store = openStore(path, { clock })
  await store.enqueue([taskOf(1), taskOf(2)])
  renameSync(path, `${path}.bak`)
  const now = clock.now.bind(clock)
  const held: unknown[] = []
  // asked for whenever a file is opened
  clock.now = () => {
    if (existsSync(path) && existsSync(`${path}.bak`)) renameSync(`${path}.bak`, path)
    else if (existsSync(path)) held.push(edit(path, (file) => file.prepare('SELECT count(*) AS n FROM tasks').get()?.n))
    return now()
  }
  await store.turn({ owner: 'test', settle: [], renew: [], claim: null })
  expect(existsSync(`${path}.bak`)).toBe(false)
  expect(held.length).toBeGreaterThan(1)
  expect(new Set(held)).toEqual(new Set([2]))
  expect(await ids(store)).toEqual([1, 2].map((n) => taskOf(n).taskId))
})

test('S19 the tasks of an order that another process has begun anew meanwhile come behind it', async () => {
  const path = freshPath()
  const store = openStore(path)
  await store.enqueue([taskOf(1, { orderKey: 'a' }), taskOf(2, { orderKey: 'a' })])
  renameSync(path, `${path}.bak`)
  for (const ending of ['-wal', '-shm']) rmSync(path + ending)
  const newcomer = openStore(path)
  await newcomer.enqueue([taskOf(3, { orderKey: 'a' })])
  const order: string[] = []
  for (let i = 0; i < 4; i++) {
    const { claimed } = await store.turn(claiming(10))
    expect(claimed.length).toBeLessThanOrEqual(1)
    order.push(...claimed.map(({ task }) => task.taskId))
    await store.turn({ owner: 'test', settle: claimed.map(({ lease }) => succeeded(lease)), renew: [], claim: null })
  }
  expect(order).toEqual([3, 1, 2].map((n) => taskOf(n).taskId))
})

test('a file whose folder is gone: what it holds is delivered, and what is new is refused, until there is a folder again', async () => {
  const path = deepPath()
  const store = openStore(path)
  await store.enqueue([taskOf(1), taskOf(2)])
  rmSync(dirname(path), { recursive: true })
  await expect(store.enqueue([taskOf(3)])).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' })
  const { claimed } = await store.turn(claiming(1))
  await store.turn({ owner: 'test', settle: claimed.map(({ lease }) => succeeded(lease)), renew: [], claim: null })
  expect(await store.counts()).toMatchObject({ pending: 1, succeeded: 1 })
  mkdirSync(dirname(path))
  await store.enqueue([taskOf(4)])
  expect(await ids(openStore(path), 'PENDING')).toEqual([2, 4].map((n) => taskOf(n).taskId))
})

test('S1 a folder that is a link and comes to lead elsewhere: what was stored is in the file that the path leads to now', async () => {
  const folder = dirname(freshPath())
  const [before, after, link] = ['before', 'after', 'link'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ]
  for (const made of [before, after]) mkdirSync(made)
  symlinkSync(before, link)
  const store = openStore(join(link, 'tasks.db'))
  await store.enqueue([taskOf(1)])
  symlinkSync(after, `${link}-next`)
  renameSync(`${link}-next`, link)
  await store.enqueue([taskOf(2)])
  expect(await ids(openStore(join(after, 'tasks.db')))).toEqual([1, 2].map((n) => taskOf(n).taskId))
  expect(await ids(openStore(join(before, 'tasks.db')))).toEqual([])
})

test('a file whose path is taken by something else is not left, and nothing is said to be stored', async () => {
  const path = freshPath()
  const store = openStore(path)
  await store.enqueue([taskOf(1)])
  rmSync(path)
  writeFileSync(path, 'no database at all, but long enough to look at\n'.repeat(9))
  await expect(store.enqueue([taskOf(2)])).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' })
  expect((await store.turn(claiming(10))).claimed).toHaveLength(1)
  rmSync(path)
  await store.enqueue([taskOf(3)])
  expect(await ids(store)).toEqual([1, 3].map((n) => taskOf(n).taskId))
})

test('the backup that a file was moved to is empty: no task is in two files', async () => {
  const path = freshPath()
  const store = openStore(path)
  await store.enqueue([taskOf(1)])
  renameSync(path, `${path}.bak`)
  await store.turn(claiming(1))
  await store.close()
  expect(await openStore(`${path}.bak`).counts()).toMatchObject({ pending: 0, inFlight: 0 })
  expect(await openStore(path).counts()).toMatchObject({ inFlight: 1 })
})

test('a store that is closed after its file was deleted has written it anew', async () => {
  const path = freshPath()
  const store = openStore(path)
  await store.enqueue([taskOf(1)])
  rmSync(path)
  await store.close()
  expect(existsSync(path)).toBe(true)
  expect(statSync(path).mode & 0o777).toBe(0o600)
  expect(await openStore(path).counts()).toMatchObject({ pending: 1 })
})

test('S1 where another process has begun a new log, what the old one has is put into the file task by task', {
  timeout: 60_000,
}, async () => {
  const path = freshPath()
  const store = openStore(path)
  await store.enqueue([taskOf(1), taskOf(2)])
  for (const ending of ['-wal', '-shm']) rmSync(path + ending)
  const intruder = start('sqlite/intruder.ts', path)
  const end = ended(intruder)
  const lines: string[] = []
  for await (const line of linesOf(intruder)) {
    lines.push(line)
    if (line === 'held') await store.enqueue([taskOf(3)])
  }
  expect(lines).toEqual(['held', 'stored'])
  expect(await end).toEqual([0, null])
  await store.enqueue([taskOf(4)])
  expect(await ids(store)).toEqual([1, 2, 3, 4, 100, 101].map((n) => taskOf(n).taskId))
  await store.close()
  expect(await openStore(path).counts()).toMatchObject({ pending: 6 })
})

test('a file that could not be written when it was opened is used as soon as it can be', {
  timeout: 60_000,
}, async () => {
  const lines = ['NOT_DURABLE', 'storage_unavailable', 'STORAGE_UNAVAILABLE', 'strict', 'stored']
  expect(await wordsOf(start('sqlite/read-only.ts', freshPath()))).toEqual({ lines, end: [0, null] })
})
