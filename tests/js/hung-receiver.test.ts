/** A receiver that hangs takes places that others could use: with the default limits it never has all of them (S7). */

import { describe, expect, onTestFinished, test } from 'vitest'
import { RetryQueue, type RetryQueueOptions } from '../../js/index.ts'
import { memoryStore } from '../../js/stores/memory.ts'
import { type FakeClock, fakeClock } from '../../js/testing.ts'
import { closeNow } from './setup.ts'
import { freshPath, openStore } from './sqlite/setup.ts'

const HUNG = 'https://hung.test/'
const WELL = ['https://a.test/', 'https://b.test/']
const POST = { method: 'POST', body: 'tea' }

const hosts: Record<string, (clock: FakeClock) => RetryQueueOptions> = {
  'in memory': () => ({}),
  'in SQLite': (clock) => ({ store: openStore(freshPath(), { clock }), principal: null }),
  'in the naive store': (clock) => ({ store: memoryStore({ clock }), principal: null }),
}

describe.each(Object.entries(hosts))('%s', (_, host) => {
  test('S7 a receiver that hangs has three of the six places, and the others of them none of its tasks', async () => {
    const clock = fakeClock()
    const answered: string[] = []
    let hanging = 0
    const fetch: typeof globalThis.fetch = async (input, init) => {
      const { href } = new URL(String(input instanceof Request ? input.url : input))
      if (href === HUNG) {
        hanging++
        return new Promise((_, reject) => init?.signal?.addEventListener('abort', () => reject(init.signal?.reason)))
      }
      answered.push(href)
      return new Response()
    }
    const queue = new RetryQueue({ clock, fetch, ...host(clock) })
    onTestFinished(() => closeNow(queue, clock))
    for (let i = 0; i < 10; i++) await queue.enqueue(HUNG, POST)
    for (const url of [...WELL, ...WELL]) await queue.enqueue(url, POST)
    for (let ms = 0; ms < 2_000; ms += 50) {
      await clock.advance(50)
      for (let turn = 0; turn < 4; turn++) await new Promise((resolve) => setImmediate(resolve))
    }
    expect([...answered].sort()).toEqual([...WELL, ...WELL].sort())
    expect(hanging).toBe(3)
  })
})

test('where only concurrency is given, one origin may have all of it', () => {
  const limits = (options: RetryQueueOptions) => {
    const { concurrency, concurrencyPerOrigin } = new RetryQueue(options)
    return [concurrency, concurrencyPerOrigin]
  }
  expect(limits({})).toEqual([6, 3])
  expect(limits({ concurrency: 10 })).toEqual([10, 10])
  expect(limits({ concurrency: 1 })).toEqual([1, 1])
  expect(limits({ concurrencyPerOrigin: 2 })).toEqual([6, 2])
})
