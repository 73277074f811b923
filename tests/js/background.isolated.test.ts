/** What was handed over outlasts the outage of its server, whichever store has it: one order, the defaults, virtual time. */
import 'fake-indexeddb/auto'
import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import type { TaskStore } from '../../js/api/store.ts'
import { Alarm } from '../../js/cloudflare/alarm.ts'
import { AlarmClock } from '../../js/cloudflare/alarm-clock.ts'
import { AlarmRun } from '../../js/cloudflare/alarm-run.ts'
import { resolveObjectOptions } from '../../js/cloudflare/object-options.ts'
import { workerFetch } from '../../js/cloudflare/worker-fetch.ts'
import { presets, RetryQueue, type RetryQueueOptions } from '../../js/index.ts'
import { indexedDbStore } from '../../js/stores/indexeddb.ts'
import { memoryStore } from '../../js/stores/memory.ts'
import { type FakeClock, fakeClock } from '../../js/testing.ts'
import { bySize } from '../size.ts'
import { withMethods } from './durable-setup.ts'
import { closeNow, NO_GATES, ORDERS } from './setup.ts'
import { freshPath, openStore } from './sqlite/setup.ts'

vi.mock('../../js/core/static.ts', () => import('../../js/core/file.ts'))
vi.mock('../../js/core/keys-static.ts', () => import('../../js/core/keys-file.ts'))

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS
/** The longest wait of the curve, with its fresh jitter. */
const LONGEST_MS = 660_000
/** The longest that a breaker stays open, likewise: docs/gates.md. */
const BREAKER_MS = 60_000

/** Attempts that are over after the wait. */
const MANY = { policy: { maxAttempts: 99 } }

const post = { method: 'POST', body: 'tea' }

// real time, of which virtual time knows nothing
beforeAll(() => open(fakeClock(), async () => new Response()).ready)

/** Nothing answers there until `backAt`. */
function away(clock: FakeClock, forMs: number) {
  const backAt = clock.now() + forMs
  const visits: number[] = []
  const delivered: number[] = []
  const fetch: typeof globalThis.fetch = async () => {
    visits.push(clock.now())
    if (clock.now() < backAt) throw new TypeError('fetch failed')
    delivered.push(clock.now())
    return new Response(null, { status: 201 })
  }
  /** How long after the server is back the order came, and the wait before. */
  const late = () => ({
    lateMs: (delivered[0] ?? Number.NaN) - backAt,
    waitMs: (visits.at(-1) ?? 0) - (visits.at(-2) ?? 0),
  })
  return { fetch, visits, delivered, late, backAt }
}

/** Lets time pass until there is an order, in steps between which a database has its turns. */
async function until(clock: FakeClock, done: () => boolean, mostMs: number, turns = 0): Promise<void> {
  const stepMs = Math.max(20, Math.ceil(mostMs / 4_000))
  for (let ms = 0; ms < mostMs && !done(); ms += stepMs) {
    await clock.advance(stepMs)
    for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve))
  }
}

const opened: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of opened.splice(0)) await close()
})

let names = 0
let seed = 500n

function open(clock: FakeClock, fetch: typeof globalThis.fetch, options: RetryQueueOptions = {}): RetryQueue {
  const queue = new RetryQueue({ clock, fetch, seed: ++seed, ...options })
  opened.push(async () => closeNow(queue, clock))
  return queue
}

/** No other process is there whose tasks it would have to look for each second. */
const sqliteOn = (clock: FakeClock): TaskStore =>
  withMethods(openStore(freshPath(), { clock }), { idleCheckMs: MINUTE_MS })

/** Hands one order over, and says how many turns of the event loop the store needs between two moments. */
const recipes: Readonly<Record<string, (clock: FakeClock, fetch: typeof globalThis.fetch) => Promise<number>>> = {
  'enqueue in memory': async (clock, fetch) => {
    await open(clock, fetch).enqueue(ORDERS, post)
    return 0
  },
  'defer in memory': async (clock, fetch) => {
    const response = await open(clock, fetch).fetch(ORDERS, { ...post, redrive: { mode: 'defer' } })
    expect(response.status).toBe(202)
    return 0
  },
  'Node: enqueue in SQLite': async (clock, fetch) => {
    const store = sqliteOn(clock)
    await open(clock, fetch, { store, principal: null }).enqueue(ORDERS, post)
    return 4
  },
  'Node: defer in SQLite': async (clock, fetch) => {
    const store = sqliteOn(clock)
    const queue = open(clock, fetch, { store, principal: null })
    await queue.ready
    const response = await queue.fetch(ORDERS, { ...post, redrive: { mode: 'defer' } })
    expect(response.status).toBe(202)
    return 4
  },
  'page: enqueue in IndexedDB': async (clock, fetch) => {
    const store = indexedDbStore({ name: `background-${++names}`, clock })
    await open(clock, fetch, { store, principal: 'ann' }).enqueue(ORDERS, post)
    return 60
  },
  'Worker: a 202 and its object': async (clock, fetch) => {
    const object = await objectOn(clock, fetch)
    const namespace = { idFromName: () => ({}), get: () => object }
    const ctx = { waitUntil: () => {} }
    const call = workerFetch({ queue: namespace, ctx, clock, fetch, seed: 3n })(ORDERS, post)
    await clock.advance(10 * SECOND_MS)
    expect((await call).status).toBe(202)
    return 0
  },
}

/** An object's queue, store and alarm; its storage is a record of the alarm that is set. */
async function objectOn(clock: FakeClock, fetch: typeof globalThis.fetch) {
  const store = memoryStore({ clock })
  const alarmClock = new AlarmClock(clock)
  const run = new AlarmRun(store, clock)
  const { queue: options, attemptsPerRun } = resolveObjectOptions({ fetch, seed: 4n })
  const queue = open(clock, fetch, {
    ...options,
    clock: alarmClock,
    store: run.store,
    principal: null,
    preload: 'never',
  })
  alarmClock.start()
  await queue.ready
  alarmClock.stop()
  let disarm = () => {}
  const storage = {
    getAlarm: async () => null,
    deleteAlarm: async () => disarm(),
    setAlarm: async (at: number) => {
      disarm()
      disarm = clock.after(at - clock.now(), () => void ring())
    },
  }
  const alarm = new Alarm(storage, clock, (error) => {
    throw error
  })
  const ring = async () => {
    await alarm.start()
    alarmClock.start()
    await run.work(attemptsPerRun, 30_000, () => queue.ready)
    alarmClock.stop()
    const { tasks } = await store.list({ status: 'PENDING', limit: 1 })
    const dueAt = tasks[0]?.dueAt ?? null
    // due, and not claimed: a gate is shut
    await alarm.end(dueAt === null || dueAt > clock.now() ? dueAt : clock.now() + SECOND_MS)
  }
  return {
    enqueue: async (tasks: Parameters<TaskStore['enqueue']>[0]) => {
      const taken = await store.enqueue(tasks)
      alarm.need(clock.now() + (tasks[0]?.dueInMs ?? 0))
      return taken
    },
    cancel: (taskId: string) => store.cancel(taskId),
    verify: async () => undefined,
    holdLane: async () => {},
  }
}

describe.each(Object.entries(recipes))('%s', (_, handOver) => {
  const outages: readonly (readonly [string, number])[] = [
    ['10 min', 10 * MINUTE_MS],
    ['20 s', 20 * SECOND_MS],
    ['6 h', 6 * HOUR_MS],
  ]
  test.each(outages.slice(0, bySize(1, 3)))(
    'S1 an order outlasts a server that is away for %s, and comes within one wait once it is back',
    async (_, forMs) => {
      const clock = fakeClock()
      const server = away(clock, forMs)
      const turns = await handOver(clock, server.fetch)
      await until(clock, () => server.delivered.length > 0, forMs + 2 * LONGEST_MS, turns)

      expect(server.delivered).toHaveLength(1)
      const { lateMs, waitMs } = server.late()
      expect(lateMs).toBeLessThanOrEqual(waitMs)
      expect(waitMs).toBeLessThanOrEqual(LONGEST_MS + BREAKER_MS)
      // and it asked in measure: sixteen waits from 1 s up to 10 min
      expect(server.visits.length).toBeLessThanOrEqual(17 + forMs / (5 * MINUTE_MS))
    },
    60_000, // of real time, on a machine that is busy
  )
})

test('an awaited call is over with its wait, and a call in the background beside it has none of its limits', async () => {
  const clock = fakeClock()
  const server = away(clock, HOUR_MS)
  const queue = open(clock, server.fetch, { ...NO_GATES, ...MANY })
  const call = queue.fetch(ORDERS, post).catch((error: unknown) => error)
  await clock.advance(30 * SECOND_MS)
  expect(await call).toMatchObject({ redrive: { reason: 'wait_exceeded' } })
  const made = server.visits.length
  expect(made).toBeGreaterThan(5)
  await clock.advance(HOUR_MS)
  expect(server.visits).toHaveLength(made)
})

test('what is handed over ends when its key does', async () => {
  const clock = fakeClock()
  const server = away(clock, 48 * HOUR_MS)
  const queue = open(clock, server.fetch)
  const { taskId } = await queue.enqueue(ORDERS, post)
  const ended = queue.result(taskId)
  await clock.advance(25 * HOUR_MS)
  expect(await ended).toMatchObject({ task: { status: 'EXHAUSTED', reason: 'total_budget' } })
  const last = server.visits.at(-1) ?? 0
  expect(last - (server.visits[0] ?? 0)).toBeGreaterThan(24 * HOUR_MS - LONGEST_MS - BREAKER_MS)
  // more than the attempts of any published schedule
  expect(server.visits.length).toBeGreaterThan(100)
})

describe('a field that is given holds for both, and only the others differ', () => {
  /** Gaps of an order that is handed over, and of one that is awaited, at a server that stays away. */
  async function gapsOf(options: RetryQueueOptions, forMs: number) {
    const gaps = async (hands: (queue: RetryQueue) => unknown) => {
      const clock = fakeClock()
      const server = away(clock, HOUR_MS)
      const queue = open(clock, server.fetch, { ...NO_GATES, ...options })
      await queue.ready
      hands(queue)
      await clock.advance(forMs)
      return server.visits.slice(1).map((at, i) => at - (server.visits[i] ?? 0))
    }
    const awaited = await gaps((queue) => queue.fetch(ORDERS, post).catch(() => {}))
    return { awaited, handedOver: await gaps((queue) => queue.enqueue(ORDERS, post)) }
  }

  test('maxAttempts of a policy with a name', async () => {
    const { awaited, handedOver } = await gapsOf({ policy: { policyId: 'three', maxAttempts: 3 } }, 20 * MINUTE_MS)
    expect([awaited.length, handedOver.length]).toEqual([2, 2])
    expect(Math.max(...awaited)).toBeLessThanOrEqual(1_000)
    expect(Math.min(...handedOver)).toBeGreaterThan(800)
  })

  test.each<[what: string, policy: NonNullable<RetryQueueOptions['policy']>, forMs: number, gaps: readonly number[]]>([
    [
      'a field of a curve',
      { initialDelayMs: 100, jitterType: 'NONE', maxAttempts: 5 },
      3_100,
      [100, 200, 400, 800, 1_600],
    ],
    // background waits know nothing of a table
    [
      'a table',
      { strategy: 'table', delaysMs: [1_000, 2_000], maxAttempts: 5 },
      10_000,
      [1_000, 2_000, 2_000, 2_000, 2_000],
    ],
  ])('%s: the same waits for both, attempts apart', async (_, policy, forMs, gaps) => {
    const { awaited, handedOver } = await gapsOf({ policy }, forMs)
    expect([awaited, handedOver]).toEqual([gaps.slice(0, 4), gaps])
  })

  test('a preset', async () => {
    const { awaited, handedOver } = await gapsOf({ policy: presets.interactive }, HOUR_MS)
    expect(handedOver).toHaveLength(11)
    // its caller waits for half a minute
    expect(awaited.length).toBeLessThanOrEqual(11)
  })

  test('keyTtlMs, with which the budget goes', async () => {
    const clock = fakeClock()
    const server = away(clock, 48 * HOUR_MS)
    const queue = open(clock, server.fetch, { policy: { keyTtlMs: HOUR_MS } })
    const { taskId } = await queue.enqueue(ORDERS, post)
    const ended = queue.result(taskId)
    await clock.advance(HOUR_MS + LONGEST_MS)
    expect(await ended).toMatchObject({ task: { status: 'EXHAUSTED', reason: 'total_budget' } })
  })
})

const never = () => new Promise<never>(() => {})

/** The store as one process has it: once that is dead, whatever it has asked for is never answered. */
function storeOf<T extends object>(store: T, process: { readonly isDead: boolean }): T {
  return new Proxy(store, {
    get(_, name) {
      const value: unknown = Reflect.get(store, name)
      if (typeof value === 'object' && value !== null) return storeOf(value, process)
      if (typeof value !== 'function') return value
      return (...args: unknown[]) => (process.isDead ? never() : value.apply(store, args))
    },
  })
}

describe('a caller who leaves hands its task over', () => {
  test.each([
    ['in memory', false],
    ['in a store', true],
  ])('%s: the call is aborted, and was detached', async (_, isStored) => {
    const clock = fakeClock()
    const server = away(clock, HOUR_MS)
    const store = isStored ? { store: memoryStore({ clock }), principal: null } : {}
    const queue = open(clock, server.fetch, { ...NO_GATES, ...store })
    await queue.ready
    const leaving = new AbortController()
    const call = queue.fetch(ORDERS, { ...post, signal: leaving.signal, redrive: { detach: true } })
    call.catch(() => {})
    await clock.advance(400)
    leaving.abort()
    await expect(call).rejects.toThrow()
    await clock.advance(HOUR_MS + LONGEST_MS)
    expect(server.delivered).toHaveLength(1)
  })

  test('its process dies', async () => {
    const clock = fakeClock()
    const server = away(clock, HOUR_MS)
    const store = memoryStore({ clock })
    const process = { isDead: false }
    const fetch: typeof globalThis.fetch = (...args) => (process.isDead ? never() : server.fetch(...args))
    // never closed: it is gone
    const own = storeOf(store, process)
    const first = new RetryQueue({ clock, fetch, seed: 1n, store: own, principal: null, ...NO_GATES })
    await first.ready
    first.fetch(ORDERS, post).catch(() => {})
    await clock.advance(300)
    process.isDead = true
    open(clock, server.fetch, { store, principal: null, ...NO_GATES })
    await clock.advance(HOUR_MS + LONGEST_MS)
    expect(server.delivered).toHaveLength(1)
  })

  test('S22 one who stays is answered when its wait is over, and nothing of the task happens later, in whatever process', async () => {
    const clock = fakeClock()
    const server = away(clock, HOUR_MS)
    const store = memoryStore({ clock })
    const [own] = [0, 1].map(() => open(clock, server.fetch, { store, principal: null, ...NO_GATES, ...MANY }))
    await own?.ready
    const call = own?.fetch(ORDERS, post).catch((error: unknown) => error)
    await clock.advance(30 * SECOND_MS)
    expect(await call).toMatchObject({ redrive: { reason: 'wait_exceeded' } })
    const made = server.visits.length
    await clock.advance(2 * HOUR_MS)
    expect(server.visits).toHaveLength(made)
  })

  test('S22 one who was told while the store did not answer: the task ends once it does, and nothing of it happens later', async () => {
    const clock = fakeClock()
    const server = away(clock, HOUR_MS)
    const store = memoryStore({ clock })
    const disk = { isAway: false }
    const fails = {
      cancel: refusing(store.cancel.bind(store), disk),
      turn: refusing(store.turn.bind(store), disk),
    }
    const queue = open(clock, server.fetch, { store: withMethods(store, fails), principal: null, ...NO_GATES })
    await queue.ready
    const policy = { strategy: 'fixed', initialDelayMs: 20_000, jitterType: 'NONE' } as const
    const call = queue.fetch(ORDERS, { ...post, redrive: { waitMs: 25_000, policy } }).catch((error: unknown) => error)
    await clock.advance(10_000)
    disk.isAway = true
    await clock.advance(20_000)
    expect(await call).toBeInstanceOf(Error)
    disk.isAway = false
    await clock.advance(2 * HOUR_MS)
    expect(server.visits).toHaveLength(1)
    expect(await store.counts()).toMatchObject({ pending: 0, inFlight: 0 })
  })
})

/** A method of a store whose disk is away at times. */
function refusing<Args extends readonly unknown[], T>(
  method: (...args: Args) => Promise<T>,
  disk: { readonly isAway: boolean },
): (...args: Args) => Promise<T> {
  return (...args) => (disk.isAway ? Promise.reject(new Error('the disk is away')) : method(...args))
}
