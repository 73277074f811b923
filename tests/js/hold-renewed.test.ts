// The hold of a stored lane has one end, however many processes hear of it and however briefly each lives.
import { expect, test } from 'vitest'
import { RetryQueue, type RetryQueueOptions } from '../../js/index.ts'
import { type FakeClock, fakeClock } from '../../js/testing/clock.ts'
import { closeNow, NO_GATES, PLAIN_CURVE } from './setup.ts'
import { freshPath, openStore } from './sqlite/setup.ts'

const API = 'https://api.test'
const POST = { method: 'POST', body: 'x' } as const
const DEFER = { ...POST, redrive: { mode: 'defer' } } as const
const MOST_MS = 2_000

interface File {
  readonly clock: FakeClock
  /** When `/fine` was delivered, since it was enqueued. */
  readonly deliveredAt: () => number | undefined
  /** A queue of a process of its own. */
  open(options?: RetryQueueOptions): Promise<RetryQueue>
  /** Its own attempt is told to wait for an hour, and its task is stored. */
  told(queue: RetryQueue): Promise<void>
  enqueueFine(queue: RetryQueue): Promise<void>
}

function file(): File {
  const [clock, path] = [fakeClock(), freshPath()]
  let [enqueuedAt, deliveredAt] = [0, Number.NaN]
  const fetch = async (url: string | URL | Request): Promise<Response> => {
    if (String(url).endsWith('/limited')) return new Response('', { status: 503, headers: { 'retry-after': '3600' } })
    deliveredAt = clock.now()
    return new Response('ok')
  }
  const terms = { clock, fetch, principal: null, maxLaneHoldMs: MOST_MS, concurrency: 50, ...NO_GATES }
  return {
    clock,
    deliveredAt: () => (Number.isNaN(deliveredAt) ? undefined : deliveredAt - enqueuedAt),
    async open(options = {}) {
      const queue = new RetryQueue({ ...terms, policy: PLAIN_CURVE, store: openStore(path, { clock }), ...options })
      await queue.ready
      return queue
    },
    async told(queue) {
      const answer = queue.fetch(`${API}/limited`, DEFER)
      await clock.settle()
      expect((await answer).status).toBe(202)
    },
    async enqueueFine(queue) {
      enqueuedAt = clock.now()
      await queue.enqueue(`${API}/fine`, POST)
    },
  }
}

test.each([300, 900, 1_000, 1_700])(
  'L1 processes that come and go, one each %i ms, do not renew a hold past its end',
  async (everyMs) => {
    const { clock, open, told, enqueueFine, deliveredAt } = file()
    const main = await open()
    await told(main)
    await enqueueFine(main)
    for (let ms = 0; ms < 20_000; ms += everyMs) {
      const queue = await open()
      await told(queue)
      await closeNow(queue, clock)
      await clock.advance(everyMs)
    }
    expect(deliveredAt()).toBeLessThanOrEqual(MOST_MS + 1_000)
    await closeNow(main, clock)
  },
)

test.each([250, 700, 1_100, 1_900])(
  'L1 two processes that are told to wait by turns, each %i ms, do not renew a hold past its end',
  async (everyMs) => {
    const { clock, open, told, enqueueFine, deliveredAt } = file()
    const queues = [await open(), await open()] as const
    await told(queues[0])
    await enqueueFine(queues[0])
    for (let n = 0; n * everyMs < 20_000; n++) {
      await told(queues[n % 2 === 0 ? 1 : 0])
      await clock.advance(everyMs)
    }
    expect(deliveredAt()).toBeLessThanOrEqual(MOST_MS + 1_000)
    for (const queue of queues) await closeNow(queue, clock)
  },
)

test('S9 a process that has joined late holds no longer than the store does, and says what it was told all the same', async () => {
  const { clock, open, told, enqueueFine, deliveredAt } = file()
  const [early, late] = [await open({ maxLaneHoldMs: MOST_MS }), await open({ maxLaneHoldMs: 60_000 })]
  await told(early)
  await clock.advance(1_900)
  await told(late)
  early.pause()
  await enqueueFine(late)
  await clock.advance(99)
  expect(deliveredAt()).toBeUndefined()
  await clock.advance(1_001)
  expect(deliveredAt()).toBeDefined()
  for (const queue of [early, late]) await closeNow(queue, clock)
})

test('S9 a hold that the store has cut to its own limit ends by that in the process that told it, too', async () => {
  const { clock, open, enqueueFine, deliveredAt } = file()
  const [first, second] = [await open(), await open()]
  // by calls that make no stored task
  const heard = (queue: RetryQueue) => queue.fetch(`${API}/limited`)
  await heard(first)
  await clock.advance(900) // the second has not looked at the file since
  await heard(second)
  await closeNow(first, clock)
  await enqueueFine(second)
  await clock.advance(5_000)
  expect(deliveredAt()).toBeLessThanOrEqual(MOST_MS - 900 + 200)
  await closeNow(second, clock)
})
