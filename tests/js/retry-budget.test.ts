/** The retry budget as users meet it: retries are put off, none is dropped. */

import { expect, test } from 'vitest'
import type { RetryQueueOptions } from '../../js/index.ts'
import { world } from './durable-setup.ts'
import { ORDERS, setup, stub, watch } from './setup.ts'

const ORIGIN = new URL(ORDERS).origin
const SECOND = { strategy: 'fixed', initialDelayMs: 1_000, maxAttempts: 5, attemptTimeoutMs: 0 } as const
const POST = { method: 'POST', body: 'tea' } as const
const tokens = (queue: { stats(): { origins: Readonly<Record<string, { retryBudget: number }>> } }) =>
  queue.stats().origins[ORIGIN]?.retryBudget

const budgeted = (options: RetryQueueOptions = {}) =>
  setup({ retryBudget: { capacity: 2, perSuccess: 0, perSecond: 0.01 }, concurrency: 100, policy: SECOND, ...options })

test('L6 a retry costs a token; without one it waits once more, not counted, and is not dropped', async () => {
  const { queue, server, clock, hitsAfter } = await budgeted()
  for (let i = 0; i < 3; i++) server.reply(503)
  const calls = [0, 1, 2].map((i) => watch(queue.fetch(`${ORDERS}/${i}`, { redrive: { waitMs: 3_600_000 } })))
  await clock.advance(0)
  expect(tokens(queue)).toBe(2)
  expect(await hitsAfter(1_000)).toBe(5)
  const { tasks } = await queue.list({ status: 'PENDING' })
  expect(tasks).toMatchObject([{ attemptNumber: 1 }])
  expect(await hitsAfter(60_000)).toBe(5)
  // a token is back after 100 s, and it looks again after half of what it has waited, or more
  expect(await hitsAfter(100_000)).toBe(6)
  expect(calls.map(({ value }) => value?.status)).toEqual([200, 200, 200])
})

test('a success gives some back, of first attempts too', async () => {
  const { queue, server, clock } = await budgeted({ retryBudget: { capacity: 2, perSuccess: 0.5, perSecond: 0 } })
  server.reply(503).reply(503)
  await Promise.all([watch(queue.fetch(ORDERS)), clock.advance(1_000)])
  expect(tokens(queue)).toBe(1)
  await queue.fetch(ORDERS)
  expect(tokens(queue)).toBe(1.5)
  await clock.advance(1_000)
  // the second retry cost one and succeeded
  expect(tokens(queue)).toBe(1)
})

test('L6 a store is asked for no more retries than there are tokens, and again when there is one', async () => {
  const { open, server, hitsAfter } = world()
  const { queue } = await open({ retryBudget: { capacity: 2, perSuccess: 0, perSecond: 0.1 }, policy: SECOND })
  for (let i = 0; i < 3; i++) server.reply(503)
  for (let i = 0; i < 3; i++) await queue.enqueue(`${ORDERS}/${i}`, POST)
  expect(await hitsAfter(0)).toBe(3)
  expect(await hitsAfter(1_000)).toBe(5)
  expect(await hitsAfter(8_990)).toBe(5)
  expect(await hitsAfter(1_010)).toBe(6)
  expect(queue.stats().depth).toBe(0)
})

test('a success brings a task of the store back at once, not when the clock would', async () => {
  const { open, server, clock, hitsAfter } = world()
  const { queue } = await open({ retryBudget: { capacity: 1, perSuccess: 1, perSecond: 0.001 }, policy: SECOND })
  for (let i = 0; i < 3; i++) server.reply(503)
  for (let i = 0; i < 2; i++) await queue.enqueue(`${ORDERS}/${i}`, POST)
  expect(await hitsAfter(2_500)).toBe(3)
  await queue.fetch(ORDERS)
  await clock.advance(1)
  // each of the two succeeds, and pays for the next
  expect(server.hits).toBe(6)
  expect(queue.stats().depth).toBe(0)
})

test('there is one without being asked for, in a page too', async () => {
  const given = { retryBudget: undefined, policy: SECOND } as unknown as RetryQueueOptions
  const left = async (options: RetryQueueOptions) => {
    const { queue, clock } = await setup(options, 503, 503)
    watch(queue.fetch(ORDERS))
    await clock.advance(1_000)
    const spent = tokens(queue)
    // the second success
    await clock.advance(2_000)
    return [spent, tokens(queue)]
  }
  expect(await left(given)).toEqual([99, expect.closeTo(100, 5)])
  stub({ location: new URL('https://app.test/') })
  const inPage = await left({ ...given, idempotency: { origins: [ORIGIN] } })
  expect(inPage).toEqual([99, expect.closeTo(100, 5)])
})
