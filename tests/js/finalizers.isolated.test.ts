/** What the core holds is given back by `close`, never by the garbage collector. */

import { expect, onTestFinished, test, vi } from 'vitest'
import { fakeClock, scriptedServer } from '../../js/testing.ts'
import { bySize } from '../size.ts'
import { ORDERS } from './setup.ts'

const QUEUES = bySize(1_000, 2_000)
const BATCH = 500

/** Counts what is left to the collector from now on, until the test is over. */
function counted(): Set<WeakKey> {
  const pending = new Set<WeakKey>()
  const Original = globalThis.FinalizationRegistry
  class Counting<T> extends Original<T> {
    override register(target: WeakKey, held: T, token?: WeakKey): void {
      if (token) pending.add(token)
      super.register(target, held, token)
    }
    override unregister(token: WeakKey): boolean {
      pending.delete(token)
      return super.unregister(token)
    }
  }
  vi.stubGlobal('FinalizationRegistry', Counting)
  onTestFinished(() => void vi.unstubAllGlobals())
  return pending
}

test('many queues opened, used and closed leave no finalizer pending, no timer, and the memory flat', async () => {
  const registered = counted()
  // glue makes its registries when it is loaded
  vi.resetModules()
  const { instantiate } = await import('../../js/core/file.ts')
  const { RetryQueue } = await import('../../js/index.ts')
  const { glue, memory } = await instantiate()
  const pendingQueues = () => [...registered].filter((each) => each instanceof glue.CoreQueue).length
  const clock = fakeClock()
  let grownBy = 0
  for (let opened = 0; opened < QUEUES; opened += BATCH) {
    const server = scriptedServer({ clock })
    const queues = Array.from({ length: BATCH }, () => {
      const policy = { jitterType: 'NONE', initialDelayMs: 1 } as const
      return new RetryQueue({ clock, fetch: server.fetch, policy, seed: 1n })
    })
    await Promise.all(queues.map((queue) => queue.ready))
    for (let i = 0; i < BATCH; i++) server.reply(503)
    const answers = queues.map((queue) => queue.fetch(ORDERS, { method: 'POST', body: 'x' }))
    await clock.advance(1)
    expect((await Promise.all(answers)).every(({ status }) => status === 200)).toBe(true)
    expect(pendingQueues()).toBe(BATCH)
    await Promise.all(queues.map((queue) => queue.close()))
    expect(pendingQueues()).toBe(0)
    // the first batch sets the size: what is freed is used again
    if (opened === 0) grownBy = memory.buffer.byteLength
  }
  expect(clock.timers).toBe(0)
  expect(memory.buffer.byteLength).toBe(grownBy)
}, 60_000)
