/** Workbox's queue over ours: what the cases that run with both libraries in tests/browser/workbox-compat do not ask. */
import { describe, expect, test, vi } from 'vitest'
import { Queue } from '../../../js/compat/workbox.ts'
import { ORDERS, post, worker } from './worker.ts'

const TAG = 'workbox-background-sync:orders'

describe('entries', () => {
  test('one that another process has pushed is found', async () => {
    const { clock, open, during } = worker()
    const { queue } = open()
    await during(queue.pushRequest({ request: post('own') }))
    expect(await during(queue.size())).toBe(1)
    await during(queue.close())
    await clock.advance(1)
    const { queue: other } = open()
    await during(other.pushRequest({ request: post('other') }))
    expect(await (await during(other.shiftRequest()))?.request.text()).toBe('own')
    expect(await (await during(other.shiftRequest()))?.request.text()).toBe('other')
  })

  test('one past maxRetentionTime is not shown, not taken out and not sent', async () => {
    const { clock, server, open, sync, during } = worker()
    const { queue } = open('orders', { maxRetentionTime: 1 })
    for (const body of ['one', 'two']) await during(queue.pushRequest({ request: post(body) }))
    await clock.advance(60_001)
    await during(queue.pushRequest({ request: post('three') }))
    await during(queue.pushRequest({ request: post('old'), timestamp: 12 }))
    const all = await during(queue.getAll())
    expect(await Promise.all(all.map(({ request }) => request.text()))).toEqual(['three'])
    server.reply(200)
    expect(await sync()).toBe('well')
    expect(server.requests.map(({ body }) => body)).toEqual(['three'])
    expect(await during(queue.shiftRequest())).toBeUndefined()
    const { tasks } = await during(queue.retryQueue.deadLetters.list())
    expect(tasks.map(({ reason }) => reason)).toEqual(['expired', 'expired'])
  })

  test.for([3_600_000, Number.POSITIVE_INFINITY])(
    'one whose timestamp lies %d ms ahead lives longer',
    async (aheadMs) => {
      const { clock, server, open, sync, during } = worker()
      const { queue } = open('orders', { maxRetentionTime: 1 })
      await during(queue.pushRequest({ request: post('kept'), timestamp: clock.now() + aheadMs }))
      await clock.advance(1_800_000)
      expect(await during(queue.size())).toBe(1)
      server.reply(200)
      expect(await sync()).toBe('well')
      expect(server.hits).toBe(1)
    },
  )

  test.for([
    [undefined, TypeError, 'expected an entry such as { request: new Request(url) }'],
    [{ request: ORDERS }, TypeError, 'expected an entry such as { request: new Request(url) }'],
    [{ request: post('x'), timestamp: Number.NaN }, RangeError, 'timestamp: expected epoch milliseconds, got NaN'],
    [
      { request: new Request(ORDERS, { method: 'POST', mode: 'no-cors' }) },
      TypeError,
      `POST ${ORDERS}: a 'no-cors' answer has no status, so a failure looks like a success`,
    ],
  ] as const)('a wrong one is refused: %o', async ([entry, kind, message]) => {
    const { open } = worker()
    const { queue } = open()
    const refused = queue.pushRequest(entry as never)
    await expect(refused).rejects.toThrow(kind)
    await expect(refused).rejects.toThrow(message)
  })

  test('a navigation is kept as a request of the same origin, as Workbox does', async () => {
    const { open, during } = worker()
    const { queue } = open()
    const request = new Request(ORDERS, { method: 'POST', body: 'a=1', mode: 'same-origin' })
    Object.defineProperty(request, 'clone', {
      value: () =>
        Object.defineProperty(new Request(ORDERS, { method: 'POST', body: 'a=1' }), 'mode', { value: 'navigate' }),
    })
    await during(queue.pushRequest({ request }))
    expect((await during(queue.shiftRequest()))?.request.mode).toBe('same-origin')
  })

  test('tasks that others have made in the same database are none', async () => {
    const { open, during } = worker()
    const { queue } = open()
    await during(queue.retryQueue.enqueue(ORDERS, { method: 'POST', body: "a page's" }))
    expect(await during(queue.size())).toBe(0)
    expect(await during(queue.shiftRequest())).toBeUndefined()
  })
})

describe('onSync of the user’s own', () => {
  /** Sends by hand, as Workbox's documentation has it. */
  const loop = async ({ queue }: { queue: Queue }, send: (request: Request) => Promise<unknown>) => {
    for (;;) {
      const entry = await queue.shiftRequest()
      if (!entry) return
      try {
        await send(entry.request.clone())
      } catch (error) {
        await queue.unshiftRequest(entry)
        throw error
      }
    }
  }

  test('takes all out, and what failed is back in its place, unwritten', async () => {
    const { store, open, sync, during } = worker()
    const bodies: string[] = []
    const send = async (request: Request) => {
      const body = await request.text()
      if (body === 'c') throw new TypeError('Failed to fetch')
      bodies.push(body)
    }
    const { queue } = open('orders', { onSync: (given) => loop(given, send) })
    for (const body of ['a', 'b', 'c', 'd']) await during(queue.pushRequest({ request: post(body) }))
    const { pending } = await store.counts()
    expect(pending).toBe(4)
    expect(await sync()).toBe('TypeError')
    expect(bodies).toEqual(['a', 'b'])
    const left = await during(queue.getAll())
    expect(await Promise.all(left.map(({ request }) => request.text()))).toEqual(['c', 'd'])
    expect(await store.counts()).toMatchObject({ pending: 2, cancelled: 2 })
  })

  const FRESH = 'Bearer fresh'
  const COPIES = [
    ['a copy', (copy: Request) => copy, 'a'],
    ['the one whose body was sent', (copy: Request, own = copy) => own, 'a'],
    ['a copy with another body', (copy: Request) => new Request(copy, { body: 'newer' }), 'newer'],
    ['a copy with a fresh credential', (copy: Request) => copy.headers.set('authorization', FRESH) ?? copy, 'a'],
  ] as const
  const WAYS = (['unshiftRequest', 'pushRequest'] as const).flatMap((put) =>
    COPIES.map(([what, change, left]) => [put, what, change, left] as const),
  )
  test.for(WAYS)('S1 %s of %s keeps it, under its key', async ([put, , change, left]) => {
    const { store, open, sync, during } = worker()
    const keys: (string | null)[] = []
    const onSync = async ({ queue }: { queue: Queue }) => {
      const entry = await queue.shiftRequest()
      if (!entry) return
      const copy = entry.request.clone()
      keys.push(copy.headers.get('idempotency-key'))
      await entry.request.text() // as fetch does
      await queue[put]({ ...entry, request: change(copy, entry.request) })
      throw new TypeError('Failed to fetch')
    }
    const { queue } = open('orders', { onSync })
    await during(queue.pushRequest({ request: post('a') }))
    for (let i = 0; i < 2; i++) expect(await sync()).toBe('TypeError')
    expect(await store.counts()).toMatchObject({ pending: 1 })
    const [only] = await during(queue.getAll())
    expect(await only?.request.text()).toBe(left)
    expect(only?.request.headers.get('authorization')).toBe(change(post('')).headers.get('authorization'))
    keys.push(only?.request.headers.get('idempotency-key') ?? null)
    expect([...new Set(keys)]).toEqual([expect.any(String)])
  })

  test.for([true, false])('S1 one that cannot be put back, a copy: %s, stays as it was', async (isCopy) => {
    const { open, sync, during } = worker()
    const refused: string[] = []
    const onSync = async ({ queue }: { queue: Queue }) => {
      for (let entry = await queue.shiftRequest(); entry; entry = await queue.shiftRequest()) {
        const request = isCopy ? entry.request.clone() : entry.request
        const metadata = { long: 'x'.repeat(5_000) }
        await queue.unshiftRequest({ request, metadata }).catch(({ code }) => refused.push(code))
      }
    }
    const { queue } = open('orders', { onSync })
    await during(queue.pushRequest({ request: post('a') }))
    expect(await sync()).toBe('well')
    expect(refused).toEqual(['META_TOO_LARGE'])
    const [left] = await during(queue.getAll())
    expect(await left?.request.text()).toBe('a')
  })

  test('S1 the worker is killed while it sends: the request is still there, with its key', async () => {
    const { open, sync, during, rest, kill } = worker()
    const keys: (string | null)[] = []
    const send = (request: Request) => {
      keys.push(request.headers.get('idempotency-key'))
      return keys.length === 1 ? new Promise(() => {}) : Promise.resolve()
    }
    const before = open('orders', { onSync: (given) => loop(given, send) })
    await during(before.queue.pushRequest({ request: post('a') }))
    void sync()
    await rest()
    expect(keys).toHaveLength(1)
    expect(await during(before.queue.size())).toBe(0)
    await kill(before)
    const { queue } = open('orders', { onSync: (given) => loop(given, send) })
    expect(await during(queue.size())).toBe(1)
    expect(await sync()).toBe('well')
    expect(keys).toHaveLength(2)
    expect(keys[1]).toBe(keys[0])
    expect(await during(queue.size())).toBe(0)
  })

  test('may replay, and is told how that ended', async () => {
    const { server, open, sync, during } = worker()
    const told: string[] = []
    const onSync = async ({ queue }: { queue: Queue }) => {
      const first = await queue.shiftRequest()
      told.push((await first?.request.text()) ?? '')
      await queue.replayRequests()
      told.push('replayed')
    }
    const { queue } = open('orders', { onSync })
    for (const body of ['by hand', 'a', 'b']) await during(queue.pushRequest({ request: post(body) }))
    server.reply(200).reply(200)
    expect(await sync()).toBe('well')
    expect(told).toEqual(['by hand', 'replayed'])
    expect(server.requests.map(({ body }) => body)).toEqual(['a', 'b'])
  })

  test('sends nothing by itself, also where the browser refuses syncs', async () => {
    const made = worker()
    const { server, open, during, clock } = made
    made.isRefusing = true
    const { queue } = open('orders', { onSync: () => {} })
    await during(queue.pushRequest({ request: post('a') }))
    await clock.advance(600_000)
    expect(server.hits).toBe(0)
    expect(await during(queue.size())).toBe(1)
  })

  test('S12 a credential is handed out while the worker lives that was given it, and then `credentials` gives one', async () => {
    const { open, end, during } = worker()
    const before = open('orders', { onSync: () => {} })
    await during(before.queue.pushRequest({ request: post('a', { authorization: 'Bearer own' }) }))
    const [own] = await during(before.queue.getAll())
    expect(own?.request.headers.get('authorization')).toBe('Bearer own')
    await end(before)
    const credentials = { self: () => ({ authorization: 'Bearer fresh' }) }
    const { queue } = open('orders', { onSync: () => {}, redrive: { credentials } })
    const fresh = await during(queue.shiftRequest())
    expect(fresh?.request.headers.get('authorization')).toBe('Bearer fresh')
  })

  test('where `credentials` fails, nothing is taken out, and its words are not shown', async () => {
    const { open, end, during } = worker()
    const before = open('orders', { onSync: () => {} })
    await during(before.queue.pushRequest({ request: post('a', { authorization: 'Bearer own' }) }))
    await end(before)
    const credentials = { self: () => Promise.reject(new Error('no session')) }
    const { queue } = open('orders', { onSync: () => {}, redrive: { credentials } })
    await expect(during(queue.shiftRequest())).rejects.toThrow('whose message may hold a secret')
    expect(await during(queue.size())).toBe(1)
  })
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
    expect(key).toMatch(/^[\da-f-]{36}$/)
    expect(again?.headers.get('idempotency-key')).toBe(key)
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
    [['https://api.test'], expect.stringMatching(/^[\da-f-]{36}$/)],
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
})
