/** undici's `request` through a queue, with a real server. */

import { Readable } from 'node:stream'
import { Agent, type Dispatcher, FormData, interceptors, request } from 'undici'
import { expect, onTestFinished, test } from 'vitest'
import { retryInterceptor } from '../../../js/adapters/undici.ts'
import { agentOf, between, queueWith, replyWith, serve } from './setup.ts'

const KEY = /^[\da-f-]{36}$/
const POST = { method: 'POST', headers: { 'content-type': 'text/plain' }, body: 'an order' } as const

test('S5 S22 a request that fails three times is made four times under one key, and its caller has the answer', async () => {
  const server = await serve(503, 429, 'lost')
  const { statusCode, body } = await request(`${server.origin}/orders?a=1`, {
    ...POST,
    dispatcher: agentOf(queueWith()),
  })
  expect([statusCode, await body.text()]).toEqual([200, 'answer 4'])
  expect(server.seen.map(({ method, path, body: sent }) => [method, path, sent])).toEqual(
    Array(4).fill(['POST', '/orders?a=1', 'an order']),
  )
  expect(server.seen[0]?.key).toMatch(KEY)
  expect(new Set(server.seen.map(({ key }) => key)).size).toBe(1)
})

test('what an interceptor further in tells the handler arrives, as by undici’s own retry', async () => {
  const { redirect, retry } = interceptors
  for (const between of [retry({ minTimeout: 1 }), retryInterceptor(queueWith())]) {
    const server = await serve(503, replyWith(302, { location: '/there' }))
    const dispatcher = new Agent().compose(redirect({ maxRedirections: 1 }), between)
    onTestFinished(() => dispatcher.close())
    const { statusCode, body, context } = await request(`${server.origin}/here`, { dispatcher })
    await body.dump()
    const { history } = context as { readonly history: readonly URL[] }
    expect([statusCode, history.map(({ pathname }) => pathname)]).toEqual([200, ['/here', '/there']])
  }
})

test('a request that succeeds makes no task and no event', async () => {
  const { server, queue, dispatcher } = await between([])
  const { body } = await request(server.origin, { dispatcher })
  expect(await body.text()).toBe('answer 1')
  expect(queue.stats()).toMatchObject({ attempts: 1, firstAttemptSucceeded: 1 })
  expect((await queue.list()).tasks).toEqual([])
})

test('the last answer is the caller’s, whole, when the policy has no attempt left', async () => {
  const server = await serve(...Array(3).fill(replyWith(503, { 'x-why': 'down' }, 'still down')))
  const queue = queueWith({ policy: { maxAttempts: 3 } })
  const { statusCode, headers, body } = await request(server.origin, { dispatcher: agentOf(queue) })
  expect([statusCode, headers['x-why'], await body.text()]).toEqual([503, 'down', 'still down'])
  expect(server.seen).toHaveLength(3)
})

test('the last error is the caller’s, with the reason on it', async () => {
  const { server, dispatcher } = await between(['lost', 'lost'], { policy: { maxAttempts: 2 } })
  const error = await request(server.origin, { dispatcher }).catch((reason: unknown) => reason)
  expect(error).toMatchObject({ code: 'UND_ERR_SOCKET', redrive: { reason: 'max_attempts' } })
  expect(server.seen).toHaveLength(2)
})

test.each(['/a/%2e%2e/b', '/a/../b', '/a\\b', '/a%2Fb?q="c"'])(
  'a path goes out each time as it was given, also one that a URL would change: %s',
  async (path) => {
    const { origin, seen } = await serve(503)
    const { statusCode, body } = await agentOf(queueWith()).request({ origin, path, method: 'GET' })
    await body.dump()
    expect([statusCode, seen.map((each) => each.path)]).toEqual([200, [path, path]])
  },
)

test('S12 headers that undici does not take fail with its own error, which quotes no value', async () => {
  const server = await serve()
  const agent = new Agent()
  onTestFinished(() => agent.destroy())
  for (const headers of [{ 'a b': '1' }, { authorization: 'secret\nx' }]) {
    const end = (dispatcher: Dispatcher) => request(server.origin, { dispatcher, headers }).catch(String)
    expect(await end(agentOf(queueWith()))).toBe(await end(agent))
  }
  expect(server.seen).toEqual([])
})

test('what undici does not take is told in its own words, and sent by none', async () => {
  const { server, queue, dispatcher } = await between([])
  await expect(request(server.origin, { dispatcher, headers: ['odd'] })).rejects.toMatchObject({
    code: 'UND_ERR_INVALID_ARG',
  })
  await expect(request(server.origin, { dispatcher, bodyTimeout: -1 })).rejects.toMatchObject({
    code: 'UND_ERR_INVALID_ARG',
    message: 'invalid bodyTimeout',
  })
  expect(server.seen).toEqual([])
  expect((await queue.list()).tasks).toEqual([])
})

test.each<[what: string, body: unknown]>([
  ['a string', 'é and more'],
  ['a Buffer', Buffer.from('é and more')],
  ['a Uint8Array', new TextEncoder().encode('é and more')],
  ['a DataView', new DataView(new TextEncoder().encode('é and more').buffer)],
  ['an ArrayBuffer', new TextEncoder().encode('é and more').buffer],
  ['a Blob', new Blob(['é and more'])],
])('%s is sent again as it was', async (_, body) => {
  const server = await serve(503, 'lost')
  await request(server.origin, { ...POST, body: body as string, dispatcher: agentOf(queueWith()) })
  expect(server.seen.map((each) => Buffer.from(each.body, 'latin1').toString())).toEqual(Array(3).fill('é and more'))
})

test('a buffer that its owner fills anew is sent as it was', async () => {
  const bytes = Buffer.from('first')
  const server = await serve((response) => {
    bytes.write('other')
    response.writeHead(503).end()
  })
  await request(server.origin, { ...POST, body: bytes, dispatcher: agentOf(queueWith()) })
  expect(server.seen.map(({ body }) => body)).toEqual(['first', 'first'])
})

test.each<[what: string, body: () => unknown]>([
  ['a stream', () => Readable.from(['an order'])],
  [
    'an iterable without a length',
    async function* () {
      yield 'an order'
    },
  ],
  [
    'undici’s FormData',
    () => {
      const form = new FormData()
      form.set('order', 'an order')
      return form
    },
  ],
])('%s passes through, and is sent once', async (_, body) => {
  const { server, queue, dispatcher } = await between([503])
  const { statusCode } = await request(server.origin, {
    method: 'PUT',
    body: body() as string,
    dispatcher,
  })
  expect(statusCode).toBe(503)
  expect(server.seen.map(({ key, body: sent }) => [key, sent.includes('an order')])).toEqual([[undefined, true]])
  expect(queue.stats()).toMatchObject({ attempts: 0 })
})

test('an iterable whose length is said is read first, and sent again; one that is longer is refused by undici', async () => {
  const { server, dispatcher } = await between([503])
  const parts = async function* () {
    yield 'an '
    yield Buffer.from('order')
  }
  const send = (length: number) =>
    request(server.origin, {
      method: 'POST',
      headers: { 'content-length': `${length}` },
      body: parts() as never,
      dispatcher,
    })
  expect((await send(8)).statusCode).toBe(200)
  expect(server.seen.map(({ body }) => body)).toEqual(['an order', 'an order'])
  await expect(send(2)).rejects.toMatchObject({ code: 'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH' })
  expect(server.seen).toHaveLength(2)
})

test('a body above maxBodyBytes is sent once, and that is told', async () => {
  const { server, queue, dispatcher } = await between([503], { maxBodyBytes: 3 })
  const told = new Promise((resolve) => queue.on('degraded', resolve))
  const { statusCode } = await request(server.origin, { ...POST, dispatcher })
  expect(statusCode).toBe(503)
  expect(await told).toMatchObject({ code: 'body_too_large' })
})

test('headers are sent as they were given, in each of their forms', async () => {
  const { server, dispatcher } = await between([503, 200, 503, 200, 503, 200])
  const forms = [
    ['X-One', '1', 'x-two', 'a', 'x-two', 'b'],
    { 'X-One': '1', 'x-two': ['a', 'b'], 'x-none': undefined },
    new Map<string, string | string[]>([
      ['X-One', '1'],
      ['x-two', ['a', 'b']],
    ]),
  ]
  for (const headers of forms) await request(server.origin, { dispatcher, headers })
  for (const { headers } of server.seen) expect(headers).toMatchObject({ 'x-one': '1', 'x-two': 'a, b' })
  expect(server.seen).toHaveLength(6)
})

test('the query that undici is given is sent, and tells two requests of one key apart', async () => {
  const { server, dispatcher } = await between([503, 503], { policy: { initialDelayMs: 20, maxDelayMs: 20 } })
  const headers = { 'idempotency-key': 'k' }
  const both = [1, 2].map((id) =>
    request(server.origin, { ...POST, headers, query: { id, tag: ['a', 'b'] }, dispatcher }),
  )
  const ends = await Promise.allSettled(both)
  expect(ends.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  expect(ends.find((end) => end.status === 'rejected')?.reason).toMatchObject({ code: 'IDEMPOTENCY_CONFLICT' })
  expect(server.seen.map(({ path }) => path)).toContain('/?id=1&tag=a&tag=b')
})

test('match takes requests out, and so does undici’s own idempotent: false', async () => {
  const { server, queue, dispatcher } = await between([503, 503], {}, { match: ({ path }) => path !== '/plain' })
  const statuses = [
    await request(`${server.origin}/plain`, { dispatcher }),
    await request(`${server.origin}/orders`, { dispatcher, idempotent: false }),
  ].map(({ statusCode }) => statusCode)
  expect([statuses, queue.stats().attempts]).toEqual([[503, 503], 0])
})

test('a POST without a key is tried again where its caller vouches for it', async () => {
  const { server, dispatcher } = await between([503, 503], { idempotency: false, warn: false })
  expect((await request(server.origin, { ...POST, dispatcher })).statusCode).toBe(503)
  expect((await request(server.origin, { ...POST, idempotent: true, dispatcher })).statusCode).toBe(200)
})

test('the options of an interceptor are those of its calls', async () => {
  const server = await serve(500, 503)
  const retries: unknown[] = []
  const dispatcher = agentOf(queueWith(), {
    policy: { retryableStatusCodes: [500], maxAttempts: 2 },
    onRetry: ({ delayMs }) => retries.push(delayMs),
  })
  expect((await request(server.origin, { dispatcher })).statusCode).toBe(503)
  expect(retries).toEqual([1])
})

test.each<[options: object, message: string]>([
  [{ mode: 'defer' }, 'retryInterceptor.mode: no such option'],
  [{ orderKey: 'a' }, 'retryInterceptor.orderKey: no such option'],
  [{ waitMs: -1 }, 'retryInterceptor.waitMs: expected a whole number'],
  [{ match: true }, 'retryInterceptor.match: expected a function, got true'],
  [{ policyId: 'slow' }, "redrive.policyId: expected 'default', got 'slow'"],
  [{ policy: { maxAttemps: 2 } }, "did you mean 'maxAttempts'?"],
])('a wrong option is refused: %o', (options, message) => {
  expect(() => agentOf(queueWith(), options)).toThrow(message)
})
