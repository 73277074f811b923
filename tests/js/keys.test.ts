import { expect, test } from 'vitest'
import type { RetryQueueOptions } from '../../js/index.ts'
import { API, called, keysOf, markOf, ORDERS, type Said, setup, stub } from './setup.ts'

const HEADER = 'idempotency-key'
const NO_KEY = { idempotency: false } as const
const LISTED = { policy: { retryableStatusCodes: [400, 409, 422, 503] } } as const
type Row = [options: RetryQueueOptions, what: string, answers: Said[], init: object, hits: number]

async function keysSent(options: RetryQueueOptions, init: RequestInit & { redrive?: object }) {
  const { server } = await called([503, 503], { options, init, forMs: 3_000 })
  return server.requests.map(({ headers }) => headers.get(HEADER))
}

test.each(['POST', 'PATCH', 'PUT', 'DELETE'])(
  'S5 %s carries one made key, the same on every attempt',
  async (method) => {
    const keys = await keysSent({}, { method })
    expect(keys).toHaveLength(3)
    expect(new Set(keys).size).toBe(1)
    expect(keys[0]).toMatch(/^[\da-f-]{36}$/)
  },
)

test.each(['GET', 'HEAD', 'OPTIONS'])('%s carries no key', async (method) => {
  expect(await keysSent({}, { method })).toEqual([null, null, null])
})

test('two calls of the same request are two intents: two keys', async () => {
  const { queue, server } = await setup()
  await queue.fetch(ORDERS, { method: 'POST', body: 'same' })
  await queue.fetch(ORDERS, { method: 'POST', body: 'same' })
  const [first, second] = server.requests.map(({ headers }) => headers.get(HEADER))
  expect(first).not.toBe(second)
})

test('the key has the name the options give', async () => {
  const { queue, server } = await setup({ idempotency: { header: 'X-Intent' } })
  await queue.fetch(ORDERS, { method: 'POST' })
  expect(server.requests[0]?.headers.get('x-intent')).toMatch(/^[\da-f-]{36}$/)
  expect(server.requests[0]?.headers.has(HEADER)).toBe(false)
})

test.each<[what: string, init: RequestInit & { redrive?: object }, quoted: string | RegExp, bare?: string]>([
  ['one that is made', {}, /^"[\da-f-]{36}"$/],
  ['an option with what needs an escape', { redrive: { idempotencyKey: 'a"b\\c' } }, '"a\\"b\\\\c"', 'a"b\\c'],
  ['a header that the caller set bare', { headers: { 'Idempotency-Key': 'mine' } }, '"mine"', 'mine'],
  ['a header that the caller set quoted', { headers: { 'Idempotency-Key': '"mine"' } }, '"mine"', '"mine"'],
  ['a quoted header with escapes', { headers: { 'Idempotency-Key': '"a\\"b\\\\c"' } }, '"a\\"b\\\\c"'],
  ['an option', { redrive: { idempotencyKey: 'mine' } }, '"mine"'],
  ['an option that is quoted', { redrive: { idempotencyKey: '"mine"' } }, '"mine"'],
  [
    'an option over a header',
    { headers: { 'Idempotency-Key': '"other"' }, redrive: { idempotencyKey: 'mine' } },
    '"mine"',
    'mine',
  ],
  ['a header that has a quote at one end only', { headers: { 'Idempotency-Key': '"mine' } }, '"\\"mine"'],
])('S5 sf-string quotes a key, and bare, the default, leaves it as it is: %s', async (_what, init, quoted, bare) => {
  const keys = await keysSent({ idempotency: { format: 'sf-string' } }, { method: 'POST', ...init })
  const each = quoted instanceof RegExp ? expect.stringMatching(quoted) : quoted
  expect(keys).toEqual([each, each, each])
  if (bare !== undefined) expect(await keysSent({}, { method: 'POST', ...init })).toEqual([bare, bare, bare])
})

test('S5 a key is the same task whether its caller quotes it or not', async () => {
  const { queue, server } = await setup({ idempotency: { format: 'sf-string' } })
  queue.pause()
  const first = await queue.enqueue(ORDERS, { method: 'POST', headers: { 'Idempotency-Key': '"mine"' } })
  const second = await queue.enqueue(ORDERS, { method: 'POST', redrive: { idempotencyKey: 'mine' } })
  expect(second).toMatchObject({ taskId: first.taskId, deduplicated: true, idempotencyKey: 'mine' })
  expect(server.hits).toBe(0)
})

test('only the methods the options name get a key', async () => {
  const { queue, server } = await setup({ idempotency: { methods: ['post'] } })
  await queue.fetch(ORDERS, { method: 'POST' })
  await queue.fetch(ORDERS, { method: 'PUT' })
  expect(server.requests.map(({ headers }) => headers.has(HEADER))).toEqual([true, false])
})

test('origins limit who may get the key only across origins: a runtime without a page has none', async () => {
  const { queue, server } = await setup({ idempotency: { origins: ['https://other.test'] } })
  await queue.fetch(ORDERS, { method: 'POST' })
  expect(server.requests[0]?.headers.has(HEADER)).toBe(true)
})

test.each<Row>([
  ...(['POST', 'PATCH'] as const).map((method): Row => [NO_KEY, 'sends no key', [503], { method }, 1]),
  ...(['PUT', 'DELETE', 'GET'] as const).map((method): Row => [NO_KEY, 'sends no key', [503], { method }, 2]),
  [NO_KEY, 'its caller vouches', [503], { method: 'POST', redrive: { idempotent: true } }, 2],
  [NO_KEY, 'its caller gives a key', [503], { method: 'POST', redrive: { idempotencyKey: 'mine' } }, 2],
  [NO_KEY, 'its caller set the header', [503], { method: 'POST', headers: { 'Idempotency-Key': 'mine' } }, 2],
  ...([400, 409, 422] as const).map((status): Row => [LISTED, 'listed', [status], { method: 'POST' }, 2]),
  [LISTED, 'listed', [409], { method: 'GET' }, 2],
  [{ policy: { retryableStatusCodes: [503] } }, 'not listed', [409], { method: 'POST' }, 1],
])('%j, %s: %j to a call with %j is sent %i time(s)', async (options, what, answers, init, hits) => {
  const { answer, server } = await called(answers, { options, init, forMs: 1_000 })
  expect([answer.value?.status, server.hits]).toEqual([hits === 2 ? 200 : answers[0], hits])
  if (what === 'sends no key') expect(new Set(keysOf(server))).toEqual(new Set([null]))
})

test.each([
  ['POST', 'key_conflict'],
  ['GET', 'not_retryable'],
])('a retry of a %s that is answered 422 is %s', async (method, reason) => {
  const { answer } = await called([503, 422], { init: { method }, forMs: 1_000 })
  expect(markOf(answer.value)).toMatchObject({ reason })
})

test.each<[what: string, address: string, own: unknown, keyed: boolean]>([
  ['of that site', API, API, true],
  ['of that site, in a host without the global', API, undefined, true],
  ['of that site, whose scripts have a variable of this name', API, 'https://cdn.test', true],
  ['of that site in a sandbox', API, 'null', false],
  ['without an address, in a page of that site', 'null', API, true],
  ['of another site', 'https://app.test', 'https://app.test', false],
])('a page %s: its origin decides whether a POST gets a key', async (_, address, own, keyed) => {
  stub({ location: { origin: address }, origin: own })
  const { queue, server } = await setup()
  await queue.fetch(ORDERS, { method: 'POST' })
  expect(server.requests[0]?.headers.has(HEADER)).toBe(keyed)
})
