// L4: what a turn asks of its storage does not grow with the lanes that it does nothing for. Counts, no times: `npm run
// bench -- lanes` has those.
import { expect, onTestFinished, test } from 'vitest'
import type { Claim, NewTask, TaskStore } from '../../js/api/store.ts'
import { type FakeClock, fakeClock } from '../../js/testing/clock.ts'
import { asked as askedOfIndexedDb, freshName, openStore as openIndexedDb } from './indexeddb/setup.ts'
import { asked as askedOfSqlite } from './sqlite/asked.ts'
import { freshPath, openStore as openSqlite } from './sqlite/setup.ts'
import { claimOf, newTask, SUCCEEDED, settlementOf, type Wanted } from './store-contract/kit.ts'

const HOUR_MS = 3_600_000
/** More than a turn shows, and than it reads in their stead. */
const [FEW, MANY] = [160, 480]

const stores = {
  SQLite: {
    open: (clock: FakeClock): TaskStore => openSqlite(freshPath(), { clock }),
    asked: askedOfSqlite,
  },
  'SQLite for everyone': {
    open: (clock: FakeClock): TaskStore => openSqlite(freshPath(), { clock, everyone: true }),
    asked: askedOfSqlite,
  },
  IndexedDB: {
    open: (clock: FakeClock): TaskStore => openIndexedDb(freshName(), { clock }),
    asked: askedOfIndexedDb,
  },
}

interface Case {
  /** The task of the i-th of many lanes. */
  readonly make?: (i: number) => Wanted
  readonly claim?: (names: readonly string[]) => Partial<Claim>
  /** What else has been done to them. */
  readonly before?: (store: TaskStore, clock: FakeClock) => Promise<void>
}

/** Many lanes, most of which a claim does nothing for, beside one that is ready. */
const cases: Readonly<Record<string, Case>> = {
  'all of them ready': {},
  'ready, and with tasks to come': {
    make: (i) => ({ priority: i % 3 }),
    before: (store) => fill(store, 2 * MANY, FEW, () => ({ dueInMs: HOUR_MS })),
  },
  'due later': { make: () => ({ dueInMs: HOUR_MS }) },
  'held by their servers': { make: () => ({ holdLaneForMs: HOUR_MS }) },
  'shut by this process': { claim: (names) => ({ bounds: names.map((lane) => ({ lane, max: 0 })) }) },
  'held by their servers, as this process knows': {
    make: () => ({ holdLaneForMs: HOUR_MS }),
    claim: (names) => ({ bounds: names.map((lane) => ({ lane, max: 0 })) }),
  },
  'at their limit by another process': {
    claim: () => ({ perLane: 1 }),
    before: async (store) => {
      await turn(store, claimOf({ limit: 2 * MANY }))
      await fill(store, 2 * MANY, MANY, () => ({}))
    },
  },
  "of another process's callers": { make: () => ({ home: 'other' }), claim: () => ({ skipHomes: ['other'] }) },
  "of others' callers, for one that does not lead": {
    make: () => ({ home: 'other' }),
    claim: () => ({ ownHomeOnly: true }),
  },
  'of another principal each': { make: (i) => ({ principal: `user ${i}`, origin: 'https://api.test' }) },
  'with nothing but tasks that have ended': {
    before: async (store) => {
      const { claimed } = await turn(store, claimOf({ limit: 2 * MANY }))
      await store.turn({
        owner: 'one',
        settle: claimed.map(({ lease }) => settlementOf(lease, SUCCEEDED)),
        renew: [],
        claim: null,
      })
    },
  },
  'with dead letters': {
    before: async (store) => {
      const { claimed } = await turn(store, claimOf({ limit: 2 * MANY }))
      const next = { kind: 'exhausted', reason: 'not_retryable' } as const
      await store.turn({
        owner: 'one',
        settle: claimed.map(({ lease }) => settlementOf(lease, next)),
        renew: [],
        claim: null,
      })
    },
  },
}

/** Many due tasks in one lane that a claim does nothing for. */
const HELD = 'https://held.test'
const casesOfOneLane: Readonly<Record<string, Case>> = {
  'its server asked to wait': { make: () => ({ origin: HELD, holdLaneForMs: HOUR_MS }) },
  'its breaker is open, or it is paused': {
    make: () => ({ origin: HELD }),
    claim: () => ({ bounds: [{ lane: HELD, max: 0 }] }),
  },
  'as many run there as may': {
    make: () => ({ origin: HELD }),
    claim: () => ({ perLane: 2 }),
    before: async (store) => void (await turn(store, claimOf({ limit: 2, perLane: 2 }))),
  },
  'its user is not there': { make: () => ({ origin: HELD, principal: 'ben' }) },
}

const tenants = (i: number): Wanted => ({ principal: `tenant ${i}`, origin: 'https://api.test' })

/** Many lanes of one origin, each another principal's. */
const casesForEveryone: Readonly<Record<string, Case>> = {
  'of an origin that is shut': { make: tenants, claim: () => ({ bounds: [{ lane: 'https://api.test', max: 0 }] }) },
  'of an origin that may be tried once': {
    make: tenants,
    claim: () => ({ bounds: [{ lane: 'https://api.test', max: 1, leastTried: true }] }),
  },
  'of an origin that is paused': {
    make: tenants,
    before: async (store) => store.pauses?.put({ id: 'p', origin: 'https://api.test', at: 0 }),
  },
  'of a principal that is paused': {
    make: (i) => ({ principal: 'tenant', origin: nameOf(i) }),
    before: async (store) => store.pauses?.put({ id: 'p', principal: 'tenant', at: 0 }),
  },
}

const nameOf = (i: number): string => `https://${i}.test`
const turn = (store: TaskStore, claim: Claim | null) => store.turn({ owner: 'one', settle: [], renew: [], claim })

async function fill(store: TaskStore, from: number, count: number, make: (i: number) => Wanted): Promise<void> {
  const tasks = Array.from({ length: count }, (_, i): NewTask => newTask(from + i, { origin: nameOf(i), ...make(i) }))
  await store.enqueue(tasks)
}

/** What a turn asks for that claims two tasks, and settles two. */
async function askedWith(name: keyof typeof stores, count: number, { make = () => ({}), claim, before }: Case) {
  const clock = fakeClock()
  const { open, asked } = stores[name]
  const store = open(clock)
  onTestFinished(() => store.close())
  await fill(store, 0, count, make)
  await before?.(store, clock)
  await store.enqueue(
    Array.from({ length: 6 }, (_, i) => newTask(10_000 + i, { origin: `https://ready-${i}.test`, home: 'one' })),
  )
  const names = Array.from({ length: count }, (_, i) => nameOf(i))
  const wanted = claimOf({ limit: 2, total: 10_000, ...claim?.(names) })
  // what has come due since is found once
  await store.turn({ owner: 'one', settle: [], renew: [], claim: { ...wanted, limit: 0 } })
  let { claimed } = await turn(store, wanted)
  const settle = claimed.map(({ lease }) => settlementOf(lease, SUCCEEDED))
  const counts = await asked(async () => {
    const done = await store.turn({ owner: 'one', settle, renew: [], claim: wanted })
    claimed = done.claimed
  })
  expect(claimed).toHaveLength(2)
  return counts
}

const among = (title: string, given: Readonly<Record<string, Case>>): [string, Case][] =>
  Object.entries(given).map(([name, each]) => [`${title}: ${name}`, each])

for (const name of ['SQLite', 'SQLite for everyone', 'IndexedDB'] as const) {
  const lanes = name === 'SQLite for everyone' ? { ...cases, ...casesForEveryone } : cases
  const toCome: Case = { make: (i) => ({ origin: 'https://ready-0.test', priority: i + 1, dueInMs: HOUR_MS }) }
  test.for([
    ...among('lanes', lanes),
    ...among('tasks of one lane', casesOfOneLane),
    ...among('tasks', { 'to come of a priority each': toCome }),
  ])(`L4 ${name}: a turn asks for as much beside ${MANY} as beside ${FEW} %s`, async ([, given]) => {
    const few = await askedWith(name, FEW, given)
    const many = await askedWith(name, MANY, given)
    for (const [what, count] of Object.entries(many)) {
      // an index may be walked a few steps more
      expect(count, what).toBeLessThanOrEqual((few[what as keyof typeof few] as number) + 8)
    }
  })
}
