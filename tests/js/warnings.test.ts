/** A warning that no listener hears goes to the console, once, and says how to silence it. */

import { expect, onTestFinished, test, vi } from 'vitest'
import { registerBackgroundSync } from '../../js/background-sync.ts'
import { RetryQueue, type RetryQueueOptions } from '../../js/index.ts'
import { memoryStore } from '../../js/stores/memory.ts'
import { fakeClock, scriptedServer } from '../../js/testing.ts'
import { always, closeNow, NO_GATES, ORDERS, stub } from './setup.ts'

function silent(options: RetryQueueOptions = {}) {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
  const clock = fakeClock()
  const server = scriptedServer({ clock })
  const queue = new RetryQueue({ name: 'orders', clock, fetch: server.fetch, ...NO_GATES, ...options })
  onTestFinished(async () => {
    warn.mockRestore()
    await closeNow(queue, clock)
  })
  return { queue, server, clock, said: () => warn.mock.calls.map(([text]) => String(text)) }
}

/** Makes the queue say `body_too_large` of the origin. */
const degrade = (queue: RetryQueue, origin = 'https://api.test') =>
  queue.fetch(`${origin}/x`, { method: 'POST', body: 'long' })

test('`degraded` without a listener is warned of once for each code and subject, with what silences it', async () => {
  const { queue, said } = silent({ maxBodyBytes: 1 })
  await degrade(queue)
  await degrade(queue)
  expect(said()).toEqual([
    expect.stringMatching(
      /^redrive: queue 'orders': body_too_large: POST https:\/\/api\.test .*on\('degraded'.*warn: false/,
    ),
  ])
  await degrade(queue, 'https://other.test')
  expect(said()).toHaveLength(2)
  expect(said()[1]).toContain('https://other.test')
})

test('with a listener the console hears nothing', async () => {
  const { queue, said } = silent({ maxBodyBytes: 1 })
  const heard = vi.fn()
  queue.on('degraded', heard)
  await degrade(queue)
  expect([heard.mock.calls.length, said()]).toEqual([1, []])
})

test('once its last listener is gone, the console hears of it again', async () => {
  const { queue, said } = silent({ maxBodyBytes: 1 })
  queue.on('degraded', () => {})()
  await degrade(queue)
  expect(said()).toHaveLength(1)
})

test('with `warn: false` the console hears nothing', async () => {
  const { queue, said } = silent({ maxBodyBytes: 1, warn: false })
  await degrade(queue)
  expect(said()).toEqual([])
})

test('a listener of the package’s own is none of the user’s', async () => {
  stub({
    SyncManager: class {},
    ServiceWorkerGlobalScope: class {},
    addEventListener: () => {},
    removeEventListener: () => {},
  })
  const { queue, said } = silent({ maxBodyBytes: 1, store: memoryStore() })
  expect(registerBackgroundSync(queue)).toBeTypeOf('function')
  await degrade(queue)
  expect(said()).toHaveLength(1)
})

test('`alert` without a listener is warned of once for each kind', async () => {
  const { queue, server, clock, said } = silent({ policy: { maxAttempts: 1 } })
  queue.on('exhausted', () => {})
  always(server, 503, 20)
  const enqueue = async () => {
    for (let i = 0; i < 8; i++) await queue.enqueue(ORDERS, { method: 'POST' })
    await clock.advance(61_000)
  }
  await enqueue()
  expect(said()).toEqual([
    expect.stringMatching(
      /^redrive: queue 'orders': alert: over 5 tasks were given up within a minute: see deadLetters.list\(\) \(once; on\('alert'.*warn: false/,
    ),
  ])
  await enqueue()
  expect(said()).toHaveLength(1)
  queue.on('alert', () => {})
})

test.each(['enqueue', 'defer'] as const)(
  'what was handed over by %s and was given up is warned of once for each origin and reason, while no one waits for it',
  async (how) => {
    const { queue, server, clock, said } = silent()
    const handOver = async (path: string) => {
      server.reply(503).reply(400)
      const init = { method: 'POST', body: 'tea' } as const
      if (how === 'enqueue') await queue.enqueue(`${ORDERS}/${path}?pin=1234`, init)
      else await queue.fetch(`${ORDERS}/${path}?pin=1234`, { ...init, redrive: { mode: 'defer' } })
      await clock.advance(10_000)
    }
    await handOver('1')
    expect(said()).toEqual([
      expect.stringMatching(
        /^redrive: queue 'orders': EXHAUSTED: POST https:\/\/api\.test was given up after 2 attempts, the last answered with 400 .*on\('exhausted'.*warn: false/,
      ),
    ])
    await handOver('2')
    expect(said()).toHaveLength(1)
    expect(said()[0]).not.toContain('1234')
  },
)

test('a caller who is told that its call was given up is enough, be it by its answer or by `result()`', async () => {
  const { queue, server, clock, said } = silent()
  server.reply(503).reply(400)
  const answer = queue.fetch(ORDERS, { method: 'POST', body: 'tea' })
  await clock.advance(10_000)
  expect((await answer).status).toBe(400)
  server.reply(503).reply(400)
  const { taskId } = await queue.enqueue(ORDERS, { method: 'POST', body: 'tea' })
  const outcome = queue.result(taskId)
  await clock.advance(10_000)
  expect((await outcome).task.status).toBe('EXHAUSTED')
  expect(said()).toEqual([])
})
