/** `stats()` is true at the moment it is asked, also where nothing has happened since the last attempt. */

import { expect, test } from 'vitest'
import type { RetryQueue } from '../../js/index.ts'
import type { FakeClock, ScriptedServer } from '../../js/testing.ts'
import { opened, world } from './durable-setup.ts'
import { ORDERS, setup } from './setup.ts'

const ORIGIN = new URL(ORDERS).origin
const ONCE = { redrive: { policy: { maxAttempts: 1 } } } as const
const POST = { method: 'POST', body: 'tea' } as const

async function untilOpen(queue: RetryQueue, server: ScriptedServer, clock: FakeClock): Promise<void> {
  for (let i = 0; i < 1_000 && queue.stats().origins[ORIGIN]?.circuit !== 'OPEN'; i++) {
    server.reply(503)
    await queue.fetch(ORDERS, ONCE)
    await clock.advance(10)
  }
  expect(queue.stats().origins[ORIGIN]?.circuit).toBe('OPEN')
}

test('a circuit whose time is up is half-open, though no attempt has come since', async () => {
  const { queue, server, clock } = await setup({ breaker: {} })
  await untilOpen(queue, server, clock)
  await clock.advance(3_600_000)
  expect(queue.stats().origins[ORIGIN]?.circuit).toBe('HALF_OPEN')
})

test('a hold that is over is not shown', async () => {
  const { queue, clock } = await setup({}, [429, { 'retry-after': '5' }])
  await queue.fetch(ORDERS, ONCE)
  expect(queue.stats().origins[ORIGIN]?.heldUntilAt).toBe(clock.now() + 5_000)
  await clock.advance(5_001)
  expect(queue.stats().origins[ORIGIN]?.heldUntilAt ?? null).toBeNull()
})

test('nothing is to be attempted in a pause, or offline', async () => {
  const { queue, clock } = await setup({ policy: { initialDelayMs: 60_000 } })
  const isNext = () => queue.stats().nextAttemptAt !== null
  queue.pause()
  await queue.enqueue(ORDERS, POST)
  await clock.advance(0)
  expect(isNext()).toBe(false)
  queue.resume()
  queue.pause({ origin: ORIGIN })
  await queue.enqueue(`${ORDERS}/2`, POST)
  await clock.advance(1_000)
  expect(queue.stats().depth).toBe(1)
  expect(isNext()).toBe(false)
})

test('what is due is attempted now, not earlier', async () => {
  const { queue, clock } = await setup({ concurrency: 1, policy: { attemptTimeoutMs: 0 } }, 'hangs')
  await queue.enqueue(ORDERS, POST)
  await queue.enqueue(`${ORDERS}/2`, POST)
  await clock.advance(60_000)
  expect(queue.stats()).toMatchObject({ depth: 2, inFlight: 1 })
  const { nextAttemptAt } = queue.stats()
  expect(nextAttemptAt === null || nextAttemptAt >= clock.now()).toBe(true)
})

test('dead letters past their retention are not counted', async () => {
  const { queue, clock } = await setup({ retention: { deadLetterMs: 60_000 } }, 400)
  await queue.enqueue(ORDERS, POST)
  await clock.advance(0)
  expect(queue.stats().deadLetters).toBe(1)
  await clock.advance(60_001)
  expect(queue.stats().deadLetters).toBe(0)
})

test('of a paused store all that is in it', async () => {
  const { open, clock } = world()
  const { queue } = await open()
  queue.pause()
  for (let i = 0; i < 3; i++) await queue.enqueue(`${ORDERS}/${i}`, POST)
  await clock.advance(0)
  expect(queue.stats()).toMatchObject({ depth: 3, nextAttemptAt: null, origins: { [ORIGIN]: { depth: 3 } } })
  const other = await open()
  await other.queue.enqueue(`${ORDERS}/more`, POST)
  other.queue.pause()
  await clock.advance(60_000)
  expect(queue.stats().depth).toBe((await queue.list({ status: 'PENDING' })).tasks.length)
})

test('of a store whose server is down all that is in it', async () => {
  const { server, clock, queue } = await opened({ breaker: { openMs: 600_000, maxOpenMs: 600_000 } })
  await untilOpen(queue, server, clock)
  // each asks for an attempt
  for (let i = 0; i < 100; i++) server.reply(503)
  for (let i = 0; i < 3; i++) await queue.enqueue(`${ORDERS}/${i}`, POST)
  await clock.advance(60_000)
  expect(queue.stats()).toMatchObject({ depth: 3, origins: { [ORIGIN]: { depth: 3, circuit: 'OPEN' } } })
})
