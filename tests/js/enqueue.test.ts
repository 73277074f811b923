import { expect, test } from 'vitest'
import type { EnqueueInit } from '../../js/index.ts'
import { opened } from './durable-setup.ts'
import { gaps, ORDERS, setup } from './setup.ts'

test('the receipt names task, key and durability, and the first attempt is the queue’s', async () => {
  const { queue, server, clock, events } = await setup({}, 503, [200, {}, 'done'])
  const receipt = await queue.enqueue(ORDERS, { method: 'POST', body: 'x' })
  expect(receipt).toEqual({
    taskId: expect.stringMatching(/^[\da-f-]{36}$/),
    idempotencyKey: expect.stringMatching(/^[\da-f-]{36}$/),
    durability: 'memory',
    deduplicated: false,
  })
  await clock.advance(1_000)
  expect(server.requests[0]?.headers.get('idempotency-key')).toBe(receipt.idempotencyKey)
  expect(events.names()).toEqual(['queued', 'attempt', 'retry', 'attempt', 'succeeded'])
  expect(events.of('attempt').map(({ context }) => context.attemptNumber)).toEqual([1, 2])
  expect(await events.of('succeeded')[0]?.response?.text()).toBe('done')
  expect(queue.stats()).toMatchObject({ firstAttemptSucceeded: 0, succeeded: 1, attempts: 2 })
})

test('a safe method has no key in its receipt', async () => {
  const { queue } = await setup()
  expect(await queue.enqueue(ORDERS)).toMatchObject({ idempotencyKey: null })
})

test('an enqueued call is tried again like any other, far beyond waitMs', async () => {
  const { queue, server, clock } = await setup({ policy: { initialDelayMs: 30_000 } }, 503, 503, 503)
  const { taskId } = await queue.enqueue(ORDERS, { method: 'POST', redrive: { waitMs: 1 } })
  await clock.advance(210_000)
  expect(gaps(server)).toEqual([30_000, 60_000, 120_000])
  expect(await queue.get(taskId)).toMatchObject({ status: 'SUCCEEDED', attemptNumber: 4 })
})

test('an unsafe call without a key is sent, once', async () => {
  const { queue, server, clock } = await setup({ idempotency: false }, 503)
  const { taskId, idempotencyKey } = await queue.enqueue(ORDERS, { method: 'POST' })
  await clock.advance(10_000)
  expect(idempotencyKey).toBeNull()
  expect(server.hits).toBe(1)
  expect(await queue.get(taskId)).toMatchObject({ status: 'EXHAUSTED', reason: 'not_retryable' })
})

test('a body over maxBodyBytes is refused, naming the limit', async () => {
  const { queue, hitsAfter } = await setup({ maxBodyBytes: 10 })
  const refused = queue.enqueue(ORDERS, { method: 'POST', body: '12345678901' })
  await expect(refused).rejects.toMatchObject({
    code: 'BODY_TOO_LARGE',
    message: expect.stringContaining('more bytes than maxBodyBytes 10:'),
  })
  expect(await hitsAfter()).toBe(0)
})

test('an aborted signal refuses the call before it is queued', async () => {
  const { queue, events } = await setup()
  const reason = new Error('left')
  await expect(queue.enqueue(ORDERS, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
  expect(events.names()).toEqual([])
})

test.each([
  ['in memory', setup],
  ['in a store', opened],
])('S8 a task %s whose expiresAt has passed ends without an attempt', async (_where, open) => {
  const { queue, server, clock } = await open()
  const { taskId } = await queue.enqueue(ORDERS, { redrive: { expiresAt: clock.now() - 1 } })
  await clock.settle()
  expect(await queue.get(taskId)).toMatchObject({ status: 'EXHAUSTED', reason: 'expired', attemptNumber: 0 })
  expect(server.hits).toBe(0)
})

test.each<
  [
    what: string,
    input: string | Request,
    init: EnqueueInit,
    sent: readonly [method: string, type: string, body: string],
  ]
>([
  ['as JSON, by POST', ORDERS, { json: { sku: 1 } }, ['POST', 'application/json', '{"sku":1}']],
  ['by another method', ORDERS, { json: [1], method: 'PUT' }, ['PUT', 'application/json', '[1]']],
  [
    'under its own type',
    ORDERS,
    { json: 1, headers: { 'Content-Type': 'application/ld+json' } },
    ['POST', 'application/ld+json', '1'],
  ],
  ['null, which is JSON', ORDERS, { json: null, body: null }, ['POST', 'application/json', 'null']],
  [
    'a Request',
    new Request(ORDERS, { method: 'PATCH', headers: { 'x-own': 'a' } }),
    { json: '' },
    ['PATCH', 'application/json', '""'],
  ],
  ['nothing', ORDERS, { json: undefined, method: 'POST', body: 'tea' }, ['POST', 'text/plain;charset=UTF-8', 'tea']],
])('json is sent %s', async (_, input, init, sent) => {
  const { queue, server } = await setup()
  const { taskId } = await queue.enqueue(input, init)
  expect((await queue.result(taskId)).task.status).toBe('SUCCEEDED')
  const [request] = server.requests
  expect([request?.method, request?.headers.get('content-type'), request?.body]).toEqual(sent)
  if (input instanceof Request) expect(request?.headers.get('x-own')).toBe('a')
})

test('json is sent as it was when it was given', async () => {
  const { queue, server, clock } = await setup({}, 503)
  const json = { sku: 1 }
  const enqueued = queue.enqueue(ORDERS, { json })
  json.sku = 2
  await enqueued
  await clock.advance(1_000)
  expect(server.requests.map(({ body }) => body)).toEqual(['{"sku":1}', '{"sku":1}'])
})

test.each<[what: string, init: EnqueueInit, meant: string]>([
  ['beside a body', { json: 1, body: 'tea' }, 'json: expected what JSON can hold, and no `body` beside it'],
  ['beside an empty body', { json: 1, body: '' }, 'json: expected what JSON can hold, and no `body` beside it'],
  ['that has no JSON', { json: () => {} }, 'JSON'],
  ['that has a circle', { json: circle() }, 'circular'],
  ['of a GET', { json: 1, method: 'GET' }, 'GET'],
])('json %s is refused, unsent', async (_, init, meant) => {
  const { queue, server } = await setup()
  const refused = queue.enqueue(ORDERS, { method: 'POST', ...init })
  await expect(refused).rejects.toThrow(TypeError)
  await expect(refused).rejects.toThrow(meant)
  expect(server.hits).toBe(0)
  expect(queue.stats().depth).toBe(0)
})

function circle(): object {
  const circle: { own?: object } = {}
  circle.own = circle
  return circle
}

test('a Request in place of an init, whose json is a method, is enqueued as it is', async () => {
  const { queue, server } = await setup()
  const { taskId } = await queue.enqueue(ORDERS, new Request(ORDERS, { method: 'POST', body: 'tea' }))
  await queue.result(taskId)
  expect(server.requests.map(({ method, body }) => [method, body])).toEqual([['POST', 'tea']])
})
