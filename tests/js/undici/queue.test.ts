/** The queue behind an interceptor: its rules, gates, events and end hold for the requests of a dispatcher as for those of its own. */

import { Agent, interceptors, RetryAgent, request } from 'undici'
import { expect, onTestFinished, test, vi } from 'vitest'
import { retryInterceptor } from '../../../js/adapters/undici.ts'
import { sqliteStore } from '../../../js/stores/sqlite.ts'
import { fakeClock } from '../../../js/testing.ts'
import { eventually } from '../eventually.ts'
import { freshPath } from '../sqlite/setup.ts'
import { agentOf, between, queueWith, replyWith, serve } from './setup.ts'

const POST = { method: 'POST', body: 'an order' } as const

test('S9 a minute of Retry-After is a minute, where undici’s RetryAgent waits 30 s', async () => {
  const minute = () => replyWith(503, { 'retry-after': '60' })
  const clock = fakeClock()
  const server = await serve(minute())
  const queue = queueWith({ clock })
  const waits = new Promise((resolve) => queue.on('retry', resolve))
  const answer = request(server.origin, { dispatcher: agentOf(queue, { waitMs: 120_000 }) })
  await waits
  await clock.advance(59_999)
  expect(server.seen).toHaveLength(1)
  // the spread of a minute, too
  await clock.advance(6_001)
  expect((await answer).statusCode).toBe(200)
  expect(server.seen).toHaveLength(2)

  const others = await serve(minute())
  const timers = vi.spyOn(globalThis, 'setTimeout')
  onTestFinished(() => timers.mockRestore())
  const agent = new Agent()
  onTestFinished(() => agent.destroy())
  const controller = new AbortController()
  const clamped = request(others.origin, { dispatcher: new RetryAgent(agent), signal: controller.signal })
  clamped.catch(() => {})
  const asked = () => timers.mock.calls.map(([, ms]) => ms)
  await eventually(() => asked().includes(30_000)).toBe(true)
  expect(asked()).not.toContain(60_000)
  controller.abort()
  await expect(clamped).rejects.toThrow()
})

test('S8 an open circuit ends a call unsent, or with what the fallback gives', async () => {
  const server = await serve(...Array(50).fill(503))
  const asked: string[] = []
  // more than a reader takes at once
  const cached = 'from a cache, '.repeat(100_000)
  const fallback = ({ url }: Request) => {
    asked.push(url)
    return url.endsWith('/kept') ? new Response(cached, { headers: { 'x-a': 'b' } }) : undefined
  }
  const queue = queueWith({ breaker: { afterMs: 0, openMs: 60_000, maxOpenMs: 60_000, fallback } })
  const opened = new Promise((resolve) => queue.on('circuit', resolve))
  const dispatcher = agentOf(queue)
  await (await request(server.origin, { dispatcher })).body.dump()
  expect(await opened).toMatchObject({ to: 'OPEN' })
  const before = server.seen.length
  await expect(request(`${server.origin}/other`, { dispatcher })).rejects.toMatchObject({ code: 'CIRCUIT_OPEN' })
  const { statusCode, headers, body } = await request(`${server.origin}/kept`, { dispatcher })
  expect([statusCode, headers['x-a'], (await body.text()) === cached]).toEqual([200, 'b', true])
  expect(server.seen).toHaveLength(before)
  expect(asked).toEqual([`${server.origin}/other`, `${server.origin}/kept`])
})

test('a store holds nothing of it, and what it keeps is unharmed', async () => {
  const server = await serve(503, 503)
  const store = sqliteStore({ path: freshPath() })
  const queue = queueWith({ store, policy: { initialDelayMs: 20_000, maxDelayMs: 20_000 } })
  const told: unknown[] = []
  queue.on('degraded', ({ code }) => told.push(code))
  await queue.ready
  const waits = new Promise((resolve) => queue.on('retry', resolve))
  const answer = request(server.origin, { ...POST, dispatcher: agentOf(queue) })
  await waits
  expect((await store.counts()).pending).toBe(0)
  await queue.close()
  expect((await answer).statusCode).toBe(503)
  expect(told).toEqual([])
})

test('credentials are those of the origin, asked for again at each retry', async () => {
  const server = await serve(503, 503)
  let asked = 0
  const queue = queueWith({
    credentials: { [server.origin]: () => ({ authorization: `Bearer ${++asked}` }) },
  })
  await request(server.origin, { headers: { Authorization: 'Bearer own' }, dispatcher: agentOf(queue) })
  expect(server.seen.map(({ headers }) => headers.authorization)).toEqual(['Bearer own', 'Bearer 1', 'Bearer 2'])
})

test('events tell of a retry, and of the end', async () => {
  const { server, queue, dispatcher } = await between([503])
  const told: string[] = []
  for (const name of ['queued', 'retry', 'attempt', 'succeeded'] as const) queue.on(name, () => told.push(name))
  const copies: Promise<string>[] = []
  queue.on('succeeded', ({ response }) => {
    if (response) copies.push(response.text())
  })
  const { body } = await request(server.origin, { dispatcher })
  expect(await body.text()).toBe('answer 2')
  expect(told).toEqual(['queued', 'retry', 'attempt', 'succeeded'])
  expect(await Promise.all(copies)).toEqual(['answer 2'])
})

test('a call that has the key of another, and is the same, shares its task and has a copy of its answer', async () => {
  const { server, queue, dispatcher } = await between([503, 503], { policy: { initialDelayMs: 200, maxDelayMs: 200 } })
  const headers = { 'idempotency-key': 'order-2041' }
  const call = () => request(server.origin, { ...POST, headers, dispatcher }).then(({ body }) => body.text())
  const fetched = () => queue.fetch(server.origin, { ...POST, headers }).then((answer) => answer.text())
  expect(await Promise.all([call(), call(), fetched()])).toEqual(Array(3).fill(expect.stringMatching(/^answer \d$/)))
  expect(new Set(server.seen.map(({ key }) => key))).toEqual(new Set(['order-2041']))
})

test('sign() sees the bytes, and its headers are sent', async () => {
  const server = await serve(503)
  const queue = queueWith({ sign: ({ body, method }) => ({ 'x-signature': `${method} ${Buffer.from(body)}` }) })
  await request(server.origin, { ...POST, body: new Blob(['an order']) as never, dispatcher: agentOf(queue) })
  expect(server.seen.map(({ headers }) => headers['x-signature'])).toEqual(Array(2).fill('POST an order'))
})

test('S18 after close() each request is sent once, as without it', async () => {
  const { server, queue, dispatcher } = await between([503, 200])
  await queue.close()
  expect((await request(server.origin, { ...POST, dispatcher })).statusCode).toBe(503)
  const { statusCode, body } = await request(server.origin, { dispatcher })
  expect([statusCode, await body.text()]).toEqual([200, 'answer 2'])
})

test('a dispatcher that is closed is not asked again', async () => {
  const server = await serve()
  const agent = new Agent()
  const queue = queueWith()
  const dispatcher = agent.compose(retryInterceptor(queue))
  await agent.close()
  await expect(request(server.origin, { dispatcher })).rejects.toMatchObject({ code: 'UND_ERR_DESTROYED' })
  expect(queue.stats().attempts).toBe(1)
})

test('a pool and a client are composed as an agent is', async () => {
  const { Client, Pool } = await import('undici')
  const server = await serve(503, 200, 503)
  const queue = queueWith()
  for (const one of [new Client(server.origin), new Pool(server.origin)]) {
    onTestFinished(() => one.destroy())
    const dispatcher = one.compose(retryInterceptor(queue), interceptors.dump())
    expect((await dispatcher.request({ path: '/orders', method: 'GET' })).statusCode).toBe(200)
  }
  expect(server.seen).toHaveLength(4)
  expect(queue.stats().attempts).toBe(4)
})

test('what is no queue is refused', () => {
  expect(() => retryInterceptor({} as never)).toThrow('retryInterceptor(queue): expected')
})
