import { expect, test } from 'vitest'
import { QueueFullError, RetryQueue, type RetryQueueOptions } from '../../js/index.ts'
import { type Fakes, ORDERS, setup } from './setup.ts'

const A = 'https://a.test/'
const B = 'https://b.test/'

/** A fetch that answers 200 after a second and counts what runs at once, in all and by origin. */
async function setupCounting(options: Parameters<typeof setup>[0] = {}) {
  const running = new Map<string, number>()
  const most = new Map<string, number>()
  const order: string[] = []
  let clockOf: Fakes['clock'] | undefined
  const count = (name: string, by: number) => {
    running.set(name, (running.get(name) ?? 0) + by)
    most.set(name, Math.max(most.get(name) ?? 0, running.get(name) ?? 0))
  }
  const fetch = (input: RequestInfo | URL) => {
    const { href, origin } = new URL(String(input))
    order.push(href)
    for (const name of ['all', origin]) count(name, 1)
    return new Promise<Response>((resolve) => {
      clockOf?.after(1_000, () => {
        for (const name of ['all', origin]) count(name, -1)
        resolve(new Response(null, { status: 200 }))
      })
    })
  }
  const fakes = await setup({ ...options, fetch })
  clockOf = fakes.clock
  return { ...fakes, most, order }
}

test('S7 retries of callers are held by it; their first attempts are not', async () => {
  const { queue, server, hitsAfter } = await setup({ concurrency: 2 }, ...Array(10).fill(503))
  for (let i = 0; i < 10; i++) void queue.fetch(`${ORDERS}/${i}`).catch(() => {})
  expect(await hitsAfter()).toBe(10)
  for (let i = 0; i < 10; i++) server.hang()
  expect(await hitsAfter(1_000)).toBe(12)
  expect(queue.stats()).toMatchObject({ inFlight: 2, depth: 10 })
})

test('S17 a full queue refuses the next task, typed, and drops nothing', async () => {
  const { queue, clock } = await setupCounting({ capacity: 2 })
  queue.pause()
  const kept = [(await queue.enqueue(A)).taskId, (await queue.enqueue(B)).taskId]
  await expect(queue.enqueue(A)).rejects.toBeInstanceOf(QueueFullError)
  await expect(queue.enqueue(A)).rejects.toMatchObject({ code: 'QUEUE_FULL' })
  expect((await queue.list()).tasks.map(({ taskId }) => taskId)).toEqual(kept)
  queue.resume()
  await clock.advance(1_000)
  for (const id of kept) expect(await queue.get(id)).toMatchObject({ status: 'SUCCEEDED' })
  await expect(queue.enqueue(A)).resolves.toMatchObject({ durability: 'memory' })
})

test('S17 bodies are limited by capacityBytes', async () => {
  const { queue, clock } = await setup({ capacityBytes: 100 })
  queue.pause()
  const post = (bytes: number) => queue.enqueue(ORDERS, { method: 'POST', body: 'x'.repeat(bytes) })
  await post(60)
  await expect(post(41)).rejects.toBeInstanceOf(QueueFullError)
  await post(40)
  await queue.enqueue(ORDERS) // no body
  queue.resume()
  await clock.settle()
  await post(100)
})

test('S17 a fetch that cannot be kept gets its first answer as it is; degraded says so once', async () => {
  const { queue, clock, events } = await setup({ capacity: 1 }, ...Array(4).fill(503))
  await queue.fetch(ORDERS, { redrive: { mode: 'defer' } })
  for (let i = 0; i < 3; i++) expect((await queue.fetch(ORDERS)).status).toBe(503)
  expect(events.of('degraded')).toMatchObject([{ code: 'storage_full' }])
  await clock.advance(1_000)
  expect(events.names().filter((name) => name === 'succeeded')).toHaveLength(1)
})

test('S17 a lost connection that cannot be kept is the caller’s own error', async () => {
  const { queue, server } = await setup({ capacity: 1 })
  const lost = new TypeError('fetch failed')
  server.reply(503).fail(lost)
  await queue.fetch(ORDERS, { redrive: { mode: 'defer' } })
  await expect(queue.fetch(ORDERS)).rejects.toBe(lost)
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
