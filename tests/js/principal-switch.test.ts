/** A browser has one set of cookies. While they change hands nothing is sent, and no call goes out in the name of another. */

import { expect, test } from 'vitest'
import type { Principals } from '../../js/api/store.ts'
import { memoryStore } from '../../js/stores/memory.ts'
import { fakeClock } from '../../js/testing.ts'
import { setup as axiosSetup, failure } from './axios-setup.ts'
import { withMethods } from './durable-setup.ts'
import { DAY_MS, device, LONG_MS } from './principals-setup.ts'
import { closeNow, deferred, login, ORDERS, setup, watch } from './setup.ts'

const POST = { method: 'POST', body: 'of ann' } as const

/** A body that is read when it is told to be, as a Blob on a slow disk. */
function slowBody() {
  const { promise: given, resolve: give } = deferred()
  const body = new Blob(['of ann'])
  const disk = body.stream.bind(body)
  body.stream = () =>
    new ReadableStream({
      async start(controller) {
        await given
        for await (const part of disk()) controller.enqueue(part)
        controller.close()
      },
    })
  return { body, give: () => give() }
}

test.each([
  ['stored', {}],
  ['in memory', { sensitive: true }],
])('S16 nothing is sent while the login is under way, of neither principal: %s', async (_, redrive) => {
  const { open, server, clock } = device()
  const { queue } = await open()
  server.reply(503)
  const waiting = watch(queue.fetch(ORDERS, { ...POST, redrive: { ...redrive, waitMs: DAY_MS } }))
  await clock.settle()
  const { during, begun, end } = login()
  const switched = watch(queue.setPrincipal('ben', { during }))
  await clock.settle()
  expect(begun()).toBe(1)
  await queue.enqueue(ORDERS, { method: 'POST', body: 'of ben', redrive })
  await clock.advance(LONG_MS)
  expect([switched.state, server.hits]).toEqual(['pending', 1])
  end()
  await clock.advance(LONG_MS)
  expect(switched.state).toBe('resolved')
  expect(server.requests.map(({ body }) => body)).toEqual(['of ann', 'of ben'])
  expect(waiting.state).toBe('pending')
  await queue.setPrincipal('ann')
  await clock.advance(LONG_MS)
  expect(waiting.value?.status).toBe(200)
})

test('S16 a call made meanwhile is the new principal’s, and goes out once the login has ended', async () => {
  const { open, clock, hitsAfter } = device()
  const { queue } = await open()
  const { during, end } = login()
  void queue.setPrincipal('ben', { during })
  await clock.settle()
  const calls = [watch(queue.fetch(ORDERS)), watch(queue.fetch(ORDERS, { method: 'POST', body: 'of ben' }))]
  expect(await hitsAfter(5_000)).toBe(0)
  end()
  expect(await hitsAfter()).toBe(2)
  expect(calls.map(({ value }) => value?.status)).toEqual([200, 200])
})

test('where the login fails the principal stays, its tasks go on, and the error is passed on', async () => {
  const { open, server, clock, hitsAfter } = device()
  const { queue } = await open()
  server.reply(503)
  const waiting = watch(queue.fetch(ORDERS, { ...POST, redrive: { waitMs: DAY_MS } }))
  await clock.settle()
  const { during, end } = login()
  const switched = watch(queue.setPrincipal('ben', { during, purge: true }))
  await clock.settle()
  const asBen = watch(queue.fetch(ORDERS, { method: 'POST', body: 'of ben' }))
  expect(await hitsAfter(20_000)).toBe(1)
  const wrong = new Error('wrong password')
  end(wrong)
  await clock.advance(LONG_MS)
  expect(switched.error).toBe(wrong)
  expect(asBen.error).toMatchObject({ code: 'PRINCIPAL_CHANGED' })
  expect(server.requests.map(({ body }) => body)).toEqual(['of ann', 'of ann'])
  expect(waiting.value?.status).toBe(200)
  expect(await queue.enqueue(ORDERS, POST)).toBeDefined()
  expect((await queue.list()).tasks.map(({ principal }) => principal)).toContain('ann')
})

test('S16 another tab of the store sends nothing either: it has been told before the login begins', async () => {
  const { clock } = device()
  const store = memoryStore({ clock })
  let current: string | null | undefined
  const told: (string | null)[] = []
  const shared = Object.assign(store, {
    principals: {
      current: async () => ({ principal: current }),
      switchTo: async (to: string | null) => {
        if (to !== current) told.push(to)
        current = to
      },
      logIn: async () => {
        told.push('login')
      },
    },
  })
  const { queue } = await setup({ clock, store: shared, principal: 'ann' })
  let seen: (string | null)[] = []
  await queue.setPrincipal('ben', {
    during: async () => {
      seen = [...told]
    },
  })
  expect(seen).toEqual(['ann', 'login'])
  await queue.setPrincipal('cid', { during: () => Promise.reject(new Error('no')) }).catch(() => {})
  expect(told).toEqual(['ann', 'login', 'ben', 'login'])
  await closeNow(queue, clock)
})

test('purge deletes what the one who left has queued, after the login', async () => {
  const { open, clock, store } = device()
  const { queue } = await open()
  queue.pause()
  await queue.enqueue(ORDERS, POST)
  const { during, end } = login()
  const switched = queue.setPrincipal('ben', { during, purge: true })
  await clock.settle()
  expect(await store.counts()).toMatchObject({ pending: 1 })
  end()
  await switched
  expect(await store.counts()).toMatchObject({ pending: 0, purged: 1 })
})

test.each([
  ['its body was still being read', {}, 'enqueue'],
  ['its body was still being read, in memory', { sensitive: true }, 'enqueue'],
  ['its order was to be asked for', { orderKey: 'one' }, 'fetch'],
] as const)('purge leaves nothing of a call that is on its way into the queue: %s', async (_, redrive, door) => {
  const { open, clock, store, server } = device()
  const { queue } = await open()
  const { body, give } = slowBody()
  const call = watch<unknown>(queue[door](ORDERS, { method: 'POST', body, redrive }))
  await clock.settle()
  await queue.setPrincipal('ben', { purge: true })
  give()
  await clock.settle()
  await expect.poll(() => call.error).toMatchObject({ code: 'PRINCIPAL_CHANGED' })
  expect(await store.counts()).toMatchObject({ pending: 0, inFlight: 0 })
  expect(queue.stats({ allPrincipals: true }).depth).toBe(0)
  expect(server.hits).toBe(0)
})

test('purge deletes what was enqueued before it, though the store has not answered yet', async () => {
  const { open, store } = device()
  const { queue } = await open()
  queue.pause()
  const calls = Array.from({ length: 5 }, () => queue.enqueue(ORDERS, POST))
  const settled = Promise.allSettled(calls)
  await queue.setPrincipal('ben', { purge: true })
  await settled
  expect(await store.counts()).toMatchObject({ pending: 0, inFlight: 0 })
})

test('S16 one login at a time: no other principal may be named meanwhile, since the cookies become those of the login', async () => {
  const { queue, server, clock } = await setup({ principal: 'ann', durable: false })
  queue.pause()
  const { taskId } = await queue.enqueue(ORDERS, POST)
  const [first, second] = [login(), login()]
  const switched = watch(queue.setPrincipal('ben', { during: first.during }))
  await clock.settle()
  const isRefused = { code: 'PRINCIPAL_CHANGING' }
  await expect(queue.setPrincipal('cid', { during: second.during })).rejects.toMatchObject(isRefused)
  await expect(queue.setPrincipal('ben', { during: second.during })).rejects.toMatchObject(isRefused)
  expect(second.begun()).toBe(0)
  await expect(queue.setPrincipal('ann')).rejects.toMatchObject(isRefused)
  await expect(queue.setPrincipal(null)).rejects.toMatchObject(isRefused)
  await queue.setPrincipal('ben') // what an application does that listens to its logins
  queue.resume()
  first.end()
  await clock.settle()
  expect([switched.state, server.hits]).toEqual(['resolved', 0])
  await queue.setPrincipal('ann')
  await clock.settle()
  expect((await queue.get(taskId))?.status).toBe('SUCCEEDED')
})

test('a store that cannot hear that the login failed is reported: tasks wait until it is told who is there', async () => {
  const { open, store } = device()
  let isDown = false
  const { principals } = store
  const switchTo: Principals['switchTo'] = async (...declared) => {
    if (isDown) throw new Error('the disk is gone')
    await principals?.switchTo(...declared)
  }
  const current = async () => (await principals?.current()) ?? { principal: undefined }
  const failing = withMethods(store, { principals: { current, switchTo, logIn: async () => {} } })
  const { queue, events } = await open({ store: failing })
  const during = async () => {
    isDown = true
    throw new Error('wrong password')
  }
  await expect(queue.setPrincipal('ben', { during })).rejects.toThrow('wrong password')
  expect(events.of('degraded')).toMatchObject([
    { code: 'storage_unavailable', message: expect.stringContaining('call setPrincipal() again') },
  ])
})

test('the principal is the one before where the login fails that has been named twice', async () => {
  const { queue, clock } = await setup({ principal: 'ann', durable: false })
  const { during, end } = login()
  const switched = watch(queue.setPrincipal('ben', { during }))
  await clock.settle()
  await queue.setPrincipal('ben')
  end(new Error('left'))
  await clock.settle()
  expect(switched.state).toBe('rejected')
  const { taskId } = await queue.enqueue(ORDERS)
  expect(await queue.get(taskId)).toMatchObject({ principal: 'ann' })
})

test('the requests of the login itself go by plain fetch, or with redrive: false', async () => {
  const { queue, server, clock } = await setup({ principal: 'ann', durable: false })
  const switched = watch(
    queue.setPrincipal('ben', {
      during: async () => {
        await queue.fetch('https://api.test/login', { method: 'POST', redrive: false })
      },
    }),
  )
  await clock.settle()
  expect([switched.state, server.hits]).toEqual(['resolved', 1])
})

test('S22 a login that waits for a call of the queue does not wait for ever: the call ends, and says how to make it', async () => {
  const { queue, clock } = await setup({ principal: 'ann', durable: false })
  const switched = watch(
    queue.setPrincipal('ben', { during: () => queue.fetch('https://api.test/login').then(() => {}) }),
  )
  await clock.advance(29_999)
  expect(switched.state).toBe('pending')
  await clock.advance(1)
  expect(switched.state).toBe('rejected')
  expect(String(switched.error)).toContain('redrive: false')
  const call = watch(queue.fetch(ORDERS))
  await clock.settle()
  expect(call.value?.status).toBe(200)
})

test('S18 without a core the login takes place all the same', async () => {
  const { RetryQueue } = await import('../../js/queue/queue.ts')
  const { server, clock } = await setup()
  const queue = new RetryQueue({ clock, fetch: server.fetch, principal: 'ann', preload: 'never' }, () =>
    Promise.reject(new Error('blocked')),
  )
  const { during, begun, end } = login()
  const switched = watch(queue.setPrincipal('ben', { during }))
  await clock.settle()
  const call = watch(queue.fetch(ORDERS))
  await clock.settle()
  expect([begun(), server.hits]).toEqual([1, 0])
  end()
  await clock.settle()
  expect([switched.state, call.value?.status]).toEqual(['resolved', 200])
})

test.each([
  ['POST', { method: 'POST' }],
  ['a POST too large to be kept', { method: 'POST' }],
])('S16 a call whose body is still being read at the switch is not sent as the next user: %s', async (what, init) => {
  const { queue, hitsAfter } = await setup({
    principal: 'ann',
    durable: false,
    ...(what === 'POST' ? {} : { maxBodyBytes: 1 }),
  })
  const { body, give } = slowBody()
  const call = watch(queue.fetch(ORDERS, { ...init, body }))
  await queue.setPrincipal('ben')
  expect(call.state).toBe('pending')
  give()
  await expect.poll(() => call.error).toMatchObject({ name: 'RedriveError', code: 'PRINCIPAL_CHANGED' })
  expect(await hitsAfter()).toBe(0)
  expect(String(call.error)).not.toContain('ann')
})

test('S16 it is sent where the principal is back by then', async () => {
  const { queue, server, clock } = await setup({ principal: 'ann', durable: false })
  const call = watch(queue.fetch(ORDERS, { method: 'POST', body: new Blob(['of ann']) }))
  void queue.setPrincipal('ben')
  void queue.setPrincipal('ann')
  await clock.settle()
  await new Promise((resolve) => setImmediate(resolve))
  await clock.settle()
  expect([call.value?.status, server.hits]).toEqual([200, 1])
})

test('S16 nor is it by Axios', async () => {
  const { queue, server, api } = await axiosSetup('http', { principal: 'ann', durable: false })
  const { promise: given, resolve: give } = deferred()
  const { promise: begun, resolve: begin } = deferred()
  class SlowBlob extends Blob {
    override async arrayBuffer(): Promise<ArrayBuffer> {
      begin()
      await given
      return super.arrayBuffer()
    }
  }
  const refused = failure(api.post('/orders', new SlowBlob(['of ann'])))
  await begun
  await queue.setPrincipal('ben')
  give()
  expect(await refused).toMatchObject({ code: 'PRINCIPAL_CHANGED' })
  expect(server.hits).toBe(0)
})

test('S16 a purge that fails is reported, and the store hears all the same who is there', async () => {
  const clock = fakeClock()
  let current: string | null = 'ann'
  const store = withMethods(memoryStore({ clock }), {
    purge: () => Promise.reject(new Error('the disk is away')),
    principals: {
      current: async () => ({ principal: current }),
      switchTo: async (to: string | null) => {
        current = to
      },
      logIn: async () => {},
    },
  })
  const { queue, server } = await setup({ clock, store, principal: 'ann' })
  await expect(queue.setPrincipal('ben', { purge: true })).rejects.toThrow('the disk is away')
  await queue.enqueue(ORDERS, { method: 'POST', body: 'of ben' })
  await clock.advance(1_000)
  expect([current, server.hits]).toEqual(['ben', 1])
  await closeNow(queue, clock)
})
