// What only a file can show: that it is found again, shared, and left alone where it is not ours to write.
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test, vi } from 'vitest'
import { StorageFullError } from '../../js/api/task-errors.ts'
import { translated } from '../../js/stores/sqlite/errors.ts'
import { LAYOUT } from '../../js/stores/sqlite/open.ts'
import { sqliteStore } from '../../js/stores/sqlite.ts'
import { fakeClock } from '../../js/testing/clock.ts'
import { edit, freshPath, openStore } from './sqlite/setup.ts'
import { claiming, claimOf, succeeded, taskOf } from './sqlite/words.ts'

const STEP = { owner: 'test', settle: [], renew: [] } as const

test('nothing is opened before the first use', async () => {
  const path = freshPath()
  const store = openStore(path)
  expect(readdirSync(dirname(path))).toEqual([])
  await store.counts()
  expect(readdirSync(dirname(path))).toContain('tasks.db')
})

test('S1 a file that is opened again holds everything', async () => {
  const path = freshPath()
  const clock = fakeClock()
  const first = openStore(path, { clock })
  const body = new Uint8Array([1, 2, 3])
  await first.enqueue([taskOf(1, { body }), taskOf(2), taskOf(3)])
  const { claimed } = await first.turn({ ...STEP, claim: claimOf(1) })
  await first.turn({ ...STEP, settle: claimed.map(({ lease }) => succeeded(lease)), claim: claimOf(1) })
  const before = [
    await first.list({ limit: 10 }),
    await first.counts(),
    await first.attempts(taskOf(1).taskId, { limit: 9 }),
  ]
  await first.close()
  const second = openStore(path, { clock })
  const after = [
    await second.list({ limit: 10 }),
    await second.counts(),
    await second.attempts(taskOf(1).taskId, { limit: 9 }),
  ]
  expect(after).toEqual(before)
})

test('a store that was closed opens again by itself, and finishes what it was asked before', async () => {
  const store = openStore(freshPath())
  const asked = store.enqueue([taskOf(1)])
  await store.close()
  expect(await asked).toEqual([{ taskId: taskOf(1).taskId, outcome: 'stored' }])
  expect(await store.counts()).toMatchObject({ pending: 1 })
})

test('an empty body is a body', async () => {
  const store = openStore(freshPath())
  await store.enqueue([taskOf(1, { body: new Uint8Array() })])
  expect(await store.body(taskOf(1).taskId)).toEqual(new Uint8Array())
})

test('S3 S7 two stores on one file share leases, limits and counts', async () => {
  const path = freshPath()
  const [one, other] = [openStore(path), openStore(path)]
  await one.enqueue([taskOf(1), taskOf(2), taskOf(3)])
  const claim = { ...claimOf(10), total: 2 }
  const first = await one.turn({ ...STEP, claim })
  const second = await other.turn({ ...STEP, claim })
  expect(first.claimed).toHaveLength(2)
  expect(second).toMatchObject({ claimed: [], blockedByLimit: true })
  await other.turn({ ...STEP, settle: first.claimed.map(({ lease }) => succeeded(lease)), claim: null })
  expect(await one.counts()).toMatchObject({ pending: 1, inFlight: 0, succeeded: 2 })
})

test('another store on the file hears at once, by whatever path it came', async () => {
  const path = freshPath()
  const heard: string[] = []
  const listener = openStore(join(dirname(path), '.', 'tasks.db'))
  const stop = listener.subscribe?.(({ kind }) => heard.push(kind))
  const store = openStore(path)
  await store.enqueue([taskOf(1)])
  expect(heard).toEqual(['due'])
  stop?.()
  await store.enqueue([taskOf(2)])
  expect(heard).toEqual(['due'])
})

test('enqueues that arrive together share one transaction, and one that is bad fails alone', async () => {
  const path = freshPath()
  const store = openStore(path)
  await store.counts()
  const commits = vi.spyOn(DatabaseSync.prototype, 'exec')
  const circle: Record<string, unknown> = {}
  circle.self = circle
  const bad = { ...taskOf(2), headers: circle as Record<string, string> }
  const answers = await Promise.allSettled([
    store.enqueue([taskOf(1)]),
    store.enqueue([taskOf(4), bad]),
    store.enqueue([taskOf(3), taskOf(1)]),
  ])
  const durable = commits.mock.calls.filter(([sql]) => sql === 'PRAGMA synchronous = FULL')
  commits.mockRestore()
  expect(durable).toHaveLength(1)
  expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  expect(answers[2]).toMatchObject({ value: [{ outcome: 'stored' }, { outcome: 'duplicate' }] })
  const { tasks } = await store.list({ limit: 10 })
  expect(tasks.map(({ taskId }) => taskId)).toEqual([taskOf(1).taskId, taskOf(3).taskId])
  expect(await store.counts()).toMatchObject({ pending: 2 })
})

test('times of a task count from the call, however long its commit waits', async () => {
  const clock = fakeClock()
  let heldUpMs = 0
  const late = { ...clock, now: () => clock.now() + heldUpMs, monotonic: () => clock.monotonic() + heldUpMs }
  const store = openStore(freshPath(), { clock: late })
  await store.counts()
  const calledAt = clock.now()
  const lease = { owner: 'one', leaseMs: 1_000 }
  const stored = Promise.all([
    store.enqueue([taskOf(1, { dueInMs: 500, deadlineInMs: 9_000, ageMs: 5 })]),
    store.enqueue([taskOf(2, { dueInMs: 10, deadlineInMs: 20 }), taskOf(3)], lease),
  ])
  // a group is written once what runs now has had its turn
  heldUpMs = 40
  const [, leased] = await stored
  const { tasks } = await store.list({ limit: 10 })
  expect(tasks.map(({ createdAt, dueAt, deadlineAt }) => [createdAt, dueAt, deadlineAt])).toEqual([
    [calledAt - 5, calledAt + 500, calledAt + 9_000],
    [calledAt, calledAt + 41, calledAt + 40],
    [calledAt, null, calledAt + taskOf(3).deadlineInMs],
  ])
  // one that was to wait is not leased for its lateness
  expect(leased.map((each) => each.lease !== undefined)).toEqual([false, true])
})

test.for([
  ['broken headers', "UPDATE tasks SET headers = '{'"],
  ['a broken record', "UPDATE tasks SET record = 'x'"],
  [
    'a record whose policy is null',
    `UPDATE tasks SET record = '{"withheldHeaders":[],"requestInit":{},"policy":null}'`,
  ],
  ['a record without a policy', "UPDATE tasks SET record = '{}'"],
  ['a later schema', 'UPDATE tasks SET recordSchema = 99'],
] as const)('S20 %s: put aside, counted once, never claimed or deleted', async ([, damage]) => {
  const path = freshPath()
  const clock = fakeClock()
  const store = openStore(path, { clock })
  await store.enqueue([taskOf(1, { deadlineInMs: 50 })])
  edit(path, (database) => database.exec(damage))
  const first = await store.turn({ ...STEP, claim: claimOf(10) })
  expect(first).toMatchObject({ claimed: [], unreadable: 1 })
  clock.step(3_600_000)
  const second = await store.turn({ ...STEP, claim: claimOf(10) })
  expect(second).toMatchObject({ claimed: [], ended: [], nextInMs: null })
  expect(second).not.toHaveProperty('unreadable')
  expect(await store.get(taskOf(1).taskId)).toBeUndefined()
  expect(await store.counts()).toMatchObject({ pending: 1, purged: 0 })
  expect(edit(path, (database) => database.prepare('SELECT count(*) AS n FROM tasks').get())).toEqual({ n: 1 })
})

test('S20 a lease that runs out on a damaged record puts it aside', async () => {
  const path = freshPath()
  const clock = fakeClock()
  const store = openStore(path, { clock })
  await store.enqueue([taskOf(1)])
  await store.turn({ ...STEP, claim: claimOf(1) })
  edit(path, (database) => database.exec("UPDATE tasks SET record = 'x'"))
  clock.step(60_000)
  expect(await store.turn({ ...STEP, claim: claimOf(1) })).toMatchObject({ claimed: [], unreadable: 1, ended: [] })
  expect(await store.counts()).toMatchObject({ pending: 1, inFlight: 0 })
})

test('S20 a file of a later version is not opened, and stays as it is byte for byte', async () => {
  const path = freshPath()
  const old = openStore(path)
  await old.enqueue([taskOf(1)])
  await old.close()
  edit(path, (database) => database.exec(`PRAGMA user_version = ${LAYOUT + 1}`))
  const before = readFileSync(path)
  const store = openStore(path)
  await expect(store.counts()).rejects.toMatchObject({ code: 'STORAGE_NEWER', message: expect.stringContaining(path) })
  await expect(store.enqueue([taskOf(2)])).rejects.toMatchObject({ code: 'STORAGE_NEWER' })
  await store.close()
  expect(readFileSync(path).equals(before)).toBe(true)
})

test('S20 a file that a later version has taken over meanwhile is not written any more', async () => {
  const path = freshPath()
  const store = openStore(path)
  await store.enqueue([taskOf(1)])
  edit(path, (database) => database.exec(`PRAGMA user_version = ${LAYOUT + 1}`))
  await expect(store.turn(claiming(1))).rejects.toMatchObject({ code: 'STORAGE_NEWER' })
  await expect(store.enqueue([taskOf(2)])).rejects.toMatchObject({ code: 'STORAGE_NEWER' })
  const rows = edit(path, (database) => database.prepare('SELECT status FROM tasks').all())
  expect(rows).toEqual([{ status: 'PENDING' }])
})

test('a file of the first layout opens, with all that is in it', async () => {
  const path = freshPath()
  copyFileSync(fileURLToPath(new URL('../fixtures/sqlite-v1.db', import.meta.url)), path)
  const store = openStore(path, { clock: fakeClock() })
  expect(await store.counts()).toEqual({
    pending: 1,
    inFlight: 1,
    succeeded: 1,
    exhausted: 1,
    cancelled: 1,
    purged: 1,
    bytes: 3,
  })
  expect(await store.body(taskOf(1).taskId)).toEqual(new Uint8Array([1, 2, 3]))
  const letters = await store.list({ status: 'EXHAUSTED', limit: 10 })
  expect(letters.tasks.map(({ reason }) => reason)).toEqual(['vetoed'])
  const { attempts } = await store.attempts(letters.tasks[0]?.taskId ?? '', { limit: 10 })
  expect(attempts).toHaveLength(1)
})

test('S17 bodies of dead letters that an earlier layout did not count take room too', async () => {
  const path = freshPath()
  copyFileSync(fileURLToPath(new URL('../fixtures/sqlite-v1.db', import.meta.url)), path)
  edit(path, (database) => database.exec("UPDATE tasks SET bodyBytes = 7 WHERE status = 'EXHAUSTED'"))
  const store = openStore(path, { clock: fakeClock() })
  expect((await store.counts()).bytes).toBe(3 + 7)
  await store.purge({ status: 'EXHAUSTED' })
  expect((await store.counts()).bytes).toBe(3)
})

test('S20 the history of a file of the first layout goes on from what it has, and leaves nothing behind', async () => {
  const path = freshPath()
  copyFileSync(fileURLToPath(new URL('../fixtures/sqlite-v1.db', import.meta.url)), path)
  const store = openStore(path, { clock: fakeClock() })
  const [letter] = (await store.list({ status: 'EXHAUSTED', limit: 10 })).tasks
  const taskId = letter?.taskId ?? ''
  expect(await store.history?.(taskId)).toMatchObject([{ responseStatus: 200 }])
  await store.redrive([taskId], { spacingMs: 0, acceptDuplicateRisk: true })
  await store.cancel(taskId)
  const lines = [{ responseStatus: 200 }, { kind: 'redriven' }, { kind: 'cancelled' }]
  expect(await store.history?.(taskId)).toMatchObject(lines)
  await store.purgeAll()
  await store.close()
  const database = new DatabaseSync(path)
  onTestFinished(() => database.close())
  expect(database.prepare('SELECT count(*) AS n FROM attempts').get()).toEqual({ n: 0 })
})

const spoilers: readonly (readonly [string, (path: string) => string, string])[] = [
  ['a folder', (path) => dirname(path), 'folder'],
  ['in a folder that is not there', (path) => join(path, 'deeper', 'tasks.db'), 'make its folder'],
  [
    'a text',
    (path) => {
      writeFileSync(path, 'no database at all, but long enough to look at\n'.repeat(9))
      return path
    },
    'no SQLite',
  ],
  [
    "another program's",
    (path) => {
      edit(path, (database) => database.exec('CREATE TABLE theirs (x)'))
      return path
    },
    'another',
  ],
]
test.for(spoilers)('a path that is %s: an error that names it and says what to do', async ([, spoil, advice]) => {
  const path = spoil(freshPath())
  const store = openStore(path)
  const { message } = await failure(store.counts())
  expect(message).toContain(path)
  expect(message).toContain(advice)
  await expect(store.enqueue([taskOf(1)])).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' })
})

test('a path that is mended is opened by the next call', async () => {
  const folder = join(dirname(freshPath()), 'later')
  const store = openStore(join(folder, 'tasks.db'))
  await failure(store.counts())
  mkdirSync(folder)
  expect(await store.counts()).toMatchObject({ pending: 0 })
})

test('a full disk is a StorageFullError, a file that may not be written says so', () => {
  const path = freshPath()
  edit(path, (database) => database.exec('CREATE TABLE t (x)'))
  const full = edit(path, (database) => {
    database.exec('PRAGMA max_page_count = 2')
    return thrown(() => database.exec('INSERT INTO t VALUES (zeroblob(100000))'))
  })
  expect(translated(full, path)).toBeInstanceOf(StorageFullError)
  const database = new DatabaseSync(path, { readOnly: true })
  const locked = thrown(() => database.exec('INSERT INTO t VALUES (1)'))
  database.close()
  expect(translated(locked, path)).toMatchObject({ code: 'STORAGE_UNAVAILABLE', cause: locked })
})

test.for([
  [{}, TypeError, 'sqliteStore.path'],
  [{ path: '' }, RangeError, 'sqliteStore.path'],
  [{ path: ':memory:' }, RangeError, 'redrive/memory'],
  [{ path: 'a.db', idleCheckMs: 1 }, RangeError, 'sqliteStore.idleCheckMs'],
  [{ path: 'a.db', capacity: 'many' }, TypeError, 'sqliteStore.capacity'],
  [{ path: 'a.db', retention: { terminalMs: -1 } }, RangeError, 'sqliteStore.retention.terminalMs'],
  [{ path: 'a.db', file: 'x' }, TypeError, 'sqliteStore.file'],
] as const)('options are checked at once: %j', ([options, kind, words]) => {
  const error = thrown(() => sqliteStore(options as never))
  expect(error).toBeInstanceOf(kind)
  expect((error as Error).message).toContain(words)
})

test('L4 no question of a turn or an enqueue walks through all tasks', async () => {
  const path = freshPath()
  const store = openStore(path)
  // opening counts the tasks that wait, once
  await store.counts()
  const prepare = vi.spyOn(DatabaseSync.prototype, 'prepare')
  await store.enqueue([taskOf(1), taskOf(2, { orderKey: 'a' }), taskOf(3, { orderKey: 'a' })])
  const { claimed } = await store.turn({ ...STEP, claim: { ...claimOf(5), skipHomes: ['elsewhere'] } })
  await store.turn({ ...STEP, settle: claimed.map(({ lease }) => succeeded(lease)), claim: claimOf(5) })
  const asked = prepare.mock.calls.map(([sql]) => sql).filter((sql) => /\b(FROM|UPDATE) tasks\b/.test(sql))
  prepare.mockRestore()
  expect(asked.length).toBeGreaterThan(10)
  edit(path, (database) => {
    for (const sql of asked) {
      const plan = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all()
      const steps = plan.map(({ detail }) => String(detail)).filter((detail) => detail.includes('tasks'))
      for (const step of steps) expect(step).toMatch(/^SEARCH tasks|^SCAN tasks USING COVERING INDEX tasks_leases$/)
      for (const step of steps) expect(step).not.toContain('tasks_by_status')
    }
  })
})

const failure = (work: Promise<unknown>): Promise<Error> =>
  work.then(
    () => Promise.reject(new Error('no failure')),
    (error) => error,
  )

function thrown(work: () => unknown): unknown {
  try {
    work()
  } catch (error) {
    return error
  }
  throw new Error('nothing was thrown')
}

test('no statement numbers its parameters, which Node 22 binds one off', () => {
  const texts = ['sql', 'sqlite'].flatMap((name) => {
    const folder = new URL(`../../js/stores/${name}/`, import.meta.url)
    return readdirSync(folder).map((file) => readFileSync(new URL(file, folder), 'utf8'))
  })
  expect(texts.length).toBeGreaterThan(10)
  expect(texts.filter((text) => /\?\d/.test(text))).toEqual([])
})

test('thousands of calls at once let others run in between, and a close does all of them', async () => {
  const store = openStore(freshPath())
  let others = 0
  const timer = setInterval(() => others++, 0)
  onTestFinished(() => clearInterval(timer))
  await Promise.all(Array.from({ length: 2_000 }, (_, n) => store.enqueue([taskOf(n)])))
  expect(others).toBeGreaterThan(2)
  const last = Array.from({ length: 500 }, (_, n) => store.enqueue([taskOf(2_000 + n)]))
  await store.close()
  expect((await Promise.all(last)).flat().every(({ outcome }) => outcome === 'stored')).toBe(true)
})
