/** How many attempts may start in a time: `rate`. */

import { expect, test } from 'vitest'
import { opened, world } from './durable-setup.ts'
import { ORDERS, setup } from './setup.ts'

/** When each request came, from the first on. */
const times = ({ requests }: { readonly requests: readonly { readonly at: number }[] }) =>
  requests.map(({ at }) => at - (requests[0]?.at ?? 0))

test('L6 after a burst the attempts of an origin start evenly', async () => {
  const { queue, server, clock } = await setup({ rate: { perSecond: 4, burst: 3 }, concurrency: 100 })
  for (let i = 0; i < 6; i++) await queue.enqueue(`${ORDERS}/${i}`)
  await clock.advance(10_000)
  expect(times(server)).toEqual([0, 0, 0, 250, 500, 750])
})

test('burst is 1 unless given, and each origin has a bucket of its own', async () => {
  const { queue, server, clock, hitsAfter } = await setup({ rate: { perSecond: 0.5 } })
  for (const url of [ORDERS, ORDERS, 'https://other.test/']) await queue.enqueue(url)
  await clock.advance(1_999)
  expect(server.requests.map(({ url }) => url)).toEqual([ORDERS, 'https://other.test/'])
  expect(await hitsAfter(1)).toBe(3)
})

test('retries keep to it, callers’ own first attempts do not', async () => {
  const { queue, server, clock } = await setup({ rate: { perSecond: 0.1 }, policy: { maxAttempts: 2 } }, 503, 503, 503)
  const answers = ['a', 'b', 'c'].map((id) => queue.fetch(`${ORDERS}/${id}`))
  await clock.advance(30_000)
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([200, 200, 200])
  expect(times(server)).toEqual([0, 0, 0, 1_000, 11_000, 21_000])
})

test('with limitFirstAttempts they do, and wait for their turn', async () => {
  const options = { rate: { perSecond: 2 }, limitFirstAttempts: true, concurrency: 100 }
  const { queue, server, clock } = await setup(options)
  const answers = ['a', 'b', 'c'].map((id) => queue.fetch(`${ORDERS}/${id}`))
  await clock.advance(5_000)
  await Promise.all(answers)
  expect(times(server)).toEqual([0, 500, 1_000])
})

test('explain says that a task waits for the rate, and until when', async () => {
  const { queue, clock } = await setup({ rate: { perSecond: 0.1 } })
  await queue.enqueue(ORDERS)
  const { taskId } = await queue.enqueue(ORDERS)
  await clock.advance(1_000)
  const last = (await queue.explain(taskId)).at(-1)
  expect(last).toMatchObject({ kind: 'waits', data: { gate: 'rate', until: clock.now() + 9_000 } })
  expect(last?.text).toContain("its origin's rate: as many attempts have started as may until ")
})

test('stored tasks are claimed no faster than the rate of their process allows', async () => {
  const { server, clock, queue } = await opened({ rate: { perSecond: 1, burst: 2 } })
  for (let i = 0; i < 5; i++) await queue.enqueue(`${ORDERS}/${i}`, { method: 'POST' })
  await clock.advance(10_000)
  const came = times(server)
  expect(came).toHaveLength(5)
  came.forEach((at, i) => {
    expect(at).toBeGreaterThanOrEqual(Math.max(0, i - 1) * 1_000)
    expect(at).toBeLessThan(Math.max(0, i - 1) * 1_000 + 200)
  })
})

test('S7 a process that finds stored tasks of an origin that it has not met keeps to its rate as well', async () => {
  const { open, server, clock } = world()
  const { queue: first } = await open({})
  first.pause()
  for (let i = 0; i < 3; i++) await first.enqueue(`${ORDERS}/${i}`, { method: 'POST' })
  await first.close()
  await open({ rate: { perSecond: 1, burst: 1 } })
  await clock.advance(10_000)
  const came = times(server)
  expect(came).toHaveLength(3)
  came.forEach((at, i) => {
    expect(at).toBeGreaterThanOrEqual(i * 1_000)
    expect(at).toBeLessThan(i * 1_000 + 200)
  })
})

test.each<[rate: unknown, says: RegExp]>([
  [{}, /options.rate.perSecond: expected a number from 0.001 to 1000000, got undefined/],
  [{ perSecond: 0 }, /options.rate.perSecond/],
  [{ perSecond: 1, burst: 0 }, /options.rate.burst/],
  [{ perSecond: 1, interval: 2 }, /options.rate.interval: no such option/],
  [5, /options.rate/],
])('a rate of %j is refused', async (rate, says) => {
  await expect(setup({ rate } as never)).rejects.toThrow(says)
})
