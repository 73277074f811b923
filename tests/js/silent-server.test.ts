/** A server that is stopped, and goes on: what hangs there is answered then, and not sent again. */

import { afterEach, expect, onTestFinished, test, vi } from 'vitest'
import { RetryQueue, type RetryQueueOptions } from '../../js/index.ts'
import { type FakeClock, fakeClock } from '../../js/testing.ts'
import { closeNow, ORDERS } from './setup.ts'

const POST = { method: 'POST', body: 'tea' }
const SECOND_MS = 1_000

afterEach(() => vi.unstubAllGlobals())

interface Request {
  readonly sentAt: number
  readonly answer: (status?: number) => void
  /** Whether whoever sent it still waits for its answer. */
  readonly isHeard: () => boolean
}

/** A queue with no option set, and every request that reaches its server; `hangs` says which are not answered at once. */
function setup(hangs: (nth: number, now: number) => boolean, options: RetryQueueOptions = {}) {
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
  { count, everyMs = 50, waitMs }: { count: number; everyMs?: number; waitMs?: number },
) {
  const calls: { afterMs: number; end: number | string | undefined }[] = []
  for (let i = 0; i < count; i++) {
    const madeAt = clock.now()
    const call: (typeof calls)[number] = { afterMs: Number.NaN, end: undefined }
    const ended = (end: number | string) => Object.assign(call, { end, afterMs: clock.now() - madeAt })
    queue.fetch(ORDERS, waitMs === undefined ? POST : { ...POST, redrive: { waitMs } }).then(
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

test('calls that hang for 20 s are answered as the server goes on, and next to none is sent twice', async () => {
  const world = setup(until(20))
  const calls = await callsOf(world, { count: 100 })
  await goOn(world, 20)
  expect(calls.map(({ end }) => end)).toEqual(calls.map(() => 200))
  expect(world.requests.length).toBeLessThanOrEqual(100 + 12)
})

test('where others are answered, a connection that is dead is given up at its limit', async () => {
  const world = setup((nth) => nth === 50)
  const calls = await callsOf(world, { count: 400 })
  await world.clock.advance(5_000)
  expect(calls.map(({ end }) => end)).toEqual(calls.map(() => 200))
  expect(calls[49]?.afterMs).toBeLessThan(12_500)
  expect(world.requests).toHaveLength(401)
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
