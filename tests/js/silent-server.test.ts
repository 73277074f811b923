/** A server that is stopped, and goes on: what hangs there is answered then, and not sent again. */

import { afterEach, expect, onTestFinished, test, vi } from 'vitest'
import { RetryQueue, type RetryQueueOptions, type TaskOptions } from '../../js/index.ts'
import { type FakeClock, fakeClock } from '../../js/testing.ts'
import { closeNow, ORDERS } from './setup.ts'

const POST = { method: 'POST', body: 'tea' }
const SECOND_MS = 1_000

afterEach(() => vi.unstubAllGlobals())

interface Request {
  readonly sentAt: number
  readonly answer: (status?: number) => void
  /** Whether its sender still waits for the answer. */
  readonly isHeard: () => boolean
}

type Hangs = (nth: number, now: number) => boolean

/** A queue with no option set, and every request that reaches its server; `hangs` says which are not answered at once. */
function setup(hangs: Hangs, options: RetryQueueOptions = {}) {
  const clock = fakeClock()
  const requests: Request[] = []
  const fetch: typeof globalThis.fetch = (_url, init) =>
    new Promise((resolve, reject) => {
      let isHeard = true
      init?.signal?.addEventListener('abort', () => {
        isHeard = false
        reject(init.signal?.reason)
      })
      const answer = (status = 200) => {
        isHeard = false
        resolve(new Response(null, { status }))
      }
      requests.push({ sentAt: clock.now(), answer, isHeard: () => isHeard })
      if (!hangs(requests.length, clock.now())) answer()
    })
  const queue = new RetryQueue({ clock, fetch, seed: 7n, warn: false, ...options })
  onTestFinished(() => closeNow(queue, clock))
  return { queue, clock, requests }
}

/** Calls one after another, `everyMs`: how each ends, and after how long. */
async function callsOf(
  { queue, clock }: { queue: RetryQueue; clock: FakeClock },
  {
    count,
    everyMs = 50,
    waitMs,
    redrive = {},
  }: { count: number; everyMs?: number; waitMs?: number; redrive?: TaskOptions },
) {
  // the core loads in real time
  await queue.ready
  const calls: { afterMs: number; end: number | string | undefined }[] = []
  for (let i = 0; i < count; i++) {
    const madeAt = clock.now()
    const call: (typeof calls)[number] = { afterMs: Number.NaN, end: undefined }
    const ended = (end: number | string) => Object.assign(call, { end, afterMs: clock.now() - madeAt })
    queue.fetch(ORDERS, { ...POST, redrive: { ...redrive, ...(waitMs !== undefined && { waitMs }) } }).then(
      ({ status }) => ended(status),
      ({ name }) => ended(name),
    )
    calls.push(call)
    await clock.advance(everyMs)
  }
  return calls
}

const START = fakeClock().now()
const until = (seconds: number) => (_: number, now: number) => now < START + seconds * SECOND_MS

/** The server goes on after so many seconds: all that is still waited for is answered, in the order in which it came. */
async function goOn({ clock, requests }: ReturnType<typeof setup>, seconds: number) {
  await clock.advance(START + seconds * SECOND_MS - clock.now())
  for (const request of requests.slice()) if (request.isHeard()) request.answer()
  await clock.advance(2_500)
}

test.each<[what: string, hangs: Hangs]>([
  ['', until(20)],
  [
    'beside one that is answered, of those that are made later',
    (nth, now) => nth === 2 || (nth > 3 && until(20)(nth, now)),
  ],
])(
  'calls that hang for 20 s are answered as the server goes on, and next to none is sent twice %s',
  async (_, hangs) => {
    const world = setup(hangs)
    const calls = await callsOf(world, { count: 100 })
    await goOn(world, 20)
    expect(calls.map(({ end }) => end)).toEqual(calls.map(() => 200))
    expect(world.requests.length).toBeLessThanOrEqual(100 + 12)
  },
)

test('calls to a server that needs 15 s for each answer are answered, and next to none is sent twice', async () => {
  const world = setup((nth) => {
    world.clock.after(15_000, () => world.requests[nth - 1]?.answer())
    return true
  })
  const calls = await callsOf(world, { count: 200 })
  await world.clock.advance(30_000)
  expect(calls.map(({ end }) => end)).toEqual(calls.map(() => 200))
  expect(world.requests.length).toBeLessThanOrEqual(200 + 12)
})

test.each<[known: string, hangs: Hangs, count: number, dead: number]>([
  ['', (nth) => nth === 50, 400, 1],
  [', where nothing was known of that server before', (nth) => nth % 10 === 0 && nth <= 50, 300, 5],
])('where others are answered, a connection that is dead is given up at its limit%s', async (_, hangs, count, dead) => {
  const world = setup(hangs)
  const calls = await callsOf(world, { count })
  await world.clock.advance(5_000)
  expect(calls.map(({ end }) => end)).toEqual(calls.map(() => 200))
  for (const { afterMs } of calls) expect(afterMs).toBeLessThan(12_500)
  expect(world.requests).toHaveLength(count + dead)
})

test('three calls that hang beside others that are well open no circuit', async () => {
  const world = setup((nth) => nth <= 3)
  const circuits: unknown[] = []
  world.queue.on('circuit', (change) => circuits.push(change))
  const hung = await callsOf(world, { count: 3, everyMs: 1, waitMs: 3_000 })
  const well = await callsOf(world, { count: 8, everyMs: 1_000 })
  expect(hung.map(({ end }) => end)).toEqual(['TimeoutError', 'TimeoutError', 'TimeoutError'])
  expect(well.map(({ end }) => end)).toEqual(well.map(() => 200))
  expect(circuits).toEqual([])
})

test.each<[string, TaskOptions]>([
  ['that is not tried again', { policy: { maxAttempts: 1 } }],
  ['whose timeouts are not tried again', { policy: { retryTimeouts: false } }],
  ['whose time is over', { policy: { totalBudgetMs: 10_000 } }],
])('a call %s is given up at its limit, and takes no look from the others', async (_, redrive) => {
  const world = setup(until(20))
  const others = await callsOf(world, { count: 3, redrive })
  const calls = await callsOf(world, { count: 1 })
  await world.clock.advance(10_500)
  expect(world.requests.slice(0, others.length).filter(({ isHeard }) => isHeard())).toEqual([])
  expect(calls[0]?.end).toBeUndefined()
  expect(world.requests.length).toBeGreaterThan(4)
})

test('a principal who has left has its calls given up at their next look', async () => {
  const world = setup(until(25), { principal: 'ann' })
  const calls = await callsOf(world, { count: 10 })
  await world.clock.advance(START + 11_000 - world.clock.now())
  await world.queue.setPrincipal('ben')
  await world.clock.advance(3_000)
  // the first was given up before, and its next attempt is under way
  expect(calls.slice(1).map(({ end }) => end)).toEqual(calls.slice(1).map(() => 'TimeoutError'))
})

test('two calls whose connections are dead are answered over others, the second a few seconds later', async () => {
  const world = setup((nth) => nth <= 2)
  const calls = await callsOf(world, { count: 2 })
  await world.clock.advance(20_000)
  expect(calls.map(({ end }) => end)).toEqual([200, 200])
  expect(Math.max(...calls.map(({ afterMs }) => afterMs))).toBeLessThan(16_000)
})

test('a server that stays silent is waited for no longer than waitMs', async () => {
  const world = setup(() => true)
  const calls = await callsOf(world, { count: 20, waitMs: 15_000 })
  await world.clock.advance(20_000)
  expect(calls.map(({ end }) => end)).toEqual(calls.map(() => 'TimeoutError'))
  for (const { afterMs } of calls) expect(afterMs).toBeLessThanOrEqual(15_050)
  // and not all in one moment, which would keep the last of many from being told in time
  expect(new Set(calls.map(({ afterMs }) => afterMs)).size).toBeGreaterThan(5)
})

test.each([
  ['with a limit of its own', { policy: { attemptTimeoutMs: 10_000 } }, false],
  ['in a page', {}, true],
])('%s an attempt is given up then', async (_, options, isPage) => {
  if (isPage) vi.stubGlobal('location', new URL(ORDERS))
  const world = setup(until(20), options)
  await callsOf(world, { count: 20 })
  await world.clock.advance(12_000)
  expect(world.requests.slice(0, 20).filter(({ isHeard }) => isHeard())).toEqual([])
})
