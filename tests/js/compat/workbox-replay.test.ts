/** Workbox's queue over ours: what a replay sends, and what the browser is asked. */
import { IDBFactory } from 'fake-indexeddb'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { BackgroundSyncPlugin, Queue } from '../../../js/compat/workbox.ts'
import { post, worker } from './worker.ts'

const TAG = 'workbox-background-sync:orders'

beforeEach(() => {
  globalThis.indexedDB = new IDBFactory()
})

describe('a replay', () => {
  test('sends one at a time, in order, those that were put in front first', async () => {
    const { server, open, sync, during } = worker()
    const { queue } = open()
    for (const body of ['b', 'c', 'd']) await during(queue.pushRequest({ request: post(body) }))
    await during(queue.unshiftRequest({ request: post('a') }))
    const answers = [server.hang(), server.hang(), server.hang(), server.hang()]
    const synced = sync()
    for (const [i, answer] of answers.entries()) {
      await vi.waitFor(() => expect(server.hits).toBe(i + 1))
      answer(200)
    }
    expect(await synced).toBe('well')
    expect(server.requests.map(({ body }) => body)).toEqual(['a', 'b', 'c', 'd'])
  })

  test('a request that fails steps aside, and is sent again under the same key, after what its server asked for', async () => {
    const { server, open, sync, during } = worker()
    const { queue } = open('orders', { redrive: { maxLaneHoldMs: 0 } })
    for (const body of ['a', 'b']) await during(queue.pushRequest({ request: post(body) }))
    server.reply(503, { 'retry-after': '5' }).reply(200).reply(200)
    expect(await sync()).toBe('well')
    expect(server.requests.map(({ body }) => body)).toEqual(['a', 'b', 'a'])
    const [first, , again] = server.requests
    expect((again?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(5_000)
    const key = first?.headers.get('idempotency-key')
    expect(key).toMatch(/^[\da-f]{32}$/)
    expect(again?.headers.get('idempotency-key')).toBe(key)
  })

  test('what is left is kept, and the browser is told to come again', async () => {
    const { server, open, sync, during } = worker()
    const { queue } = open()
    await during(queue.pushRequest({ request: post('a') }))
    server.reply(503, { 'retry-after': '600' })
    expect(await sync()).toBe('queue-replay-failed')
    expect(await during(queue.size())).toBe(1)
    await expect(during(queue.replayRequests())).rejects.toMatchObject({
      code: 'QUEUE_REPLAY_FAILED',
      name: 'queue-replay-failed',
      details: { name: 'orders' },
    })
    expect(server.hits).toBe(1)
  })

  test('an answer that no retry can help ends it as a dead letter', async () => {
    const { server, open, sync, during } = worker()
    const { queue } = open()
    await during(queue.pushRequest({ request: post('a') }))
    server.reply(404)
    expect(await sync()).toBe('well')
    expect(await during(queue.size())).toBe(0)
    const { tasks } = await during(queue.retryQueue.deadLetters.list())
    expect(tasks).toMatchObject([{ reason: 'not_retryable' }])
  })

  test('once all is sent the queue rests: what is pushed later waits for its sync', async () => {
    const { server, open, sync, during, clock } = worker()
    const { queue } = open()
    await during(queue.pushRequest({ request: post('a') }))
    server.reply(200)
    await sync()
    await during(queue.pushRequest({ request: post('b') }))
    await clock.advance(60_000)
    expect(server.hits).toBe(1)
  })

  test('of nothing opens neither core nor database', async () => {
    const { open, sync } = worker()
    const { queue } = open()
    expect(await sync()).toBe('well')
    expect(queue.retryQueue.stats().attempts).toBe(0)
    expect(await indexedDB.databases()).toEqual([])
  })

  test.for([
    [[], null],
    [['https://api.test'], expect.stringMatching(/^[\da-f]{32}$/)],
  ] as const)('goes to another origin, of which %o are listed, with the key %o', async ([origins, key]) => {
    const { server, open, sync, during } = worker()
    const { queue } = open('orders', { redrive: { idempotency: { origins } } })
    await during(queue.pushRequest({ request: post('a', {}, 'https://api.test/x') }))
    server.reply(503).reply(200)
    expect(await sync()).toBe('well')
    const keys = server.requests.map(({ headers }) => headers.get('idempotency-key'))
    expect(keys).toEqual([key, key])
    expect(keys[0]).toBe(keys[1])
  })
})

describe('the browser', () => {
  const pushing = async ({ queue }: { queue: Queue }) => {
    await queue.pushRequest({ request: post('during') })
    await queue.pushRequest({ request: post('during, too') })
  }

  test('many queues in one worker: each hears its own sync', async () => {
    const { open, sync } = worker()
    const heard: string[] = []
    for (const name of ['foo', 'bar']) open(name, { onSync: ({ queue }) => void heard.push(queue.name) })
    await sync('foo')
    expect(heard).toEqual(['foo'])
    expect(await sync('baz')).toBe('unanswered')
  })

  test('is asked once more for what was added during a sync, and only after it', async () => {
    const { open, sync, asked } = worker()
    open('orders', { onSync: pushing })
    expect(await sync()).toBe('well')
    expect(asked).toEqual([TAG])
  })

  test.for([
    [false, []],
    [true, [TAG]],
  ] as const)('is not asked after a sync that failed, unless it was the last: %s', async ([lastChance, wanted]) => {
    const { open, sync, asked } = worker()
    const onSync = async ({ queue }: { queue: Queue }) => {
      await pushing({ queue })
      throw new RangeError('sync failed')
    }
    open('orders', { onSync })
    expect(await sync('orders', { lastChance })).toBe('RangeError')
    expect(asked).toEqual(wanted)
  })

  test('that refuses is told of, and the worker sends while it lives', async () => {
    const made = worker()
    const { server, open, during, rest } = made
    made.isRefusing = true
    const { queue, events } = open()
    server.reply(200)
    await during(queue.pushRequest({ request: post('a') }))
    await rest()
    expect(server.hits).toBe(1)
    expect(events.of('degraded')).toMatchObject([{ code: 'sync_refused' }])
    expect(events.of('degraded')[0]?.message).toContain('Permission denied.')
  })

  test('a worker that begins with requests of an earlier one asks for a sync, and sends what is due', async () => {
    const { server, open, asked, during, rest, end } = worker()
    const before = open()
    await during(before.queue.pushRequest({ request: post('a') }))
    await end(before)
    server.reply(200)
    const { queue } = open()
    await rest()
    expect(asked).toEqual([TAG, TAG])
    await during(queue.retryQueue.idle())
    expect(server.hits).toBe(1)
  })

  test('without Background Sync the worker replays when it begins, and sends what is pushed while it lives', async () => {
    const { server, open, during, rest, end } = worker({ hasSync: false })
    server.reply(503, { 'retry-after': '120' }).reply(200).reply(200)
    const before = open()
    await during(before.queue.pushRequest({ request: post('a') }))
    await rest()
    expect(server.hits).toBe(1)
    await end(before)
    const { queue } = open()
    await rest()
    await during(queue.pushRequest({ request: post('b') }))
    await during(queue.retryQueue.idle())
    expect(server.requests.map(({ body }) => body).sort()).toEqual(['a', 'a', 'b'])
  })

  test.for([
    [false, {}, 1],
    [true, {}, 0],
    [true, { forceSyncFallback: true }, 1],
  ] as const)(
    'with Background Sync %s and %o, onSync is called in the constructor %i times',
    ([hasSync, options, times]) => {
      const { open } = worker({ hasSync })
      const onSync = vi.fn()
      open('orders', { onSync, ...options })
      expect(onSync).toHaveBeenCalledTimes(times)
    },
  )
})

describe('a queue', () => {
  test.for([
    [['', {}], RangeError, "Queue.name: expected a name, got ''"],
    [
      ['q', { maxRetentionTime: -1 }],
      RangeError,
      'Queue.maxRetentionTime: expected a number from 0 to Infinity, got -1',
    ],
    [['q', { onSync: 'replay' }], TypeError, "Queue.onSync: expected a function, got 'replay'"],
    [['q', { retries: 3 }], TypeError, 'Queue.retries: no such option'],
    [
      ['q', { redrive: { drainMs: 5 } }],
      RangeError,
      'Queue.redrive.drainMs: expected a whole number from 1000 to 300000',
    ],
    [['q', { redrive: { concurency: 2 } }], TypeError, "did you mean 'concurrency'?"],
  ] as const)('%o: a wrong option is named, and its name stays free', ([[name, options], kind, message]) => {
    worker()
    const make = () => new Queue(name, options as never)
    expect(make).toThrow(kind)
    expect(make).toThrow(message)
  })

  test('outside a service worker says where it belongs', () => {
    worker()
    vi.stubGlobal('registration', undefined)
    expect(() => new Queue('orders')).toThrow('expected a service worker')
  })

  test('of the same name is refused while there is one', async () => {
    const { open, end } = worker()
    const first = open()
    const refused = { name: 'duplicate-queue-name', code: 'DUPLICATE_QUEUE_NAME', details: { name: 'orders' } }
    expect(() => new Queue('orders')).toThrow(expect.objectContaining(refused))
    await end(first)
    open()
  })

  test('of a plugin takes what has failed', async () => {
    const { server, store, clock, sync, during } = worker()
    const redrive = { store, clock, fetch: server.fetch }
    const plugin = new BackgroundSyncPlugin('plugin', { redrive })
    const { fetchDidFail } = plugin
    await during(fetchDidFail({ request: post('failed') }))
    server.reply(200)
    expect(await sync('plugin')).toBe('well')
    expect(server.requests.map(({ body }) => body)).toEqual(['failed'])
    await during(plugin.queue.close())
  })
})
