/** S6, S14: one key is one task, and of one request. */

import { expect, test } from 'vitest'
import { printed } from '../../js/call/material.ts'
import { IdempotencyConflictError, type RetryQueue } from '../../js/index.ts'
import { always, type Fakes, markOf, ORDERS, setup, submitted, watch } from './setup.ts'

const JSON_TYPE = { 'content-type': 'application/json' }
const KEY = 'order-4711'

function post(body: string, idempotencyKey = KEY, more: object = {}) {
  return { method: 'POST', headers: JSON_TYPE, body, redrive: { idempotencyKey, ...more } }
}

const BODY = '{"item":"tea","qty":2}'
const FIRST = post(BODY)

/** S2: what was accepted is somewhere. */
async function expectTasks(queue: RetryQueue, count: number): Promise<void> {
  const { depth, succeeded, exhausted, cancelled } = queue.stats()
  expect((await queue.list()).tasks).toHaveLength(count)
  expect(depth + succeeded + exhausted + cancelled).toBe(count)
}

test.each<[state: string, reach: (fakes: Fakes) => Promise<void>, status: string]>([
  ['waiting', async ({ queue }) => queue.pause(), 'PENDING'],
  ['in flight', async ({ server }) => void server.hang(), 'IN_FLIGHT'],
  ['succeeded', async () => {}, 'SUCCEEDED'],
  ['a dead letter', async ({ server }) => void server.reply(404), 'EXHAUSTED'],
])('S14 enqueued again while the task is %s: the same task, nothing more is sent', async (_state, reach, status) => {
  const fakes = await setup()
  const { queue, server, clock, events, hitsAfter } = fakes
  await reach(fakes)
  const first = await queue.enqueue(ORDERS, FIRST)
  await clock.settle()
  expect((await queue.get(first.taskId))?.status).toBe(status)
  const hits = server.hits
  const second = await queue.enqueue(ORDERS, FIRST)
  expect(second).toEqual({ ...first, deduplicated: true })
  expect(first.deduplicated).toBe(false)
  expect(await hitsAfter()).toBe(hits)
  expect(events.of('queued')).toHaveLength(1)
  await expectTasks(queue, 1)
})

test('a cancelled task does not keep its key', async () => {
  const { queue, hitsAfter } = await setup()
  queue.pause()
  const first = await queue.enqueue(ORDERS, FIRST)
  await queue.cancel(first.taskId)
  const second = await queue.enqueue(ORDERS, FIRST)
  expect(second).toMatchObject({ deduplicated: false, idempotencyKey: KEY })
  expect(second.taskId).not.toBe(first.taskId)
  queue.resume()
  expect(await hitsAfter()).toBe(1)
  await expectTasks(queue, 2)
})

test.each<[what: string, init: object]>([
  ['another charset in the content type', { ...FIRST, headers: { 'content-type': 'application/json;charset=utf-8' } }],
  ['its content type in other letters', { ...FIRST, headers: { 'content-type': 'Application/JSON' } }],
  ['a header beside it', { ...FIRST, headers: { ...JSON_TYPE, 'x-own': 'a' } }],
  ['the method in lower case', { ...FIRST, method: 'post' }],
])('S14 it is the same request with %s', async (_what, init) => {
  const { queue } = await setup()
  const first = await queue.enqueue(ORDERS, FIRST)
  expect(await queue.enqueue(ORDERS, init)).toEqual({ ...first, deduplicated: true })
})

test('S14 the URL counts in its normalized form', async () => {
  const { queue } = await setup()
  const first = await queue.enqueue('https://api.test/orders', FIRST)
  expect(await queue.enqueue('HTTPS://API.test:443/x/../orders#top', FIRST)).toEqual({ ...first, deduplicated: true })
})

const ANOTHER_URL =
  /belongs to a request to another URL, POST https:\/\/api\.test\/orders; a key names one request: use one key for each receiver; this one is not kept$/
const ANOTHER = /belongs to another request, POST .*; use a new key for a new request/

const others: readonly [what: string, url: string, init: object, says: RegExp][] = [
  ['another body', ORDERS, post('{"item":"hush","qty":2}'), ANOTHER],
  ['members in another order', ORDERS, post('{"qty":2,"item":"tea"}'), ANOTHER],
  ['another method', ORDERS, { ...FIRST, method: 'PUT' }, ANOTHER],
  ['another receiver', 'https://other.test/orders', FIRST, ANOTHER_URL],
  ['another path', `${ORDERS}/1`, FIRST, ANOTHER_URL],
  ['another query', `${ORDERS}?token=hush`, FIRST, ANOTHER],
  ['another content type', ORDERS, { ...FIRST, headers: { 'content-type': 'text/plain' } }, ANOTHER],
  ['no body', ORDERS, { method: 'POST', redrive: { idempotencyKey: KEY } }, ANOTHER],
]

test.each(others)('S6 %s under the same key is refused, nothing is sent or kept', async (_what, url, init, says) => {
  const { queue, server, clock } = await setup()
  await queue.enqueue(ORDERS, FIRST)
  await clock.settle()
  const before = [server.hits, queue.stats()]
  for (const call of [queue.enqueue(url, init), queue.fetch(url, init)]) {
    const error = await call.catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(IdempotencyConflictError)
    expect(error).toMatchObject({ code: 'IDEMPOTENCY_CONFLICT', message: expect.stringMatching(says) })
    for (const secret of ['hush', 'tea', KEY]) expect((error as Error).message).not.toContain(secret)
  }
  await clock.settle()
  expect([server.hits, queue.stats()]).toEqual(before)
  await expectTasks(queue, 1)
})

test('S6 a key that the queue made, used again for another request, is refused; for its own it is the task', async () => {
  const { queue, server, clock } = await setup()
  server.reply(503)
  const waiting = watch(queue.fetch(ORDERS, { method: 'POST', headers: JSON_TYPE, body: BODY }))
  await clock.settle()
  const made = server.requests[0]?.headers.get('idempotency-key') ?? ''
  await expect(queue.enqueue(ORDERS, post('{}', made))).rejects.toBeInstanceOf(IdempotencyConflictError)
  const again = await queue.enqueue(ORDERS, post(BODY, made))
  expect(again).toMatchObject({ deduplicated: true, idempotencyKey: made })
  await clock.advance(1_000)
  expect([waiting.value?.status, server.hits]).toEqual([200, 2])
  await expectTasks(queue, 1)
})

test('S14 many at once under one key are one task', async () => {
  const { queue, hitsAfter } = await setup()
  const receipts = await Promise.all(Array.from({ length: 20 }, () => queue.enqueue(ORDERS, FIRST)))
  expect(new Set(receipts.map(({ taskId }) => taskId)).size).toBe(1)
  expect(receipts.filter(({ deduplicated }) => !deduplicated)).toHaveLength(1)
  expect(await hitsAfter()).toBe(1)
  await expectTasks(queue, 1)
})

test('S6 of many different ones at once under one key one is taken, the others are refused', async () => {
  const { queue, hitsAfter } = await setup()
  const calls = Array.from({ length: 5 }, (_, i) => queue.enqueue(ORDERS, post(`{"n":${i}}`)))
  const ended = await Promise.allSettled(calls)
  expect(ended.map(({ status }) => status)).toEqual(['fulfilled', ...Array(4).fill('rejected')])
  expect(await hitsAfter()).toBe(1)
  await expectTasks(queue, 1)
})

test('a task past its retention frees its key, for any request', async () => {
  const { queue, clock, hitsAfter } = await setup({ retention: { terminalMs: 60_000 } })
  const first = await queue.enqueue(ORDERS, FIRST)
  await clock.advance(60_000)
  expect((await queue.enqueue(ORDERS, FIRST)).taskId).toBe(first.taskId)
  await clock.advance(1)
  const second = await queue.enqueue(ORDERS, post('{"item":"milk"}'))
  expect(second.deduplicated).toBe(false)
  expect(await hitsAfter()).toBe(2)
})

test('S14 a purged dead letter frees its key', async () => {
  const { taskId, queue } = await submitted([404], { init: FIRST })
  await queue.deadLetters.purge(taskId)
  expect(await queue.enqueue(ORDERS, FIRST)).toMatchObject({ deduplicated: false })
})

test('fetch after the task has ended is sent: its caller is owed an answer', async () => {
  const { queue } = await submitted(
    [
      [200, {}, 'one'],
      [200, {}, 'two'],
    ],
    { init: FIRST },
  )
  expect(await (await queue.fetch(ORDERS, FIRST)).text()).toBe('two')
})

test('fetch that fails after the task has ended is a task of its own, with the same key', async () => {
  const { queue, server, clock } = await submitted([], { init: FIRST })
  always(server, 503, 2)
  const answer = watch(queue.fetch(ORDERS, FIRST))
  await clock.advance(4_000)
  expect(answer.value?.status).toBe(200)
  expect(markOf(answer.value)).toBeUndefined()
  expect(new Set(server.requests.map(({ headers }) => headers.get('idempotency-key')))).toEqual(new Set([KEY]))
})

test('a body is compared by its bytes, and no more of them: any other writing of 50 MiB would hold up a page', () => {
  const body = new Uint8Array(1_000_000)
  const bytes = printed({ method: 'POST', url: ORDERS, contentType: 'application/octet-stream', body })
  expect(bytes.length).toBeLessThan(body.length + 200)
})

test('S14 equal forms are one task, whatever boundary the platform drew', async () => {
  const { queue, hitsAfter } = await setup()
  const form = (sku: string) => {
    const data = new FormData()
    data.set('sku', sku)
    return data
  }
  const redrive = { idempotencyKey: 'form-1' }
  const first = await queue.enqueue(ORDERS, { method: 'POST', body: form('tea'), redrive })
  const second = await queue.enqueue(ORDERS, { method: 'POST', body: form('tea'), redrive })
  expect(second).toMatchObject({ taskId: first.taskId, deduplicated: true })
  const other = queue.enqueue(ORDERS, { method: 'POST', body: form('milk'), redrive })
  await expect(other).rejects.toMatchObject({ code: 'IDEMPOTENCY_CONFLICT' })
  expect(await hitsAfter(1_000)).toBe(1)
})
