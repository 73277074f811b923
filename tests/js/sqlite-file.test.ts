// What only a file can show: that it is found again, shared, and left alone where it is not ours to write.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync, StatementSync } from 'node:sqlite'
import { expect, onTestFinished, test, vi } from 'vitest'
import { laneName } from '../../js/api/records.ts'
import { StorageFullError } from '../../js/api/task-errors.ts'
import { translated } from '../../js/stores/sqlite/errors.ts'
import { LAYOUT } from '../../js/stores/sqlite/open.ts'
import { sqliteStore } from '../../js/stores/sqlite.ts'
import { fakeClock } from '../../js/testing/clock.ts'
import { edit, firstLayout, freshPath, openStore } from './sqlite/setup.ts'
import { claiming, claimOf, succeeded, taskOf } from './sqlite/words.ts'

const STEP = { owner: 'test', settle: [], renew: [] } as const

test('nothing is opened before the first use', async () => {
  const path = freshPath()
  const store = openStore(path)
  expect(readdirSync(dirname(path))).toEqual([])
  await store.counts()
  expect(readdirSync(dirname(path))).toContain('tasks.db')
})

test('an empty body is a body', async () => {
  const store = openStore(freshPath())
  await store.enqueue([taskOf(1, { body: new Uint8Array() })])
  expect(await store.body(taskOf(1).taskId)).toEqual(new Uint8Array())
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
  const asked = vi.spyOn(StatementSync.prototype, 'run')
  await Promise.all([store.enqueue([taskOf(5)]), store.enqueue([taskOf(6)])])
  expect(asked.mock.contexts.filter((statement) => (statement as StatementSync).sourceSQL === 'COMMIT')).toHaveLength(1)
  asked.mockRestore()
  const circle: Record<string, unknown> = {}
  circle.self = circle
  const bad = { ...taskOf(2), headers: circle as Record<string, string> }
  const answers = await Promise.allSettled([
    store.enqueue([taskOf(1)]),
    store.enqueue([taskOf(4), bad]),
    store.enqueue([taskOf(3), taskOf(1)]),
  ])
  expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  expect(answers[2]).toMatchObject({ value: [{ outcome: 'stored' }, { outcome: 'duplicate' }] })
  const { tasks } = await store.list({ limit: 10 })
  expect(tasks.map(({ taskId }) => taskId)).toEqual([1, 3, 5, 6].map((n) => taskOf(n).taskId))
  expect(await store.counts()).toMatchObject({ pending: 4 })
})

test.for([
  ['single tasks', 1],
  ['batches', 32],
  ['a batch that is more than a transaction takes', 400],
] as const)(
  'a call does not wait behind another principal with %s, and each has its own in order',
  async ([, size]) => {
    const store = openStore(freshPath())
    const order: number[] = []
    const add = (n: number, principal: string, count = 1) => {
      const lane = laneName(principal, 'https://api.test')
      const tasks = Array.from({ length: count }, (_, i) => taskOf(n + i, { principal, lane }))
      return store.enqueue(tasks).then(() => {
        order.push(n)
      })
    }
    const flood = Array.from({ length: Math.floor(400 / size) }, (_, i) => i * size)
    await Promise.all([
      ...flood.map((n) => add(n, 'flood', size)),
      ...[add(1_000, 'calm'), add(1_001, 'calm'), add(1_002, 'late')],
    ])
    // so many tasks go together
    expect(order.slice(0, 32).filter((n) => n >= 400)).toEqual([1_000, 1_002, 1_001])
    expect(order.filter((n) => n < 400)).toEqual(flood)
  },
)

test('a batch has its turn, however many others come with single tasks meanwhile', async () => {
  const store = openStore(freshPath())
  await store.counts()
  let isDone = false
  const batch = store.enqueue(Array.from({ length: 8 }, (_, n) => taskOf(n))).then(() => {
    isDone = true
  })
  let rounds = 0
  for (; !isDone && rounds < 100; rounds++) {
    const others = Array.from({ length: 80 }, (_, i) => {
      const principal = `other ${rounds} ${i}`
      return store.enqueue([
        taskOf(1_000 + 100 * rounds + i, { principal, lane: laneName(principal, 'https://api.test') }),
      ])
    })
    await others[0]
  }
  await batch
  expect(rounds).toBeLessThan(100)
})

test('a turn claims what waits to be written', async () => {
  const store = openStore(freshPath())
  await store.counts()
  const enqueued = store.enqueue([taskOf(1)])
  const { claimed } = await store.turn({ ...STEP, claim: claimOf(1) })
  expect(claimed.map(({ task }) => task.taskId)).toEqual([taskOf(1).taskId])
  expect(await enqueued).toMatchObject([{ outcome: 'stored' }])
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
  ['broken headers', "headers = '{'"],
  ['a broken record', "record = 'x'"],
  ['a record whose policy is null', `record = '{"withheldHeaders":[],"requestInit":{},"policy":null}'`],
  ['a record without a policy', "record = '{}'"],
] as const)('S20 %s: put aside, waiting or when its lease runs out, and counted once', async ([, damage]) => {
  const path = freshPath()
  const clock = fakeClock()
  const store = openStore(path, { clock })
  await store.enqueue([taskOf(1), taskOf(2)])
  await store.turn({ ...STEP, claim: claimOf(1) })
  edit(path, (database) => database.exec(`UPDATE tasks SET ${damage}`))
  expect(await store.turn({ ...STEP, claim: claimOf(9) })).toMatchObject({ claimed: [], unreadable: 1 })
  clock.step(60_000)
  expect(await store.turn({ ...STEP, claim: claimOf(9) })).toMatchObject({ claimed: [], ended: [], unreadable: 1 })
  expect(await store.turn({ ...STEP, claim: claimOf(9) })).not.toHaveProperty('unreadable')
  expect(await store.counts()).toMatchObject({ pending: 2, inFlight: 0, purged: 0 })
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
  const path = firstLayout()
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
  const path = firstLayout()
  edit(path, (database) => database.exec("UPDATE tasks SET bodyBytes = 7 WHERE status = 'EXHAUSTED'"))
  const store = openStore(path, { clock: fakeClock() })
  expect((await store.counts()).bytes).toBe(3 + 7)
  await store.purge({ status: 'EXHAUSTED' })
  expect((await store.counts()).bytes).toBe(3)
})

test('S20 the history of a file of the first layout goes on from what it has, and leaves nothing behind', async () => {
  const path = firstLayout()
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

const spoilt = (path: string, spoil: () => unknown): string => {
  spoil()
  return path
}
const spoilers: readonly (readonly [string, (path: string) => string, string])[] = [
  ['a folder', (path) => dirname(path), 'folder'],
  ['in a folder that is not there', (path) => join(path, 'deeper', 'tasks.db'), 'make its folder'],
  [
    'a text',
    (path) => spoilt(path, () => writeFileSync(path, 'no database, but long enough to look at\n'.repeat(9))),
    'no SQLite',
  ],
  [
    "another program's",
    (path) => spoilt(path, () => edit(path, (file) => file.exec('CREATE TABLE theirs (x)'))),
    'another',
  ],
]
test.for(spoilers)('a path that is %s: an error that names it and says what to do', async ([, spoil, advice]) => {
  const path = spoil(freshPath())
  const store = openStore(path)
  await expect(store.counts()).rejects.toThrow(path)
  await expect(store.counts()).rejects.toThrow(advice)
  await expect(store.enqueue([taskOf(1)])).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' })
})

test('a path that is mended is opened by the next call', async () => {
  const folder = join(dirname(freshPath()), 'later')
  const store = openStore(join(folder, 'tasks.db'))
  await expect(store.counts()).rejects.toThrow()
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
      for (const step of steps) expect(step).not.toContain('tasks_own')
    }
  })
})

test.for([undefined, true] as const)(
  'L4 no question about one principal walks through the tasks or the lanes of others: everyone is %s',
  async (everyone) => {
    const path = freshPath()
    const store = openStore(path, everyone && { everyone })
    const lane = 'https://api.test ann'
    await store.enqueue([taskOf(1, { principal: 'ann', lane }), taskOf(2), taskOf(3, { principal: 'ann', lane })])
    await store.cancel(taskOf(1).taskId, 'closed')
    const prepare = vi.spyOn(DatabaseSync.prototype, 'prepare')
    expect(await store.countsOf?.('ann')).toMatchObject({ pending: 1, inFlight: 0, exhausted: 1 })
    await store.list({ principal: 'ann', limit: 5 })
    expect(await store.purge({ principal: 'ann' })).toBe(2)
    const asked = prepare.mock.calls.map(([sql]) => sql).filter((sql) => /\bprincipal\b|lanes_own/.test(sql))
    prepare.mockRestore()
    expect(asked.length).toBeGreaterThan(3)
    edit(path, (database) => {
      for (const sql of asked.filter((sql) => /^SELECT/.test(sql))) {
        const plan = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all()
        const steps = plan.map(({ detail }) => String(detail))
        const walks = steps.filter((step) => /^SCAN (tasks|lanes)\b/.test(step))
        // a file of one principal has the lanes of one
        expect([sql, walks.filter((step) => everyone || !step.includes('lanes'))]).toEqual([sql, []])
      }
    })
  },
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
