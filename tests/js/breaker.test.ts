/** The circuit breaker as users meet it. Its transitions are the core's, and tested there. */

import axios from 'axios'
import { expect, onTestFinished, test, vi } from 'vitest'
import { attachToAxios } from '../../js/adapters/axios.ts'
import { CircuitOpenError, type RetryQueueOptions } from '../../js/index.ts'
import { opened, world } from './durable-setup.ts'
import { type Fakes, ORDERS, setup, watch } from './setup.ts'

const ORIGIN = new URL(ORDERS).origin
/** Always due at once, so that nothing but the gates keeps anything back. */
const AT_ONCE = { strategy: 'table', delaysMs: [0], maxAttempts: 100, attemptTimeoutMs: 0 } as const
/** The longest that a circuit is open the first time. */
const OPEN_MS = 5_000
/** Five failures of a moment are enough. */
const BREAKER = { afterMs: 0, openMs: OPEN_MS, maxOpenMs: 60_000 }

const breaking = ({ breaker, policy, ...options }: RetryQueueOptions = {}) =>
  setup({ concurrency: 100, ...options, breaker: { ...BREAKER, ...breaker }, policy: { ...AT_ONCE, ...policy } })

/** One task that fails until the circuit is open, and waits. */
async function open({ queue, server, clock }: Fakes) {
  for (let i = 0; i < 5; i++) server.reply(503)
  const { taskId } = await queue.enqueue(ORDERS)
  await clock.advance(0)
  expect(queue.stats().origins[ORIGIN]?.circuit).toBe('OPEN')
  return taskId
}

/** Until one attempt has gone out to see. */
async function untilProbe({ server, clock }: Fakes) {
  const before = server.hits
  for (let ms = 0; ms < OPEN_MS && server.hits === before; ms += 50) await clock.advance(50)
  expect(server.hits).toBe(before + 1)
}

test('S8 after five failures in a row nothing of the queue is sent for 2.5 to 5 s', async () => {
  const fakes = await breaking()
  const { queue, server, events, hitsAfter } = fakes
  const taskId = await open(fakes)
  expect(server.hits).toBe(5)
  expect(await hitsAfter(2_499)).toBe(5)
  expect(queue.stats()).toMatchObject({ depth: 1, origins: { [ORIGIN]: { circuit: 'OPEN' } } })
  expect(await hitsAfter(OPEN_MS - 2_499)).toBe(6)
  expect(await queue.get(taskId)).toMatchObject({ status: 'SUCCEEDED' })
  expect(events.of('circuit')).toEqual([
    { origin: ORIGIN, from: 'CLOSED', to: 'OPEN' },
    { origin: ORIGIN, from: 'OPEN', to: 'HALF_OPEN' },
    { origin: ORIGIN, from: 'HALF_OPEN', to: 'CLOSED' },
  ])
})

test("'hold' keeps retries waiting and no call of the user's own", async () => {
  const fakes = await breaking({ breaker: { whenOpen: 'hold' } })
  await open(fakes)
  expect((await fakes.queue.fetch(ORDERS)).status).toBe(200)
  expect(fakes.server.hits).toBe(6)
})

test('with whenOpen fail an awaited call of an order fails at once as well, and is taken in again half-open', async () => {
  const fakes = await breaking({ breaker: { whenOpen: 'fail' } })
  await open(fakes)
  const ordered = { redrive: { orderKey: 'a' } }
  await expect(fakes.queue.fetch(ORDERS, ordered)).rejects.toBeInstanceOf(CircuitOpenError)
  await untilProbe(fakes)
  expect((await fakes.queue.fetch(ORDERS, ordered)).status).toBe(200)
})

test('a fallback answers in its place', async () => {
  const fallback = vi.fn(async (request: Request) => new Response(`kept: ${request.method} ${await request.text()}`))
  const fakes = await breaking({ breaker: { fallback } })
  await open(fakes)
  const response = await fakes.queue.fetch(ORDERS, { method: 'PUT', body: 'tea' })
  expect(await response.text()).toBe('kept: PUT tea')
  expect(fallback).toHaveBeenCalledTimes(1)
  expect(fakes.server.hits).toBe(5)
})

test('a fallback that gives nothing, or throws, leaves the error', async () => {
  const lost = new Error('no cache')
  const fallback = vi.fn<() => undefined>().mockImplementationOnce(() => {
    throw lost
  })
  const fakes = await breaking({ breaker: { fallback } })
  await open(fakes)
  const failed = await fakes.queue.fetch(ORDERS).catch((error) => error)
  expect(failed).toMatchObject({ code: 'CIRCUIT_OPEN', cause: lost })
  expect(fakes.events.of('degraded')).toMatchObject([{ code: 'hook_threw' }])
  const failed2 = await fakes.queue.fetch(ORDERS).catch((error) => error)
  expect(failed2).toBeInstanceOf(CircuitOpenError)
  expect(failed2.cause).toBeUndefined()
})

test('a fallback that never answers keeps its caller no longer than waitMs', async () => {
  const fakes = await breaking({ breaker: { fallback: () => new Promise(() => {}) } })
  await open(fakes)
  const failed = watch(fakes.queue.fetch(ORDERS, { redrive: { waitMs: 3_000 } }))
  await fakes.clock.advance(2_999)
  expect(failed.error).toBeUndefined()
  await fakes.clock.advance(1)
  expect(failed.error).toMatchObject({ code: 'CIRCUIT_OPEN', cause: { name: 'TimeoutError' } })
  expect(fakes.events.of('degraded')).toMatchObject([{ code: 'hook_threw' }])
})

test("with 'hold' a fallback is not asked", async () => {
  const fallback = vi.fn(() => new Response('kept'))
  const fakes = await breaking({ breaker: { fallback, whenOpen: 'hold' } })
  await open(fakes)
  expect(await (await fakes.queue.fetch(ORDERS)).text()).toBe('')
  expect(fallback).not.toHaveBeenCalled()
})

test('a caller that leaves does not wait for the fallback', async () => {
  const fakes = await breaking({ breaker: { fallback: () => new Promise(() => {}) } })
  await open(fakes)
  const { signal, abort } = withAbort()
  const call = watch(fakes.queue.fetch(ORDERS, { signal }))
  await fakes.clock.advance(0)
  expect(call.state).toBe('pending')
  abort()
  await fakes.clock.advance(0)
  expect(call.error).toMatchObject({ name: 'AbortError' })
})

test.each([
  ['fetch', 'json', 'Object'],
  ['fetch', 'text', 'String'],
  ['fetch', 'arraybuffer', 'ArrayBuffer'],
  ['fetch', 'stream', 'ReadableStream'],
  ['http', 'arraybuffer', 'Buffer'],
  ['http', 'stream', 'Readable'],
] as const)('Axios gets a fallback by %s as %s', async (adapter, responseType, form) => {
  const type = 'application/json'
  const fallback = () => new Response('{"kept":true}', { headers: { 'content-type': type } })
  const fakes = await breaking({ breaker: { fallback } })
  const instance = axios.create({ adapter })
  onTestFinished(attachToAxios(instance, fakes.queue))
  await open(fakes)
  const { data, status, headers } = await instance.get(ORDERS, { responseType })
  expect([status, headers['content-type'], data.constructor.name]).toEqual([200, type, form])
  const text = responseType === 'arraybuffer' ? new TextDecoder().decode(data) : data
  if (responseType !== 'stream') expect(responseType === 'json' ? data : JSON.parse(text)).toEqual({ kept: true })
})

test('S8 nothing is leased of an origin whose circuit is open, and then one task to see', async () => {
  const { server, clock, queue, events } = await opened({ breaker: BREAKER, concurrency: 100, policy: AT_ONCE })
  // all are enqueued before it opens: one that comes later asks for an attempt
  for (let i = 0; i < 9; i++) server.reply(503)
  queue.pause()
  for (let i = 0; i < 9; i++) await queue.enqueue(ORDERS, { method: 'POST', body: String(i) })
  queue.resume()
  await clock.advance(0)
  expect(server.hits).toBe(9)
  await clock.advance(2_499)
  expect(server.hits).toBe(9)
  const end = server.hang()
  await clock.advance(OPEN_MS - 2_499)
  expect(server.hits).toBe(10)
  end(200)
  await clock.advance(0)
  expect(queue.stats()).toMatchObject({ depth: 0, origins: { [ORIGIN]: { circuit: 'CLOSED' } } })
  expect(events.of('circuit').map(({ to }) => to)).toEqual(['OPEN', 'HALF_OPEN', 'CLOSED'])
})

test('S8 in another process the circuit is its own', async () => {
  const { open, server, clock, hitsAfter } = world()
  const { queue } = await open({ breaker: BREAKER, policy: AT_ONCE })
  for (let i = 0; i < 5; i++) server.reply(503)
  await queue.enqueue(ORDERS, { method: 'POST', body: '0' })
  await clock.advance(0)
  expect(queue.stats().origins[ORIGIN]?.circuit).toBe('OPEN')
  const other = await open({ breaker: BREAKER, policy: AT_ONCE })
  expect(await hitsAfter(0)).toBe(6)
  expect(other.queue.stats().origins[ORIGIN]?.circuit).not.toBe('OPEN')
})

function withAbort(): { signal: AbortSignal; abort: () => void } {
  const controller = new AbortController()
  return { signal: controller.signal, abort: () => controller.abort() }
}
