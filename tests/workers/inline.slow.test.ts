/** While the request lives, retries are made where it is; no object hears of them. */

import { expect, test } from 'vitest'
import { duringTests } from '../during.ts'
import { apiDuringTests, order, patient, quick } from './api.ts'
import { Edge } from './harness/edge.ts'
import { startOrigin } from './origin.ts'

const api = apiDuringTests()

const edge = duringTests(() => Edge.start({ api: api.url, worker: patient }))

test('a call that succeeds is one request, and an object keeps nothing', async () => {
  const answer = await edge.call(api.orders('calm'), order('calm'), patient)
  expect(answer.status).toBe(200)
  expect(await api.saw('calm')).toMatchObject({ attempts: 1, effects: 1 })
  expect(edge.objects()).toBe(0)
})

test('S5 a call that fails twice is answered by its third attempt, under one key, without an object', async () => {
  await api.fails(2)
  const answer = await edge.call(api.orders('twice'), order('twice'), patient)
  expect(answer.status).toBe(200)
  expect(JSON.parse(answer.body)).toEqual({ intent: 'twice', effect: 1 })
  const saw = await api.saw('twice')
  expect(saw).toMatchObject({ attempts: 3, effects: 1 })
  expect(saw?.keys).toHaveLength(1)
  expect(edge.objects()).toBe(0)
})

test('a lost answer is asked for again under the same key: one effect', async () => {
  await api.fails(2, 'reset_after')
  const answer = await edge.call(api.orders('lost'), order('lost'), patient)
  expect(answer.headers['idempotency-replayed']).toBe('true')
  expect(await api.saw('lost')).toMatchObject({ attempts: 3, effects: 1 })
})

test('a Request is retried as a URL with init is', async () => {
  await api.fails(1)
  const [answer] = (await edge.calls([{ url: api.orders('request'), init: order('request'), as: 'request' }], patient))
    .answers
  expect(answer?.status).toBe(200)
  expect(await api.saw('request')).toMatchObject({ attempts: 2, effects: 1 })
})

test('a refusal is given as it is, at once', async () => {
  await api.fails(1, 'refused')
  const answer = await edge.call(api.orders('refused'), order('refused'), patient)
  expect(answer.status).toBe(403)
  expect(await api.saw('refused')).toMatchObject({ attempts: 1 })
  expect(edge.objects()).toBe(0)
})

test("with mode 'await' nothing is handed over: the caller has the last answer", async () => {
  await api.fails(9)
  const init = { ...order('await'), redrive: { mode: 'await' } }
  const answer = await edge.call(api.orders('await'), init, { ...patient, inlineAttempts: 2 })
  expect(answer.status).toBe(503)
  expect(await api.saw('await')).toMatchObject({ attempts: 2 })
  expect(edge.objects()).toBe(0)
})

test.each(['GET', 'HEAD'])('%s is not handed over: nobody would hear what it brings', async (method) => {
  await api.fails(9)
  const answer = await edge.call(api.orders(method), { method }, { ...patient, inlineAttempts: 2 })
  expect(answer.status).toBe(503)
  expect(await api.saw(method)).toMatchObject({ attempts: 2 })
  expect(edge.objects()).toBe(0)
})

test('redrive: false is plain fetch', async () => {
  await api.fails(1)
  const answer = await edge.call(api.orders('off'), { ...order('off'), redrive: false }, patient)
  expect(answer.status).toBe(503)
  expect(await api.saw('off')).toMatchObject({ attempts: 1, keys: [] })
})

test('the handlers of a wrapped Worker have the retrying fetch: requests and timers', async () => {
  await api.fails(1)
  const response = await edge.miniflare.dispatchFetch('http://edge/handled')
  expect(response.status).toBe(200)
  expect(await api.saw('handled')).toMatchObject({ attempts: 2, effects: 1 })
  await edge.scheduled('* * * * *')
  expect(await api.saw('scheduled')).toMatchObject({ attempts: 2, effects: 1 })
})

test('the handlers of a wrapped Worker have the retrying fetch: messages of a queue', async () => {
  await api.fails(1)
  expect(await edge.deliver(['first', 'second'])).toMatchObject({ outcome: 'ok' })
  for (const intent of ['first', 'second']) expect(await api.saw(intent)).toMatchObject({ attempts: 2, effects: 1 })
})

const modes = [
  ['defer', 202],
  ['await', 503],
] as const

test.each(modes)(
  'all calls of one fetch make no more attempts than it may, and each has its first: %s',
  async (mode, status) => {
    const paths = Array.from({ length: 6 }, (_, at) => `/${mode}-${at}`)
    await using origin = await startOrigin(Object.fromEntries(paths.map((path) => [path, [[503]]])))
    const calls = paths.map((path) => ({
      url: `${origin.url}${path}`,
      init: { method: 'POST', body: '{}', redrive: { mode } },
    }))
    const policy = { ...quick, initialDelayMs: 400 }
    const { answers } = await edge.calls(calls, { ...patient, policy, inlineAttempts: 5, subrequests: 8 })
    // what was handed over at once is due when the last is answered: the object's own attempts, by its token, are not of this fetch
    const seen = origin.seen.filter(({ authorization }) => authorization === undefined)
    expect(answers.map((answer) => answer.status)).toEqual(paths.map(() => status))
    expect(new Set(seen.map(({ path }) => path))).toEqual(new Set(paths))
    expect(seen.length).toBeLessThanOrEqual(8)
  },
)

test('a call waits in the Worker no longer than it may', async () => {
  await api.fails(1, 'unavailable_retry_after')
  await api.server.configure({ retryAfterS: 60 })
  const startedAt = performance.now()
  const answer = await edge.call(api.orders('slow'), order('slow'), { ...patient, inlineMs: 300 })
  expect(performance.now() - startedAt).toBeLessThan(10_000)
  expect(answer.status).toBe(202)
  expect(await api.saw('slow')).toMatchObject({ attempts: 1 })
})

test('what is handed over is kept in an object, which the count above sees', async () => {
  const before = edge.objects()
  const call = { url: api.orders('handed'), init: order('handed'), as: 'enqueue' } as const
  await edge.calls([call], { ...patient, principal: 'counted' })
  expect(edge.objects()).toBe(before + 1)
})
