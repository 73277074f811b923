/** What the first version has left on people's disks, opened by this one; and what a later one may leave, left alone (S20). */
import 'fake-indexeddb/auto'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { type Claim, RECORD_SCHEMA, type TaskStore } from '../../js/api/store.ts'
import { indexedDbStore } from '../../js/stores/indexeddb.ts'
import { type FakeClock, fakeClock } from '../../js/testing/clock.ts'
import { type Dump, dump, kept, load } from './indexeddb/dump.ts'
import { claimOf, succeeded, taskOf } from './sqlite/words.ts'

const path = fileURLToPath(new URL('../fixtures/indexeddb-v1.json', import.meta.url))
const fixture = kept(readFileSync(path, 'utf8'))
const idOf = (n: number): string => taskOf(n).taskId

interface Opened {
  readonly store: TaskStore
  readonly clock: FakeClock
  /** Everything that is in the database now. */
  look(): Promise<Dump>
}

let count = 0

/** The fixture, opened; `change`: what was done to it before. */
async function open(change: (records: (store: string) => Records) => void = () => {}): Promise<Opened> {
  const name = `fixture-${++count}`
  const changed = structuredClone(fixture)
  change((store) => changed.stores.find((each) => each.name === store)?.records as unknown as Records)
  await load(changed, `redrive-${name}`)
  const clock = fakeClock()
  const store = indexedDbStore({ name, clock })
  onTestFinished(() => store.close())
  return { store, clock, look: () => dump(`redrive-${name}`) }
}

type Records = { key: unknown; value: Record<string, unknown> }[]

const recordsOf = ({ stores }: Dump, name: string): Records =>
  stores.find((store) => store.name === name)?.records as unknown as Records

const turnOf = (claim: Partial<Claim> | null = null) => ({
  owner: 'tab',
  settle: [],
  renew: [],
  claim: claim && { ...claimOf(10), ...claim },
})

test('a database of the first version opens, with all that is in it', async () => {
  const { store } = await open()
  const counts = { pending: 21, inFlight: 1, succeeded: 1, exhausted: 1, cancelled: 1, purged: 1, bytes: 5_006 }
  expect(await store.counts()).toEqual(counts)
  const { tasks } = await store.list({ limit: 100 })
  expect(tasks.map(({ taskId, status, parked }) => [taskId, parked ? 'parked' : status])).toEqual([
    [idOf(1), 'SUCCEEDED'],
    [idOf(2), 'EXHAUSTED'],
    [idOf(4), 'CANCELLED'],
    [idOf(5), 'IN_FLIGHT'],
    [idOf(6), 'parked'],
    [idOf(7), 'PENDING'],
    [idOf(8), 'PENDING'],
    [idOf(9), 'PENDING'],
    [idOf(10), 'PENDING'],
    ...Array.from({ length: 16 }, (_, n) => [idOf(11 + n), 'PENDING']),
  ])
  expect(await store.body(idOf(8))).toEqual(new Uint8Array([0, 1, 2, 253, 254, 255]))
  expect(await store.body(idOf(9))).toEqual(Uint8Array.from({ length: 5_000 }, (_, i) => i))
  expect(await store.body(idOf(11))).toEqual(new Uint8Array(0))
  expect(await store.body(idOf(10))).toBeUndefined()
  expect(await store.find('key-2')).toMatchObject({ taskId: idOf(2), reason: 'vetoed' })
  expect((await store.attempts(idOf(7), { limit: 10 })).attempts).toMatchObject([{ responseStatus: 200 }])
  expect(await store.principals?.current()).toEqual({ principal: 'ann' })
})

test('S20 its history goes on from what it has, and leaves nothing behind', async () => {
  const { store, look } = await open()
  const attemptsOf = async (n: number) => {
    const records = recordsOf(await look(), 'attempts')
    return records.filter(({ key }) => (key as readonly unknown[])[0] === idOf(n))
  }
  expect(await store.history?.(idOf(7))).toMatchObject([{ responseStatus: 200 }])
  expect(await store.history?.(idOf(8))).toEqual([])
  await store.cancel(idOf(7))
  await store.cancel(idOf(8))
  expect(await store.history?.(idOf(7))).toMatchObject([{ responseStatus: 200 }, { kind: 'cancelled' }])
  expect([(await attemptsOf(7)).length, (await attemptsOf(8)).length]).toEqual([2, 1])
  await store.purge({ status: 'CANCELLED' })
  expect([await attemptsOf(7), await attemptsOf(8)]).toEqual([[], []])
})

test('its tasks go on from where they were: orders, holds, leases, principals', async () => {
  const { store, clock } = await open()
  const claimed = async (claim: Partial<Claim>) => {
    const { claimed: leased } = await store.turn(turnOf(claim))
    return leased.map(({ task, lease }) => ({ n: Number(task.taskId.slice(-2)), token: lease.token }))
  }
  expect(await claimed({ principal: 'ann' })).toEqual([{ n: 10, token: 7 }])
  await store.principals?.switchTo(null, () => ({ since: clock.now(), now: clock.now() }))
  expect(await claimed({})).toEqual([])
  clock.step(30_000)
  // its owner has died; its lane is held for a minute more
  expect(await claimed({})).toEqual([])
  expect(await store.get(idOf(5))).toMatchObject({ status: 'PENDING', attemptNumber: 1 })
  clock.step(30_000)
  expect(await claimed({ skipHomes: ['another', 'tab'] })).toEqual([{ n: 8, token: 8 }])
  expect((await store.get(idOf(9)))?.dueAt).toBeNull()
  clock.step(30_000)
  expect(await claimed({})).toEqual(expect.arrayContaining([expect.objectContaining({ n: 5 })]))
  expect(await store.unpark?.({})).toBe(1)
  expect(await claimed({})).toEqual([expect.objectContaining({ n: 6 })])
  expect(await store.redrive([idOf(2)], { spacingMs: 0, acceptDuplicateRisk: false })).toEqual(['redriven'])
})

/** Those that are written with the counters. */
const lanesIn = (meta: Records): readonly object[] => meta.flatMap(({ value }) => (value.lanes ?? []) as object[])
/** What a later version may have added without a higher version of the database. */
const LATER = { ofALaterVersion: { deep: ['kept'] } }

test('S20 fields that this version does not know are carried along by whatever it does', async () => {
  const { store, clock, look } = await open((records) => {
    for (const name of ['tasks', 'lanes', 'meta']) for (const { value } of records(name)) Object.assign(value, LATER)
    for (const lane of lanesIn(records('meta'))) Object.assign(lane, LATER)
  })
  clock.step(60_000)
  await store.principals?.switchTo(null, () => ({ since: clock.now(), now: clock.now() }))
  const { claimed } = await store.turn(turnOf({}))
  expect(claimed.length).toBeGreaterThan(0)
  await store.turn({ ...turnOf(), settle: claimed.map(({ lease }) => succeeded(lease)) })
  await store.cancel(idOf(9))
  await store.unpark?.({})
  await store.redrive([idOf(2)], { spacingMs: 0, acceptDuplicateRisk: true })
  await store.flush()
  const after = await look()
  for (const name of ['tasks', 'lanes', 'meta']) {
    expect(recordsOf(after, name).length).toBeGreaterThan(0)
    for (const { value } of recordsOf(after, name)) expect(value).toMatchObject(LATER)
  }
  expect(lanesIn(recordsOf(after, 'meta')).length).toBeGreaterThan(0)
  for (const lane of lanesIn(recordsOf(after, 'meta'))) expect(lane).toMatchObject(LATER)
})

test('S20 rows of `meta`, attempts and bodies that this version does not know stay as they are', async () => {
  const { store, clock, look } = await open((records) => {
    records('meta').push({ key: 'of a later version', value: { ...LATER } })
    records('bodies').push({ key: 'of a later version', value: { ...LATER } })
    records('attempts').push({ key: ['of a later version', 1], value: { ...LATER } })
  })
  clock.step(400 * 86_400_000)
  await store.turn(turnOf({}))
  await store.purgeAll()
  const after = await look()
  for (const name of ['meta', 'bodies', 'attempts']) {
    const left = recordsOf(after, name).filter(({ key }) => String(key).startsWith('of a later version'))
    expect(left.map(({ value }) => value)).toEqual([LATER])
  }
})

test('S20 tasks of a later schema are counted and left alone: not claimed, shown, ended or deleted, also not by retention', async () => {
  const { store, clock, look } = await open((records) => {
    for (const { value } of records('tasks')) {
      if (value.status === 'PENDING') Object.assign(value, LATER, { schema: RECORD_SCHEMA + 1 })
    }
  })
  expect(await store.counts()).toMatchObject({ pending: 21 })
  await store.principals?.switchTo(null, () => ({ since: clock.now(), now: clock.now() }))
  clock.step(61_000)
  const first = await store.turn(turnOf({}))
  expect(first.claimed).toEqual([])
  expect(first.unreadable).toBe(1)
  clock.step(400 * 86_400_000)
  for (let turns = 0; turns < 3; turns++) {
    const turn = await store.turn(turnOf({}))
    expect([...turn.claimed.map(({ task }) => task), ...turn.ended].map(({ schema }) => schema)).not.toContain(
      RECORD_SCHEMA + 1,
    )
  }
  expect(await store.cancel(idOf(8))).toBe('gone')
  expect(await store.get(idOf(8))).toBeUndefined()
  expect(await store.body(idOf(8))).toBeUndefined()
  const left = recordsOf(await look(), 'tasks').filter(({ value }) => value.schema === RECORD_SCHEMA + 1)
  expect(left.map(({ key }) => key)).toEqual(Array.from({ length: 21 }, (_, n) => idOf(6 + n)))
  for (const { value } of left) expect(value).toMatchObject({ ...LATER, status: 'PENDING' })
  expect((await store.counts()).pending).toBeGreaterThanOrEqual(21)
  // only who says so deletes them
  expect(await store.purge({ taskId: idOf(8) })).toBe(1)
})

test('the fixture says what is in it: no field of a row is lost on the way into JSON and back', async () => {
  const { look } = await open()
  expect((await look()).stores).toEqual(fixture.stores)
})
