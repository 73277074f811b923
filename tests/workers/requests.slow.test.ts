/** Whatever a request is made of, the object sends the same; whoever made it need not be there any more. */

import { expect, test } from 'vitest'
import { duringTests } from '../during.ts'
import { atOnce, noGates, patient, quick, taskOf } from './api.ts'
import { type Answer, Edge, type EdgeObject } from './harness/edge.ts'
import { reaches, soon } from './harness/soon.ts'
import { digestOf, originDuringTests } from './origin.ts'

const origin = originDuringTests()

const edge = duringTests(() => Edge.start({ object: noGates }))
const object = (): EdgeObject => edge.object({ origin: origin.url })

test.each([
  ['empty', ''],
  ['text', 'ä€𝄞'],
  ['8 MiB, in several rows', 'x€'.repeat(2 ** 21)],
])('a body arrives byte for byte: %s', async (name, body) => {
  const path = `/body-${name.length}`
  origin.answers = { [path]: [[503], [200]] }
  const answer = await edge.call(`${origin.url}${path}`, { method: 'PUT', body }, atOnce)
  expect(answer.status).toBe(202)
  await reaches(object(), taskOf(answer), 'SUCCEEDED')
  expect(origin.seen.map(({ digest }) => digest)).toEqual([digestOf(body), digestOf(body)])
})

test.each([
  ['fetch(url, request)', 'proxied'],
  ['an init that inherits', 'inherited'],
] as const)('%s: the whole request is passed on, method, headers and body, to the object, too', async (_, as) => {
  origin.answers = { [`/${as}`]: [[503], [200]] }
  const headers = { 'content-type': 'text/tea', 'x-request-id': 'r-1' }
  const url = `${origin.url}/${as}`
  const { answers } = await edge.calls([{ url, init: { method: 'PUT', headers, body: 'tea' }, as }], atOnce)
  const answer = answers[0] as Answer
  expect(answer.status).toBe(202)
  await reaches(object(), taskOf(answer), 'SUCCEEDED')
  expect(origin.seen).toMatchObject([
    { digest: digestOf('tea'), headers },
    { digest: digestOf('tea'), headers },
  ])
})

test('an init of null is none, as for fetch', async () => {
  const call = { url: `${origin.url}/none`, init: null as never }
  const { answers } = await edge.calls([call, { ...call, as: 'enqueue' }], patient)
  expect(answers).toMatchObject([{ status: 200 }, { receipt: { durability: 'replicated' } }])
})

test('a caller who leaves while the Worker still tries has its task handed over all the same', async () => {
  origin.answers = { '/left': [[503], [503], [503], [200]] }
  const calls = [{ url: `${origin.url}/left`, init: { method: 'POST', body: '{}' } }]
  const options = { ...patient, policy: { ...quick, initialDelayMs: 500 }, inlineAttempts: 3 }
  const leaving = new AbortController()
  const asked = fetch(await edge.url('/call'), {
    method: 'POST',
    body: JSON.stringify({ calls, options }),
    signal: leaving.signal,
  })
  await soon(() => origin.seen.length).toBe(1)
  leaving.abort()
  await expect(asked).rejects.toThrow('abort')
  await soon(() => origin.seen.length).toBe(4)
  expect(new Set(origin.seen.map(({ key }) => key)).size).toBe(1)
  await soon(async () =>
    (await object().list({ status: 'SUCCEEDED' })).some(({ targetUrl }) => targetUrl.endsWith('/left')),
  ).toBe(true)
})

test('each call is given to waitUntil, since the platform stops what is not once its caller has left', async () => {
  const calls = ['/kept-1', '/kept-2'].map((path) => ({ url: `${origin.url}${path}`, init: { method: 'POST' } }))
  expect((await edge.calls(calls, patient)).kept).toBeGreaterThanOrEqual(calls.length)
})

test('S19 calls of one orderKey are sent by the object, one after another, in the order in which they came', async () => {
  const paths = ['/order-1', '/order-2', '/order-3']
  origin.answers = { '/order-1': [[503], [503], [200]], '/order-2': [[503], [200]] }
  for (const path of paths) {
    const init = { method: 'POST', body: '{}', redrive: { orderKey: 'account-7' } }
    const answer = await edge.call(`${origin.url}${path}`, init, { ...patient, shards: 4, principal: 'in-order' })
    expect(answer.status).toBe(202)
  }
  await soon(() => origin.seen.length).toBe(6)
  expect(origin.seen.map(({ path }) => path)).toEqual([
    '/order-1',
    '/order-1',
    '/order-1',
    '/order-2',
    '/order-2',
    '/order-3',
  ])
})

test('enqueue hands over without an attempt from the Worker, and says how safe the task is', async () => {
  const call = { url: `${origin.url}/enqueued`, init: { method: 'POST', body: '{}' }, as: 'enqueue' } as const
  const { answers } = await edge.calls([call], patient)
  const receipt = answers[0]?.receipt
  expect(receipt).toMatchObject({ durability: 'replicated', deduplicated: false })
  await reaches(object(), receipt?.taskId as string, 'SUCCEEDED')
  expect(origin.seen.map(({ path, key }) => [path, key])).toEqual([['/enqueued', receipt?.idempotencyKey]])
})

test('S6 in content mode what is enqueued, and what has an order, has the key of its content', async () => {
  const principal = 'by-content'
  const calls = [
    { url: `${origin.url}/content`, init: { method: 'POST', body: 'A' }, as: 'enqueue' },
    { url: `${origin.url}/content`, init: { method: 'POST', body: 'B' }, as: 'enqueue' },
    { url: `${origin.url}/content`, init: { method: 'POST', body: 'C', redrive: { orderKey: 'one' } } },
    { url: `${origin.url}/content`, init: { method: 'POST', body: 'A' }, as: 'enqueue', after: 0 },
  ] as const
  const { answers } = await edge.calls(calls, { ...patient, idempotency: { mode: 'content' }, principal })
  const [a, b, c, again] = answers
  expect(answers.map(({ error }) => error)).toEqual(answers.map(() => undefined))
  expect(c?.status).toBe(202)
  expect(again?.receipt).toMatchObject({ taskId: a?.receipt?.taskId, deduplicated: true })
  await soon(() => origin.seen.length).toBe(3)
  const keys = new Set(origin.seen.map(({ key }) => key))
  expect(keys.size).toBe(3)
  for (const one of [a, b]) expect(keys).toContain(one?.receipt?.idempotencyKey)
  expect([...keys].every((key) => key)).toBe(true)
})

test('a call with an order whose key is that of a task that has ended is told so', async () => {
  const principal = 'ended-in-order'
  const init = { method: 'POST', body: '{}', redrive: { orderKey: 'one', idempotencyKey: 'of-a-task-that-has-ended' } }
  const send = () => edge.call(`${origin.url}/once`, init, { ...patient, principal })
  const first = await send()
  await reaches(edge.object({ origin: origin.url, principal }), taskOf(first), 'SUCCEEDED')
  const again = await send()
  expect(again.error).toMatchObject({ code: 'TASK_ENDED', message: expect.stringContaining(taskOf(first)) })
  expect(origin.seen).toHaveLength(1)
})

test('where nothing listens, a lost connection is handed over like a 503', async () => {
  const nowhere = 'http://127.0.0.1:9'
  const answer = await edge.call(
    `${nowhere}/`,
    { method: 'POST', body: '{}' },
    { ...atOnce, policy: { ...quick, maxAttempts: 3 } },
  )
  expect(answer.status).toBe(202)
  await reaches(edge.object({ origin: nowhere }), taskOf(answer), 'EXHAUSTED')
  expect(await edge.object({ origin: nowhere }).get(taskOf(answer))).toMatchObject({ reason: 'max_attempts' })
})
