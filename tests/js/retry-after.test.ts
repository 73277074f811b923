import { describe, expect, test } from 'vitest'
import { ExhaustedError } from '../../js/index.ts'
import { opened } from './durable-setup.ts'
import { type Fakes, gaps, markOf, ORDERS, setup, stub, submitted, watch } from './setup.ts'

const A = 'https://a.test/'
const DEFER = { redrive: { mode: 'defer' } } as const

const _quota = (until: number) => ({ 'X-RateLimit-Remaining': '0', 'X-RateLimit-Reset': String(until / 1_000) })

describe('awaited calls that are given the same wait', () => {
  const TOLD = { 'retry-after': '10' }

  /** How much later than in 10 s each of so many callers is sent again, in order. */
  async function late(calls: number, open: typeof setup | typeof opened = setup): Promise<number[]> {
    const { queue, server, clock } = await open({ concurrency: 100 }, ...Array(calls).fill([503, TOLD]))
    const answers = Array.from({ length: calls }, () => queue.fetch(ORDERS, { method: 'POST' }))
    await clock.advance(12_000)
    expect((await Promise.all(answers)).every(({ ok }) => ok)).toBe(true)
    const [asked = 0] = server.requests.map(({ at }) => at)
    return server.requests.slice(calls).map(({ at }) => at - asked - 10_000)
  }

  test.each([
    ['memory', setup, 32],
    ['a store', opened, 8],
  ] as const)(
    'S9 in %s one of many is sent at the moment that the server named, and the others are spread after it',
    async (_, open, calls) => {
      const [first = -1, ...others] = await late(calls, open)
      expect(first).toBe(0)
      expect(new Set(others).size).toBeGreaterThan(0.6 * calls)
      expect(Math.max(...others)).toBeLessThan(1_000)
    },
  )

  test.each<[where: string, open: () => Promise<Pick<Fakes, 'queue' | 'server' | 'clock' | 'hitsAfter'>>]>([
    ['memory', () => setup()],
    ['memory, with gates', () => setup({ breaker: {}, retryBudget: {} })],
    ['a store', () => opened({ concurrency: 100 })],
  ])('S9 in %s one that waits alone is sent at that moment, each time', async (_where, open) => {
    const { queue, server, clock } = await open()
    server
      .reply(429, TOLD)
      .reply(503, { 'retry-after': '2.5' })
      .reply(503, { RateLimit: 'limit=2, remaining=0, reset=4' })
    const answer = queue.fetch(ORDERS, { method: 'POST' })
    await clock.advance(20_000)
    expect((await answer).status).toBe(200)
    expect(gaps(server)).toEqual([10_000, 2_500, 4_000])
  })

  test('S9 in a page one that waits alone is spread: the pages of others were told the same', async () => {
    stub({ location: new URL(ORDERS) })
    const [first = 0] = await late(1)
    expect(first).toBeGreaterThan(0)
  })
})

test.each<[from: string, headers: (now: number) => Record<string, string>]>([
  [
    'the response’s own Date, so the client’s clock may be wrong',
    () => ({ date: 'Sun, 06 Nov 1994 08:49:37 GMT', 'retry-after': 'Sun, 06 Nov 1994 08:49:57 GMT' }),
  ],
  ['the local clock where there is no Date', (now) => ({ 'retry-after': new Date(now + 20_000).toUTCString() })],
])('S9 a date counts from %s', async (_from, headers) => {
  const { queue, server, clock } = await setup()
  server.reply(503, headers(clock.now()))
  await queue.enqueue(ORDERS)
  await clock.advance(30_000)
  expect(gaps(server)[0]).toBeGreaterThanOrEqual(20_000)
  expect(gaps(server)[0]).toBeLessThan(22_000)
})

// all of them: tests/vectors/asked.json, in server-vectors.test.ts
test.each<[what: string, waitMs: number, headers: (now: number) => Record<string, string>]>([
  ['a fraction of seconds', 3_980, () => ({ 'Retry-After': '3.98' })],
  ['a finer field beside it', 20_500, () => ({ 'retry-after-ms': '20500', 'retry-after': '90' })],
  ['a field of a name’s own', 20_000, () => ({ 'Retry-After-short': '20' })],
  ['a reset of draft 7 beside 0', 4_000, () => ({ 'Retry-After': '0', RateLimit: 'limit=2, remaining=0, reset=4' })],
  ['a duration', 90_000, () => ({ 'x-ratelimit-remaining-requests': '0', 'x-ratelimit-reset-requests': '1m30s' })],
])('S9 %s is waited for', async (_what, waitMs, headers) => {
  const { queue, server, clock } = await setup()
  server.reply(429, headers(clock.now()))
  await queue.enqueue(ORDERS)
  await clock.advance(120_000)
  expect(gaps(server)[0]).toBeGreaterThanOrEqual(waitMs)
  expect(gaps(server)[0]).toBeLessThan(waitMs * 1.1 + 1_000)
})

test.each([429, 503])('S9 a %i with it holds other retries and enqueued tasks of that origin', async (status) => {
  const { queue, server, clock, hitsAfter } = await setup({}, 502, [status, { 'retry-after': '10' }])
  const retried = watch(queue.fetch(`${A}retried`))
  await clock.settle()
  await queue.fetch(A, DEFER)
  await queue.enqueue(`${A}enqueued`)
  expect(await hitsAfter(9_999)).toBe(2)
  await clock.advance(2_000)
  expect(retried.value?.status).toBe(200)
  expect(server.requests.map(({ url }) => url)).toContain(`${A}enqueued`)
})

describe('a caller’s own first attempt', () => {
  const HELD: readonly (readonly [what: string, status: number, headers: Record<string, string>])[] = [
    ['503 with a Retry-After of a day', 503, { 'retry-after': '86399' }],
    ['429 with one of a minute', 429, { 'retry-after': '60' }],
    ['200 with a RateLimit that has nothing left for a day', 200, { ratelimit: '"day";r=0;t=86400' }],
  ]

  test.each(HELD)('is sent at once after a %s', async (_what, status, headers) => {
    const { queue, server } = await submitted([[status, headers]], { url: A })
    const calls = [
      queue.fetch(`${A}get`),
      queue.fetch(`${A}post`, { method: 'POST', body: 'x' }),
      queue.fetch(A, DEFER),
    ]
    expect((await Promise.all(calls)).map(({ status }) => status)).toEqual([200, 200, 200])
    expect(server.hits).toBe(4)
    expect(queue.stats().origins[new URL(A).origin]?.heldUntilAt).not.toBeNull()
  })

  test('waits as a task with holdFirstAttempts, no longer than maxLaneHoldMs', async () => {
    const { queue, server, clock } = await setup({ holdFirstAttempts: true, maxLaneHoldMs: 10_000 })
    server.reply(503, { 'retry-after': '3600' })
    await queue.fetch(A, DEFER)
    const other = watch(queue.fetch(`${A}other`))
    await clock.advance(9_999)
    expect([server.hits, other.state]).toEqual([1, 'pending'])
    await clock.advance(1)
    expect(other.value?.status).toBe(200)
  })
})

describe('what one answer asks of others', () => {
  test('S9 the task that was answered waits in full, others maxLaneHoldMs: a minute', async () => {
    const { queue, server, clock } = await submitted([[503, { 'retry-after': '3600' }]], { url: `${A}answered` })
    await queue.enqueue(`${A}other`)
    await clock.advance(59_999)
    expect(server.hits).toBe(1)
    await clock.advance(1)
    expect(server.requests.map(({ url }) => url)).toEqual([`${A}answered`, `${A}other`])
    await clock.advance(3_540_000 - 1)
    expect(server.hits).toBe(2)
    await clock.advance(5_001)
    expect(server.requests.at(-1)?.url).toBe(`${A}answered`)
  })

  test('maxLaneHoldMs 0: nothing', async () => {
    const { queue, server, clock } = await setup({ maxLaneHoldMs: 0 }, [503, { 'retry-after': '60' }])
    await queue.enqueue(`${A}answered`)
    await clock.settle()
    await queue.enqueue(`${A}other`)
    await clock.settle()
    expect(server.requests.at(-1)?.url).toBe(`${A}other`)
  })

  test('L1 an origin that goes on saying so with each success holds a task no longer', async () => {
    const { queue, server, clock } = await setup()
    const spent = { ratelimit: '"day";r=0;t=86400' }
    for (let n = 0; n < 200; n++) server.reply(200, spent)
    server.reply(503, spent)
    await queue.fetch(A, DEFER)
    const { taskId } = await queue.enqueue(`${A}enqueued`)
    for (let seconds = 0; seconds < 61; seconds++) {
      await queue.fetch(`${A}polled`)
      await clock.advance(1_000)
    }
    expect(await queue.get(taskId)).toMatchObject({ status: 'SUCCEEDED' })
  })
})

test('held back as was asked for, and longer than its waitMs: given up at once, since there is no answer to give', async () => {
  const { queue, server, clock } = await setup({ holdFirstAttempts: true }, [503, { 'retry-after': '60' }])
  await queue.fetch(A, DEFER)
  const answer = watch(queue.fetch(A, { redrive: { waitMs: 30_000 } }))
  await clock.settle()
  expect(answer.error).toBeInstanceOf(ExhaustedError)
  expect(answer.error).toMatchObject({ reason: 'wait_exceeded', code: 'EXHAUSTED' })
  expect(markOf(answer.error)).toMatchObject({ reason: 'wait_exceeded' })
  expect(server.hits).toBe(1)
})

test('a held call that fails when it is its turn is tried again like any other', async () => {
  const { queue, server, clock, events } = await setup({ holdFirstAttempts: true }, [503, { 'retry-after': '5' }])
  await queue.fetch(A, DEFER)
  const answer = queue.fetch(`${A}other`)
  await clock.settle()
  server.reply(200).reply(502).reply(200, {}, 'done')
  await clock.advance(20_000)
  expect((await answer).status).toBe(200)
  expect(events.names().filter((name) => name === 'succeeded')).toHaveLength(2)
})

test('a Retry-After beyond what is waited for by default ends the task: it is not turned into an instant retry', async () => {
  const { taskId, queue, server } = await submitted([[503, { 'retry-after': '3000000' }]], { forMs: 60_000 })
  expect(server.hits).toBe(1)
  expect(await queue.get(taskId)).toMatchObject({ status: 'EXHAUSTED', reason: 'retry_after_too_long' })
})
