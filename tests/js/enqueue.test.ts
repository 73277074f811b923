import { expect, test } from 'vitest'
import { always, gaps, ORDERS, setup } from './setup.ts'

test('the receipt names task, key and durability, and the first attempt is the queue’s', async () => {
  const { queue, server, clock, events } = await setup()
  server.reply(503).reply(200, {}, 'done')
  const receipt = await queue.enqueue(ORDERS, { method: 'POST', body: 'x' })
  expect(receipt).toEqual({
    taskId: expect.stringMatching(/^[\da-f-]{36}$/),
    idempotencyKey: expect.stringMatching(/^[\da-f]{32}$/),
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
  const { queue, server, clock } = await setup({ policy: { initialDelayMs: 30_000 } })
  always(server, 503, 3)
  const { taskId } = await queue.enqueue(ORDERS, { method: 'POST', redrive: { waitMs: 1 } })
  await clock.advance(90_000)
  expect(gaps(server)).toEqual([30_000, 30_000, 30_000])
  expect(await queue.get(taskId)).toMatchObject({ status: 'SUCCEEDED', attemptNumber: 4 })
})

test('an unsafe call without a key is sent, once', async () => {
  const { queue, server, clock } = await setup({ idempotency: false })
  server.reply(503)
  const { taskId, idempotencyKey } = await queue.enqueue(ORDERS, { method: 'POST' })
  await clock.advance(10_000)
  expect(idempotencyKey).toBeNull()
  expect(server.hits).toBe(1)
  expect(await queue.get(taskId)).toMatchObject({ status: 'EXHAUSTED', reason: 'not_retryable' })
})

test('a refusal is a dead letter: nobody else holds the call', async () => {
  const { queue, server, clock } = await setup()
  server.reply(404)
  const { taskId } = await queue.enqueue(ORDERS, { method: 'POST' })
  await clock.settle()
  expect((await queue.deadLetters.list()).tasks).toMatchObject([{ taskId, reason: 'not_retryable' }])
})

test.each<[what: string, input: string, init: object]>([
  ['redrive: false', ORDERS, { redrive: false }],
  ['no-cors', ORDERS, { mode: 'no-cors' }],
  ['keepalive', ORDERS, { keepalive: true }],
  ['a data: URL', 'data:,hello', {}],
])('what passes through cannot be enqueued: %s', async (_what, input, init) => {
  const { queue, server } = await setup()
  await expect(queue.enqueue(input, init)).rejects.toThrow(TypeError)
  expect(server.hits).toBe(0)
})

test('a body over maxBodyBytes is refused, naming the limit', async () => {
  const { queue, server, clock } = await setup({ maxBodyBytes: 10 })
  const refused = queue.enqueue(ORDERS, { method: 'POST', body: '12345678901' })
  await expect(refused).rejects.toMatchObject({
    code: 'BODY_TOO_LARGE',
    message: expect.stringContaining('more bytes than maxBodyBytes 10:'),
  })
  await clock.settle()
  expect(server.hits).toBe(0)
})

test('an aborted signal refuses the call before it is queued', async () => {
  const { queue, events } = await setup()
  const reason = new Error('left')
  await expect(queue.enqueue(ORDERS, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
  expect(events.names()).toEqual([])
})

test('expiresAt in the past ends the task without an attempt', async () => {
  const { queue, server, clock } = await setup()
  const { taskId } = await queue.enqueue(ORDERS, { redrive: { expiresAt: clock.now() - 1 } })
  await clock.settle()
  expect(await queue.get(taskId)).toMatchObject({ status: 'EXHAUSTED', reason: 'expired', attemptNumber: 0 })
  expect(server.hits).toBe(0)
})
