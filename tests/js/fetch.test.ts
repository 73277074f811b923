import { expect, test } from 'vitest'
import { always, called, gaps, markOf, ORDERS, setup, watch } from './setup.ts'

test('a call that succeeds at once makes no task, no event and no timer', async () => {
  const { queue, clock, events } = await setup({}, [201, { 'x-made': 'yes' }, 'made'])
  const response = await queue.fetch(ORDERS, { method: 'POST', body: 'x' })
  expect(response.status).toBe(201)
  expect(await response.text()).toBe('made')
  expect(markOf(response)).toBeUndefined()
  expect(events.names(true)).toEqual([])
  expect((await queue.list()).tasks).toEqual([])
  expect(queue.stats()).toMatchObject({ depth: 0, firstAttemptSucceeded: 1, attempts: 1, succeeded: 0 })
  expect(clock.timers).toBe(0)
})

test('fetch may be taken off its queue, as a client that asks for a fetch does', async () => {
  const { queue } = await setup({}, 201)
  const client = { fetch: queue.fetch }
  expect((await client.fetch(ORDERS)).status).toBe(201)
})

test.each([408, 429, 502, 503, 504])('a %i is tried again and the caller gets its answer', async (status) => {
  const { answer } = await called([status, [200, {}, 'done']], { forMs: 2_000 })
  const response = answer.value as Response
  expect(response.status).toBe(200)
  expect(response.bodyUsed).toBe(false)
  expect(await response.text()).toBe('done')
})

test.each([200, 204, 304, 400, 401, 403, 404, 409, 410, 422, 500, 501])(
  'a %i is the caller’s at once, without a task',
  async (status) => {
    const { queue, server, events } = await setup({}, status)
    const response = await queue.fetch(ORDERS)
    expect(response.status).toBe(status)
    expect(markOf(response)).toBeUndefined()
    expect(events.names()).toEqual([])
    expect(server.hits).toBe(1)
  },
)

test.each(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE', 'POST', 'PATCH'])('%s is tried again', async (method) => {
  const { answer, server } = await called([503], { init: { method }, forMs: 1_000 })
  expect(answer.value?.status).toBe(200)
  expect(server.requests.map((request) => request.method)).toEqual([method, method])
})

test('S22 when attempts run out the caller gets the last response, its body unread, marked with task and reason', async () => {
  const { queue, server, clock, events } = await setup({ policy: { maxAttempts: 3 } })
  server.reply(503, {}, 'one').reply(502, {}, 'two').reply(504, {}, 'three')
  const answer = queue.fetch(ORDERS)
  await clock.advance(3_000)
  const response = await answer
  expect(response.status).toBe(504)
  expect(response.bodyUsed).toBe(false)
  expect(await response.text()).toBe('three')
  const [given] = events.of('exhausted')
  expect(markOf(response)).toEqual({ taskId: given?.task.taskId, reason: 'max_attempts' })
  // the mark stays out of spreads and JSON
  expect(Object.keys(response)).not.toContain('redrive')
  expect(server.hits).toBe(3)
})

test('S22 when the last attempt had no answer the caller gets its own error, marked', async () => {
  const { queue, server, clock } = await setup({ policy: { maxAttempts: 2 } })
  const lost = new TypeError('fetch failed')
  server.reply(503).fail(lost)
  const answer = watch(queue.fetch(ORDERS))
  await clock.advance(1_000)
  expect(answer.error).toBe(lost)
  expect(markOf(lost)).toMatchObject({ reason: 'max_attempts' })
})

test('a final status on a retry ends the task and is the answer', async () => {
  const { answer, events } = await called([503, 404], { forMs: 1_000 })
  expect(markOf(answer.value)).toMatchObject({ reason: 'not_retryable' })
  expect(answer.value?.status).toBe(404)
  expect(events.names()).toEqual(['queued', 'retry', 'attempt', 'exhausted'])
})

test('a wait longer than waitMs is not begun: the caller gets the last answer now', async () => {
  const { queue, server, clock, events } = await setup()
  always(server, 503)
  const answer = queue.fetch(ORDERS, { redrive: { waitMs: 4_000 } })
  await clock.advance(3_000)
  const response = await answer
  expect(response.status).toBe(503)
  expect(markOf(response)).toMatchObject({ reason: 'wait_exceeded' })
  expect(server.hits).toBe(3)
  expect(events.of('exhausted')).toMatchObject([{ reason: 'wait_exceeded' }])
  expect(clock.timers).toBe(0)
})

test('waitMs counts from the call, so a slow attempt takes its share', async () => {
  const { queue, server, clock } = await setup()
  const release = server.hang()
  const answer = watch(queue.fetch(ORDERS, { redrive: { waitMs: 5_000 } }))
  await clock.advance(4_500)
  release(503)
  await clock.settle()
  expect(markOf(answer.value)).toMatchObject({ reason: 'wait_exceeded' })
})

test('without waitMs the caller waits 30 s at most', async () => {
  const { queue, server, clock } = await setup({ policy: { maxAttempts: 10 } })
  always(server, 503)
  const answer = queue.fetch(ORDERS)
  await clock.advance(23_000) // 1 + 2 + 4 + 8 + 8; the next wait would end at 31 s
  expect(markOf(await answer)).toMatchObject({ reason: 'wait_exceeded' })
  expect(server.hits).toBe(6)
})

test.each<[reason: string, redrive: object, headers: Record<string, string>]>([
  ['total_budget', { policy: { totalBudgetMs: 2_500 } }, {}],
  ['expired', { expiresAt: Date.UTC(2030, 0, 1) + 2_500 }, {}],
  // as long as its key is remembered, unless it is given
  ['total_budget', { policy: { keyTtlMs: 20_000 } }, { 'retry-after': '25' }],
])(
  'S8 an attempt that would come too late is not made, and the caller learns before the wait: %s',
  async (reason, redrive, headers) => {
    const { queue, server, clock } = await setup({}, 503, [503, headers], 200)
    const answer = watch(queue.fetch(ORDERS, { method: 'POST', redrive }))
    await clock.advance(1_000)
    expect(markOf(answer.value)).toMatchObject({ reason })
    expect(server.hits).toBe(2)
    expect(clock.timers).toBe(0)
  },
)

test('maxAttempts 1 turns retrying off and leaves no trace', async () => {
  const { queue, events } = await setup({}, 503)
  const response = await queue.fetch(ORDERS, { redrive: { policy: { maxAttempts: 1 } } })
  expect(response.status).toBe(503)
  expect(markOf(response)).toBeUndefined()
  expect(events.names()).toEqual([])
})

test('a call picks one of the queue’s policies and may lay its own over it', async () => {
  const { queue, server, clock } = await setup({
    policies: [{ policyId: 'slow', strategy: 'fixed', initialDelayMs: 7_000, jitterType: 'NONE', maxAttempts: 2 }],
  })
  always(server, 503)
  const slow = queue.fetch(ORDERS, { redrive: { policyId: 'slow' } })
  await clock.advance(7_000)
  expect(markOf(await slow)).toMatchObject({ reason: 'max_attempts' })
  const slower = queue.fetch(ORDERS, { redrive: { policyId: 'slow', policy: { maxAttempts: 3 } } })
  await clock.advance(14_000)
  await slower
  expect(gaps(server)).toEqual([7_000, 0, 7_000, 7_000])
  expect((await queue.list()).tasks.map((task) => task.policyId)).toEqual(['slow', 'slow'])
})

test('S8 a call whose expiresAt has passed is not sent', async () => {
  const { queue, server, clock } = await setup()
  const late = queue.fetch(ORDERS, { redrive: { expiresAt: clock.now() - 1 } })
  await expect(late).rejects.toMatchObject({ code: 'EXHAUSTED', reason: 'expired' })
  expect(server.hits).toBe(0)
})

test('a call that expires later is sent', async () => {
  const { queue, server, clock } = await setup()
  expect((await queue.fetch(ORDERS, { redrive: { expiresAt: clock.now() } })).status).toBe(200)
  expect(server.hits).toBe(1)
})
