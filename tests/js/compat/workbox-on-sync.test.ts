/** Workbox's queue over ours, where the user's own code takes the requests out. */
import { IDBFactory } from 'fake-indexeddb'
import { beforeEach, describe, expect, test } from 'vitest'
import type { Queue } from '../../../js/compat/workbox.ts'
import { post, worker } from './worker.ts'

beforeEach(() => {
  globalThis.indexedDB = new IDBFactory()
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

  test('what is pushed back goes to the end, and comes out once in a round', async () => {
    const { open, sync, during } = worker()
    const bodies: string[] = []
    const onSync = async ({ queue }: { queue: Queue }) => {
      for (let left = await queue.size(); left > 0; left--) {
        const entry = await queue.shiftRequest()
        if (!entry) return
        bodies.push(await entry.request.clone().text())
        await queue.pushRequest(entry)
      }
    }
    const { queue } = open('orders', { onSync })
    for (const body of ['a', 'b', 'c']) await during(queue.pushRequest({ request: post(body) }))
    expect(await sync()).toBe('well')
    expect(bodies).toEqual(['a', 'b', 'c'])
    expect(await during(queue.size())).toBe(3)
    expect(await sync()).toBe('well')
    expect(bodies).toEqual(['a', 'b', 'c', 'a', 'b', 'c'])
  })

  test('a request that is put back changed is the changed one', async () => {
    const { open, sync, during } = worker()
    const onSync = async ({ queue }: { queue: Queue }) => {
      const entry = await queue.shiftRequest()
      if (!entry) return
      const request = new Request(entry.request, { headers: { 'x-try': '2' } })
      await queue.unshiftRequest({ ...entry, request })
      entry.request.headers.set('x-mutated', '1')
    }
    const { queue } = open('orders', { onSync })
    await during(queue.pushRequest({ request: post('a', { 'x-try': '1' }) }))
    expect(await sync()).toBe('well')
    const all = await during(queue.getAll())
    expect(all.map(({ request }) => request.headers.get('x-try'))).toEqual(['2'])
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

  test('where `credentials` fails, nothing is taken out', async () => {
    const { open, end, during } = worker()
    const before = open('orders', { onSync: () => {} })
    await during(before.queue.pushRequest({ request: post('a', { authorization: 'Bearer own' }) }))
    await end(before)
    const credentials = { self: () => Promise.reject(new Error('no session')) }
    const { queue } = open('orders', { onSync: () => {}, redrive: { credentials } })
    await expect(during(queue.shiftRequest())).rejects.toThrow('no session')
    expect(await during(queue.size())).toBe(1)
  })
})
