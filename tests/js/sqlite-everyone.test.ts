// A file in which the lanes of all principals stand in one line, and what the processes on a file share beside tasks.
import { rmSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { type Claim, type Lease, laneName, type Turn } from '../../js/api/store.ts'
import { LAYOUT, MIGRATIONS } from '../../js/stores/sqlite/open.ts'
import { sqliteStore } from '../../js/stores/sqlite.ts'
import { fakeClock } from '../../js/testing/clock.ts'
import { asked } from './sqlite/asked.ts'
import { edit, firstLayout, freshPath, openStore } from './sqlite/setup.ts'
import { claimOf, succeeded, taskOf } from './sqlite/words.ts'
import { TERMS } from './store-contract/kit.ts'

const ORIGIN = 'https://api.test'
const STEP = { owner: 'test', settle: [], renew: [] } as const
const EVERYONE = { everyone: true } as const
const OTHER_LINE = { code: 'STORAGE_OTHER_LINE' }

const ofTenant = (n: number, principal: string | null = `tenant ${n}`) =>
  taskOf(n, { principal, lane: principal === null ? ORIGIN : `${ORIGIN} ${principal}` })
const claiming = (given: Partial<Claim> = {}) => ({ ...STEP, claim: { ...claimOf(10), ...given } })
const numbersOf = ({ claimed }: Turn) => claimed.map(({ task }) => Number(task.taskId.slice(-12)))

test.for([
  ['the lanes are gone', 'DELETE FROM lanes'],
  ['their places in line are gone', 'DELETE FROM line'],
  ['they say whose they are', 'UPDATE lanes SET principal = substr(name, instr(name, char(32)) + 1)'],
  ['the line is not said', "UPDATE state SET line = 'x'"],
  ['nothing is counted', 'UPDATE state SET pauses = -1, registry = -1, pending = 9'],
  ['there are no counters', 'DELETE FROM state'],
  ['nobody has a share', 'DELETE FROM shares'],
  ['shares are none', 'UPDATE shares SET held = -2, bytes = 7'],
  [
    'a share is made up',
    "INSERT INTO shares (name, held, bytes, inFlight) VALUES (' tenant 1', 0, 0, 3) ON CONFLICT DO UPDATE SET inFlight = 3",
  ],
] as const)('S1 S20 where other code has been, and %s, a file for everyone is mended as one', async ([, damage]) => {
  const path = freshPath()
  const clock = fakeClock()
  const first = openStore(path, { clock, ...EVERYONE })
  await first.enqueue([{ ...ofTenant(1), body: new Uint8Array(4) }, ofTenant(2), ofTenant(3, null)])
  await first.registry?.write('a', 1)
  await first.registry?.write('a', 2)
  await first.pauses?.put({ id: 'p', principal: 'tenant 2', at: 0 })
  await first.close()
  edit(path, (database) => database.exec(damage))
  const store = openStore(path, { clock, ...EVERYONE })
  expect(numbersOf(await store.turn(claiming())).sort()).toEqual([1, 3])
  expect(await store.counts()).toMatchObject({ pending: 1, inFlight: 2 })
  expect(await store.countsOf?.('tenant 1')).toEqual({ pending: 0, inFlight: 1, exhausted: 0, bytes: 4 })
  store.configure?.({ ...TERMS, quotaOf: () => ({ capacity: 2 }) })
  const more = await store.enqueue([ofTenant(11, 'tenant 1'), ofTenant(12, 'tenant 1'), ofTenant(13, 'tenant 2')])
  expect(more.map(({ outcome }) => outcome)).toEqual(['stored', 'full', 'stored'])
  for (const n of [11, 13]) await store.purge({ taskId: ofTenant(n).taskId })
  expect((await store.registry?.read({ prefix: '' }))?.version).toBe(2)
  expect(await store.pauses?.lift('p')).toBe(true)
  expect(numbersOf(await store.turn(claiming()))).toEqual([2])
  await expect(openStore(path, { clock }).counts()).rejects.toMatchObject(OTHER_LINE)
})

test('a file of the first layout opens with a line for each principal, and takes settings and pauses', async () => {
  const path = firstLayout()
  const clock = fakeClock()
  await expect(openStore(path, { clock, ...EVERYONE }).counts()).rejects.toMatchObject(OTHER_LINE)
  const store = openStore(path, { clock })
  expect(await store.counts()).toMatchObject({ pending: 1, inFlight: 1 })
  expect(await store.registry?.read({ prefix: '' })).toEqual({ version: 0, entries: [] })
  expect(await store.registry?.write('a', 1)).toBe('written')
  await store.pauses?.put({ id: 'p', at: 0 })
  expect((await store.turn(claiming())).claimed).toEqual([])
  expect(edit(path, (database) => database.prepare('PRAGMA user_version').get())).toEqual({ user_version: LAYOUT })
})

test.for([1, 2, 3, 4, 5])('a file of layout %s without tasks can be opened for everyone', async (layout) => {
  const path = freshPath()
  edit(path, (database) => {
    for (const step of MIGRATIONS.slice(0, layout)) database.exec(step)
    database.exec(`PRAGMA user_version = ${layout}`)
  })
  const store = openStore(path, { clock: fakeClock(), ...EVERYONE })
  await store.enqueue([ofTenant(1), ofTenant(2)])
  expect(numbersOf(await store.turn(claiming()))).toEqual([1, 2])
})

test('S1 a file for everyone of the layout before ends were told goes on with its tasks, and tells those that end', async () => {
  const path = freshPath()
  const clock = fakeClock()
  const first = openStore(path, { clock, ...EVERYONE })
  await first.enqueue([ofTenant(1), ofTenant(2)])
  await first.cancel(ofTenant(2).taskId)
  await first.close()
  edit(path, (database) => {
    database.exec(
      'DROP TABLE shares; ALTER TABLE state DROP COLUMN limited; DROP INDEX lanes_rated; ALTER TABLE lanes DROP COLUMN tat; ALTER TABLE lanes DROP COLUMN tokenAt; DROP INDEX tasks_untold; DROP INDEX tasks_ended; DROP INDEX tasks_ended_own; DROP INDEX tasks_own; DROP INDEX tasks_dead; ALTER TABLE tasks DROP COLUMN tells',
    )
    database.exec(
      `CREATE INDEX tasks_ended ON tasks (status = 'EXHAUSTED', endedAt, seq) WHERE endedAt IS NOT NULL AND aside = 0;
      CREATE INDEX tasks_by_status ON tasks (status, id);
      PRAGMA user_version = 5`,
    )
  })
  const store = openStore(path, { clock, ...EVERYONE })
  await store.enqueue([{ ...ofTenant(3), tells: true, schema: 2 }])
  for (const n of [1, 3]) await store.cancel(ofTenant(n).taskId)
  const untold = (await store.untold?.(9)) ?? []
  expect(untold.map(({ task }) => task.taskId)).toEqual([ofTenant(3).taskId])
  clock.step(86_400_001)
  expect(await store.turn(claiming())).toMatchObject({ untold: 1, counts: { purged: 2, cancelled: 1 } })
})

test('S1 ends to be told and what processes share are brought along where the path of the file leads to another one', async () => {
  const path = freshPath()
  const store = openStore(path, { clock: fakeClock(), ...EVERYONE })
  await store.registry?.write('a', { n: 1 })
  await store.registry?.write('b', 1)
  await store.pauses?.put({ id: 'p', principal: 'tenant 1', at: 7 })
  await store.enqueue([ofTenant(1), ofTenant(2)])
  await store.enqueue([3, 4].map((n) => ({ ...ofTenant(n), tells: true as const, schema: 2 })))
  for (const n of [3, 4]) await store.cancel(ofTenant(n).taskId)
  const [told] = (await store.untold?.(1)) ?? []
  if (told) await store.told?.([{ taskId: told.task.taskId, endedAt: told.endedAt }])
  for (const end of ['', '-wal', '-shm']) rmSync(`${path}${end}`, { force: true })
  const turn = await store.turn(claiming())
  expect([numbersOf(turn), turn.untold]).toEqual([[2], 1])
  const untold = (await store.untold?.(9)) ?? []
  expect(untold.map(({ task }) => task.taskId)).toEqual([ofTenant(4).taskId])
  expect(await store.pauses?.list()).toEqual([{ id: 'p', principal: 'tenant 1', at: 7 }])
  const { version, entries } = (await store.registry?.read({ prefix: '', since: 2 })) ?? {}
  expect(entries).toMatchObject([
    { name: 'a', value: { n: 1 } },
    { name: 'b', value: 1 },
  ])
  await store.registry?.write('c', 1)
  expect((await store.registry?.read({ prefix: 'c' }))?.version).toBe((version ?? 0) + 1)
  await store.close()
  const other = new DatabaseSync(path, { readOnly: true })
  expect(other.prepare('SELECT line, pauses FROM state').get()).toEqual({ line: 'everyone', pauses: 1 })
  other.close()
})

test('a turn asks for one thing more where anything is paused, and for as much as ever where nothing is', async () => {
  const store = openStore(freshPath(), { clock: fakeClock() })
  await store.enqueue(Array.from({ length: 20 }, (_, n) => ofTenant(n, null)))
  const next = async () => (await asked(async () => store.turn(claiming({ limit: 1 })))).statements
  await next()
  const usual = await next()
  await store.pauses?.put({ id: 'p', principal: 'nobody', at: 0 })
  expect(await next()).toBe(usual + 1)
  await store.pauses?.lift('p')
  expect(await next()).toBe(usual)
})

test('where all tenants have their places a turn asks for no more than a few things of each, however many lanes they have', async () => {
  const store = openStore(freshPath(), { clock: fakeClock(), ...EVERYONE })
  const [tenants, lanes] = [12, 40]
  const tasks = Array.from({ length: tenants * lanes }, (_, n) => {
    const principal = `tenant ${n % tenants}`
    const targetUrl = `https://${n}.test/`
    return taskOf(n, { principal, targetUrl, lane: laneName(principal, `https://${n}.test`) })
  })
  await store.enqueue(tasks)
  const leases: Lease[] = []
  const next = async (ends: number): Promise<void> => {
    const settle = leases.splice(0, ends).map(succeeded)
    const claim = { ...claimOf(4), total: 24, perFree: 4 }
    leases.push(...(await store.turn({ ...STEP, settle, claim })).claimed.map(({ lease }) => lease))
  }
  // until all has been put apart that is met in the line of all
  for (let turn = 0; turn < 30; turn++) await next(turn < 10 ? 0 : 2)
  // 127, and 975 where lanes of tenants were looked at that may have no more
  expect((await asked(() => next(2))).statements).toBeLessThan(20 * tenants)
})

test('an option that is neither there nor true is refused', () => {
  for (const everyone of [false, 1, 'yes'])
    expect(() => sqliteStore({ path: 'x.db', everyone: everyone as never })).toThrow(
      /sqliteStore\.everyone: expected true/,
    )
})

test.for([
  ['of one lane', `${ORIGIN} tenant 1`, 700],
  ['of all', undefined, 800],
] as const)(
  'a flush %s changes at most 32 tasks at once, and others have their turn between',
  async ([, lane, all]) => {
    const path = freshPath()
    const clock = fakeClock()
    const store = openStore(path, { clock, ...EVERYONE })
    const many = Array.from({ length: 700 }, (_, n) => ({ ...ofTenant(n, 'tenant 1'), dueInMs: 5_000 }))
    const others = Array.from({ length: 100 }, (_, n) => ({ ...ofTenant(1_000 + n, 'tenant 2'), dueInMs: 5_000 }))
    await store.enqueue([...many, ...others])
    // one that cannot be read, and one whose server asked for its time, are passed over
    await store.enqueue([
      { ...ofTenant(2_000, 'tenant 1'), dueInMs: 4_000, serverMs: 4_000 },
      ofTenant(2_001, 'tenant 1'),
    ])
    edit(path, (database) => {
      database
        .prepare('UPDATE tasks SET recordSchema = 99, dueAt = ? WHERE id = ?')
        .run(clock.now() + 9, ofTenant(2_001).taskId)
    })
    const seen: number[] = []
    const count = () =>
      edit(path, (database) => database.prepare('SELECT count(*) AS n FROM tasks WHERE dueAt <= ?').get(clock.now()))
    let isOver = false
    const look = () => {
      if (isOver) return
      seen.push(Number(count()?.n))
      setImmediate(look)
    }
    setImmediate(look)
    const flushed = await store.flush(lane).finally(() => {
      isOver = true
    })
    expect(flushed).toBe(all)
    const steps = [...seen, all].map((n, i) => n - (seen[i - 1] ?? 0))
    expect(Math.max(...steps)).toBeLessThanOrEqual(32)
    expect(Math.max(...steps)).toBeGreaterThan(16)
    expect(await store.flush(lane)).toBe(0)
  },
)
