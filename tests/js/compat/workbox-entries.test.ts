/** Workbox's queue over ours: what is put in, and what comes out. */
import { IDBFactory } from 'fake-indexeddb'
import { beforeEach, describe, expect, test } from 'vitest'
import { ORDERS, post, SITE, worker } from './worker.ts'

const TAG = 'workbox-background-sync:orders'

beforeEach(() => {
  globalThis.indexedDB = new IDBFactory()
})

describe('entries', () => {
  test('what is pushed waits for a sync, which sends it', async () => {
    const { server, open, asked, sync, during } = worker()
    const { queue } = open()
    await during(queue.pushRequest({ request: post('one') }))
    expect(await during(queue.size())).toBe(1)
    expect(server.hits).toBe(0)
    expect(asked).toEqual([TAG])
    server.reply(200)
    expect(await sync()).toBe('well')
    expect(server.requests.map(({ body }) => body)).toEqual(['one'])
    expect(await during(queue.size())).toBe(0)
  })

  test('are in the order of push and unshift, and come out at both ends', async () => {
    const { open, during } = worker()
    const { queue } = open()
    for (const body of ['b', 'c']) await during(queue.pushRequest({ request: post(body) }))
    for (const body of ['a', 'first']) await during(queue.unshiftRequest({ request: post(body) }))
    await during(queue.pushRequest({ request: post('last') }))
    const all = await during(queue.getAll())
    expect(await Promise.all(all.map(({ request }) => request.text()))).toEqual(['first', 'a', 'b', 'c', 'last'])
    expect(await during(queue.size())).toBe(5)
    expect(await (await during(queue.popRequest()))?.request.text()).toBe('last')
    expect(await (await during(queue.shiftRequest()))?.request.text()).toBe('first')
    expect(await during(queue.size())).toBe(3)
    for (const body of ['a', 'b', 'c']) expect(await (await during(queue.shiftRequest()))?.request.text()).toBe(body)
    expect(await during(queue.shiftRequest())).toBeUndefined()
    expect(await during(queue.popRequest())).toBeUndefined()
  })

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

  test('the request is the same in all its parts, but for its key', async () => {
    const { open, during } = worker()
    const { queue } = open()
    const bytes = new Uint8Array([0, 255, 10, 13, 128])
    const headers = { 'content-type': 'application/octet-stream', 'x-foo': 'bar', tenant: 'a' }
    const given = new Request(`${ORDERS}?n=1`, { method: 'PUT', body: bytes, headers, credentials: 'include' })
    const timestamp = Date.now() - 1_000
    await during(queue.pushRequest({ request: given, timestamp, metadata: { why: ['test'] } }))
    expect(given.bodyUsed).toBe(false)
    const entry = await during(queue.shiftRequest())
    expect(entry).toMatchObject({ timestamp, metadata: { why: ['test'] } })
    const { request } = entry as { request: Request }
    expect(request.url).toBe(given.url)
    expect([request.method, request.credentials, request.mode]).toEqual(['PUT', 'include', given.mode])
    expect(new Uint8Array(await request.arrayBuffer())).toEqual(bytes)
    const { 'idempotency-key': key, ...others } = Object.fromEntries(request.headers)
    expect(key).toMatch(/^[\da-f]{32}$/)
    expect(others).toEqual(headers)
  })

  test('without a timestamp it is of now, and without metadata it has none', async () => {
    const { clock, open, during } = worker()
    const { queue } = open()
    const now = clock.now()
    await during(queue.pushRequest({ request: new Request(`${SITE}/get`) }))
    const entry = await during(queue.popRequest())
    expect(entry?.timestamp).toBe(now)
    expect(entry).not.toHaveProperty('metadata')
    expect(entry?.request.method).toBe('GET')
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
      `POST ${ORDERS}: a 'no-cors' answer has no status, so a failure cannot be told from a success`,
    ],
  ] as const)('a wrong one is refused: %o', async ([entry, kind, message]) => {
    const { open } = worker()
    const { queue } = open()
    const refused = queue.pushRequest(entry as never)
    await expect(refused).rejects.toThrow(kind)
    await expect(refused).rejects.toThrow(message)
  })

  test('metadata that is too large is refused, since it would not be kept', async () => {
    const { open, during } = worker()
    const { queue } = open()
    const metadata = { text: 'x'.repeat(5_000) }
    await expect(during(queue.pushRequest({ request: post('x'), metadata }))).rejects.toMatchObject({
      code: 'META_TOO_LARGE',
    })
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
