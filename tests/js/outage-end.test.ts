/** An outage and its end, as a process with a few tasks meets them, and a server that hangs beside others that are well. */

import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { RetryQueue, type RetryQueueOptions } from '../../js/index.ts'
import { memoryStore } from '../../js/stores/memory.ts'
import { type FakeClock, fakeClock } from '../../js/testing.ts'
import { bySize } from '../size.ts'
import { closeNow, ORDERS, watch } from './setup.ts'
import { freshPath, openStore } from './sqlite/setup.ts'

const SECOND_MS = 1_000
const TASKS = 9
const POST = { method: 'POST', body: 'tea' }

afterEach(() => vi.unstubAllGlobals())

const hosts: Record<string, (clock: FakeClock) => RetryQueueOptions> = {
  'in memory': () => ({}),
  'a page, in memory': () => {
    vi.stubGlobal('location', new URL(ORDERS))
    return {}
  },
  'in SQLite': (clock) => ({ store: openStore(freshPath(), { clock }), principal: null }),
  'in the naive store': (clock) => ({ store: memoryStore({ clock }), principal: null }),
}

/** In quick, memory alone: a database has its turns in each step of the clock. */
const HOSTS = Object.entries(hosts).slice(0, bySize(1, 4))

/** A queue with nine tasks whose server is silent until `back` is called. */
async function outage(host: (clock: FakeClock) => RetryQueueOptions, seed: bigint) {
  const clock = fakeClock()
  let isBack = false
  const visits: number[] = []
  const delivered: number[] = []
  const fetch: typeof globalThis.fetch = async () => {
    visits.push(clock.now())
    if (!isBack) throw new TypeError('fetch failed')
    delivered.push(clock.now())
    return new Response()
  }
  const queue = new RetryQueue({ clock, fetch, seed, ...host(clock) })
  onTestFinished(() => closeNow(queue, clock))
  queue.on('degraded', () => {})
  for (let i = 0; i < TASKS; i++) await queue.enqueue(ORDERS, { method: 'POST', body: `${i}` })
  return { queue, clock, visits, delivered, back: () => (isBack = true) }
}

/** Time passes in steps, between which a database has its turns. */
async function pass(clock: FakeClock, ms: number, done: () => boolean = () => false): Promise<void> {
  for (let at = 0; at < ms && !done(); at += 50) {
    await clock.advance(50)
    for (let turn = 0; turn < 4; turn++) await new Promise((resolve) => setImmediate(resolve))
  }
}

/** With no option set but the caller's wait, if that is not the default of 30 s. Each seed has waits of its own. */
test.each([
  [1, 30],
  [5, 30],
  [10, 30],
  [20, 30],
  [5, 10],
  [50, 60],
])('a call that is alone outlasts an outage of %i s within %i s, with few requests', async (seconds, waits) => {
  for (let seed = 1n; seed <= bySize(25, 200); seed++) {
    const clock = fakeClock()
    const back = clock.now() + seconds * SECOND_MS
    let visits = 0
    const fetch: typeof globalThis.fetch = async () => {
      visits++
      if (clock.now() >= back) return new Response()
      if (seed % 2n) throw new TypeError('fetch failed')
      return new Response(null, { status: 503 })
    }
    const queue = new RetryQueue({ clock, fetch, seed })
    await queue.ready
    const init = waits === 30 ? POST : { ...POST, redrive: { waitMs: waits * SECOND_MS } }
    const call = watch(queue.fetch(ORDERS, init))
    await clock.advance(waits * SECOND_MS)
    expect(call.value, `seed ${seed}: ${call.error}`).toMatchObject({ status: 200 })
    expect(visits).toBeLessThanOrEqual(Math.max(12, waits / 2.5))
    await closeNow(queue, clock)
  }
})

test('a limit that names no wait loses none of 1,000 calls in ten seconds: 60 answers a second, 429 for the rest', async () => {
  const clock = fakeClock()
  const answered = new Map<number, number>()
  const fetch: typeof globalThis.fetch = async () => {
    const second = Math.floor(clock.now() / SECOND_MS)
    const before = answered.get(second) ?? 0
    if (before >= 60) return new Response(null, { status: 429 })
    answered.set(second, before + 1)
    return new Response()
  }
  const queue = new RetryQueue({ clock, fetch, seed: 1n, warn: false })
  onTestFinished(() => closeNow(queue, clock))
  await queue.ready
  const statuses: number[] = []
  for (let i = 0; i < 1_000; i++) {
    void queue.fetch(ORDERS).then(({ status }) => statuses.push(status))
    await clock.advance(10)
  }
  await clock.advance(30 * SECOND_MS)
  expect(statuses.filter((status) => status === 200)).toHaveLength(1_000)
})

describe.each(HOSTS)('%s', (_, host) => {
  test('flush() has one attempt see at once whether the server is back, and then all go', async () => {
    const { queue, clock, visits, delivered, back } = await outage(host, 3n)
    await pass(clock, 120 * SECOND_MS)
    const asked = visits.length
    await queue.flush()
    await pass(clock, 100)
    expect(visits.length).toBe(asked + 1)
    back()
    await queue.flush()
    await pass(clock, 3 * SECOND_MS, () => delivered.length === TASKS)
    expect(delivered).toHaveLength(TASKS)
  })

  test('stats() and explain() say until when the origin is left alone', async () => {
    const { queue, clock } = await outage(host, 3n)
    const { taskId } = await queue.enqueue(ORDERS, { method: 'POST', body: 'one more' })
    await pass(clock, 30 * SECOND_MS)
    const kinds = new Set<string>()
    for (let i = 0; i < 300 && kinds.size < 2; i++) {
      await pass(clock, 100)
      const { shutUntilAt = null, circuit } = queue.stats().origins[new URL(ORDERS).origin] ?? {}
      const { text, data } = (await queue.explain(taskId)).at(-1) ?? {}
      if (shutUntilAt === null || (data?.gate !== 'ramp' && data?.gate !== 'circuit-open')) continue
      expect(shutUntilAt).toBeGreaterThan(clock.now())
      // what the core has heard last may be over
      if (data.gate === 'ramp')
        expect(text).toMatch(
          /^waits for its origin, which has failed and is asked again one attempt at a time, next at /,
        )
      else expect(circuit).toBe('OPEN')
      kinds.add(data.gate)
    }
    expect([...kinds].sort()).toEqual(['circuit-open', 'ramp'])
  })

  test.for([
    ['enqueued', (queue: RetryQueue) => queue.enqueue(ORDERS, { method: 'POST', body: 'new' })],
    [
      'deferred',
      (queue: RetryQueue) => queue.fetch(ORDERS, { method: 'POST', body: 'new', redrive: { mode: 'defer' } }),
    ],
  ] as const)(
    'a new task that is %s after the outage is sent within seconds, and brings the others along',
    async ([, give]) => {
      const { queue, clock, delivered, back } = await outage(host, 3n)
      await pass(clock, 120 * SECOND_MS)
      back()
      const returned = clock.now()
      await Promise.all([give(queue), pass(clock, 8 * SECOND_MS, () => delivered.length > 0)])
      expect(delivered[0]).toBeLessThanOrEqual(returned + 7 * SECOND_MS)
      await pass(clock, 3 * SECOND_MS, () => delivered.length === TASKS + 1)
      expect(delivered).toHaveLength(TASKS + 1)
    },
  )
})

describe.each(HOSTS.filter(([name]) => !name.includes('page')))('%s', (_, host) => {
  test.each([
    ['20 s', 20, 15],
    ['45 s', 45, 40],
  ])('S1 all come soon after a server that was away for %s is back', async (_, awayS, mostS) => {
    for (const seed of [1n, 2n, 3n].slice(0, bySize(1, 3))) {
      const { clock, delivered, back } = await outage(host, seed)
      await pass(clock, awayS * SECOND_MS)
      back()
      await pass(clock, mostS * SECOND_MS, () => delivered.length === TASKS)
      expect(delivered).toHaveLength(TASKS)
      // after the first of them, the others are not kept waiting
      expect((delivered.at(-1) ?? 0) - (delivered[0] ?? 0)).toBeLessThan(3 * SECOND_MS)
    }
  })
})
