/** Defects of well-known libraries: each test fails with an implementation that has the defect. */

import { expect, test } from 'vitest'
import { loadCore } from '../../js/core.ts'
import { always, gaps, markOf, ORDERS, setup, watch } from './setup.ts'

test('backon: jitter is not added after the cap, which would nearly double it', async () => {
  const core = await loadCore()
  for (const jitterType of ['NONE', 'FULL', 'EQUAL', 'DECORRELATED'] as const) {
    const policy = { jitterType, initialDelayMs: 1_000, maxDelayMs: 5_000 }
    for (const attempt of [1, 2, 3, 10, 1_000]) {
      const random = 1 - 2 ** -53
      const ms = core.calculateBackoffDelay(policy, attempt, { random, previousDelayMs: 5_000 })
      expect(ms).toBeLessThanOrEqual(5_000)
    }
  }
})

test('tower: a fraction of a second is not dropped', async () => {
  const { queue, server, clock } = await setup({ policy: { strategy: 'fixed', initialDelayMs: 1_750 } })
  always(server, 503, 2)
  const answer = queue.fetch(ORDERS)
  await clock.advance(3_500)
  await answer
  expect(gaps(server)).toEqual([1_750, 1_750])
})

test('tower: a delay below a second is waited for', async () => {
  const { queue, server, clock } = await setup({ policy: { strategy: 'fixed', initialDelayMs: 250 } })
  server.reply(503)
  const answer = queue.fetch(ORDERS)
  await clock.advance(249)
  expect(server.hits).toBe(1)
  await clock.advance(1)
  await answer
  expect(server.hits).toBe(2)
})

test('cockatiel: an abort during backoff is heard at once', async () => {
  const { queue, server, clock } = await setup({ policy: { initialDelayMs: 20_000 } })
  always(server, 503)
  const controller = new AbortController()
  const answer = watch(queue.fetch(ORDERS, { signal: controller.signal }))
  await clock.settle()
  controller.abort()
  await clock.settle()
  expect(answer.error).toMatchObject({ name: 'AbortError' })
  expect(clock.timers).toBe(0)
})

test('axios-retry: a POST is not sent again without a key', async () => {
  const { queue, server, clock } = await setup()
  server.fail().fail()
  const answer = queue.fetch(ORDERS, { method: 'POST', body: 'order' })
  await clock.advance(3_000)
  await answer
  const keys = server.requests.map(({ headers }) => headers.get('idempotency-key'))
  expect(keys[0]).toBeTruthy()
  expect(keys).toEqual([keys[0], keys[0], keys[0]])
})

test('axios-retry: a stream is never sent again empty', async () => {
  const { queue, server, clock } = await setup()
  server.reply(503)
  const init = { method: 'POST', body: new Blob(['order']).stream(), duplex: 'half' } as RequestInit
  await expect(queue.fetch(ORDERS, init)).rejects.toMatchObject({ code: 'BODY_NOT_REPLAYABLE' })
  await clock.advance(60_000)
  expect(server.requests.filter(({ body }) => body === '')).toEqual([])
})

test('axios-retry: Retry-After: 3000000 is not turned into an instant retry', async () => {
  const { queue, server, clock } = await setup()
  server.reply(503, { 'retry-after': '3000000' })
  const { taskId } = await queue.enqueue(ORDERS)
  await clock.advance(60_000)
  expect(server.hits).toBe(1)
  expect(await queue.get(taskId)).toMatchObject({ status: 'EXHAUSTED', reason: 'retry_after_too_long' })
})

test('axios-retry: and where such a wait is allowed it is waited for, past what a timer can hold', async () => {
  const days = 60 * 86_400_000
  const policy = { maxRetryAfterMs: days, totalBudgetMs: days, keyTtlMs: days }
  const { queue, server, clock } = await setup({ policy })
  server.reply(503, { 'retry-after': '3000000' })
  await queue.enqueue(ORDERS)
  await clock.advance(2_999_999_999)
  expect(server.hits).toBe(1)
  await clock.advance(5_001)
  expect(server.hits).toBe(2)
})

test('Workbox: a replay that is answered 500 is not dropped', async () => {
  const { queue, server, clock } = await setup({ policy: { retryableStatusCodes: [500, 503] } })
  server.reply(503).reply(500).reply(200)
  const { taskId } = await queue.enqueue(ORDERS, { method: 'POST', body: 'order' })
  await clock.advance(3_000)
  expect(await queue.get(taskId)).toMatchObject({ status: 'SUCCEEDED', attemptNumber: 3 })
})

test('Workbox: and where 500 is final, the request is kept for a redrive', async () => {
  const { queue, server, clock } = await setup()
  server.reply(503).reply(500)
  const { taskId } = await queue.enqueue(ORDERS, { method: 'POST', body: 'order' })
  await clock.advance(1_000)
  await queue.deadLetters.redrive(taskId)
  await clock.settle()
  expect(server.requests[2]?.body).toBe('order')
})

test('S12 Workbox: Authorization and cookies are in no task, log or event, by name only', async () => {
  const { queue, server, clock, events } = await setup()
  server.reply(503).reply(404)
  const headers = { authorization: 'Bearer hush', cookie: 'session=hush', 'x-api-key': 'hush', accept: 'text/plain' }
  const { taskId } = await queue.enqueue(ORDERS, { method: 'POST', headers })
  await clock.advance(1_000)
  const task = await queue.get(taskId)
  expect(task?.headers).toMatchObject({ accept: 'text/plain' })
  expect(task?.withheldHeaders).toEqual(expect.arrayContaining(['authorization', 'cookie', 'x-api-key']))
  const shown = [task, await queue.attempts(taskId), await queue.result(taskId), await queue.deadLetters.list()]
  const told = (['queued', 'attempt', 'retry', 'exhausted'] as const).map((name) => events.of(name))
  expect(JSON.stringify([shown, told])).not.toContain('hush')
  expect(server.requests.map((request) => request.headers.get('authorization'))).toEqual(['Bearer hush', 'Bearer hush'])
})

test('Workbox: one bad entry does not block the others', async () => {
  const { queue, server, clock } = await setup({ concurrency: 1 })
  server.fail().reply(200).reply(200)
  const bad = await queue.enqueue(`${ORDERS}/bad`)
  const good = [await queue.enqueue(`${ORDERS}/1`), await queue.enqueue(`${ORDERS}/2`)]
  await clock.settle()
  for (const { taskId } of good) expect(await queue.get(taskId)).toMatchObject({ status: 'SUCCEEDED' })
  expect(await queue.get(bad.taskId)).toMatchObject({ status: 'PENDING' })
})

test('Workbox, Sentry: a task is not gone while it is being sent', async () => {
  const { queue, server, clock } = await setup()
  const release = server.hang()
  const { taskId } = await queue.enqueue(ORDERS, { method: 'POST', body: 'order' })
  await clock.settle()
  expect((await queue.list()).tasks).toMatchObject([{ taskId, status: 'IN_FLIGHT', bodyRef: 'inline' }])
  release(503)
  await clock.advance(1_000)
  expect(server.requests[1]?.body).toBe('order')
})

test('naive loops: more than one task runs at once', async () => {
  const { queue, server, clock } = await setup({ concurrency: 3 })
  for (let i = 0; i < 3; i++) server.hang()
  for (let i = 0; i < 3; i++) await queue.enqueue(`${ORDERS}/${i}`)
  await clock.settle()
  expect(server.maxInFlight).toBe(3)
})

test('parseInt: a Retry-After of 12abc is not 12 seconds, and a date is not a year of them', async () => {
  const { queue, server, clock } = await setup()
  server.reply(503, { 'retry-after': '12abc' })
  const answer = queue.fetch(ORDERS)
  await clock.advance(1_000)
  expect(markOf(await answer)).toBeUndefined()
  expect(gaps(server)).toEqual([1_000])
})
