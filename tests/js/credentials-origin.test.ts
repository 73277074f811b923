/** A credential belongs to an origin: no other is sent it, and its resolver is not even asked on behalf of another. */

import { DatabaseSync } from 'node:sqlite'
import { afterEach, expect, test, vi } from 'vitest'
import type { Credentials, CredentialsRequest } from '../../js/index.ts'
import { RetryQueue } from '../../js/index.ts'
import { sqliteStore } from '../../js/stores/sqlite.ts'
import { type World, world } from './durable-setup.ts'
import { API, always, authOf, forApi, markOf, ORDERS, setup, stub, submitted, watch } from './setup.ts'
import { freshPath } from './sqlite/setup.ts'

const HOOK = 'https://hooks.customer.test/in'
const POST = { method: 'POST', body: '{}' } as const
const bearer = () => ({ authorization: 'Bearer of-the-api' })

afterEach(() => {
  vi.unstubAllGlobals()
})

test('S12 a task of another origin gets no credential, and no resolver is asked for one', async () => {
  const asked: string[] = []
  const { queue, server, clock, events } = await setup({
    credentials: forApi(({ origin }) => {
      asked.push(origin)
      return bearer()
    }),
  })
  always(server, 503, 2)
  await queue.enqueue(HOOK, POST)
  const answer = queue.fetch(`${HOOK}?second`)
  await queue.enqueue(ORDERS, POST)
  await clock.advance(30_000)
  await answer
  const sent = server.requests.map(({ url, headers }) => [new URL(url).origin, headers.get('authorization')])
  expect(sent.filter(([origin]) => origin !== API).every(([, value]) => value === null)).toBe(true)
  expect(sent.filter(([origin]) => origin === API).map(([, value]) => value)).toContain('Bearer of-the-api')
  expect(new Set(asked)).toEqual(new Set([API]))
  expect(events.of('degraded')).toEqual([])
})

test.each([
  ['with another port', 'https://api.test:8443/orders', null],
  ['with another scheme', 'http://api.test/orders', null],
  ['of a subdomain', 'https://evil.api.test/orders', null],
  ['with a longer name', 'https://api.test.evil.test/orders', null],
  ['with the origin in the query', 'https://evil.test/?https://api.test', null],
  ['with the origin in the path', 'https://evil.test/https://api.test/orders', null],
  ['in capitals', 'HTTPS://API.TEST/orders', 'Bearer of-the-api'],
  ['with the port that the scheme has anyway', 'https://api.test:443/orders', 'Bearer of-the-api'],
  ['with dots in the path', 'https://api.test/a/../orders', 'Bearer of-the-api'],
])('S12 a URL %s gets the credential only if its origin is the same', async (_, url, sent) => {
  const { server } = await submitted([], { options: { credentials: forApi(bearer) }, url: url, init: POST })
  expect(authOf(server)).toEqual([sent])
})

test('each origin asks its own', async () => {
  const credentials: Credentials = {
    [API]: () => ({ authorization: 'Bearer one' }),
    'https://hooks.customer.test': async () => [['x-signature', 'two']],
  }
  const { queue, server, clock } = await setup({ credentials })
  await queue.enqueue(ORDERS, POST)
  await queue.enqueue(HOOK, POST)
  await clock.settle()
  const sent = server.requests.map(({ headers }) => [headers.get('authorization'), headers.get('x-signature')])
  expect(sent).toEqual([
    ['Bearer one', null],
    [null, 'two'],
  ])
})

test('what a resolver is told is what its answer may depend on, and no secret of the URL', async () => {
  const heard: CredentialsRequest[] = []
  const { queue, clock } = await setup({
    principal: 'ann',
    durable: false,
    credentials: forApi((request) => {
      heard.push(request)
      return {}
    }),
  })
  const headers = { authorization: 'Bearer hush' }
  await queue.enqueue(`${ORDERS}?access_token=hush&page=2`, { ...POST, headers })
  await clock.settle()
  const { signal, ...rest } = heard[0] as CredentialsRequest
  expect(rest).toEqual({
    origin: API,
    principal: 'ann',
    withheldHeaders: ['authorization'],
    unauthorized: false,
  })
  expect(signal).toBeInstanceOf(AbortSignal)
})

/** Keys that are no origin: origins.test.ts. */
const refused: readonly (readonly [what: string, credentials: unknown, says: RegExp])[] = [
  ['a bare function', bearer, /'https:\/\/api\.example\.com': \(request\) =>/],
  ['a text', 'Bearer x', /'https:\/\/api\.example\.com': \(request\) =>/],
  ['null', null, /expected/],
  ['an array', [bearer], /expected/],
  ['a user', { 'https://hush@api.test': bearer }, /'…@api\.test'/],
  ['a query with a secret', { 'https://api.test/?token=hush': bearer }, /'https:\/\/api\.test' was meant/],
  ['a name of every object', { constructor: bearer }, /origin/],
  ['the prototype', JSON.parse('{"__proto__": 1}'), /origin/],
  ['self where there is no page', { self: bearer }, /page/],
  ['no function', { [API]: { authorization: 'Bearer x' } }, /expected a function/],
  ['the credential itself', 'Bearer hush', /\(request\) => headers.*got a string/],
  ['the credential itself as an entry', { [API]: 'Bearer hush' }, /expected a function, got a string/],
  ['a Map', new Map([[API, bearer]]), /expected {.*got an object/],
]

test.each(refused)(
  'S12 options.credentials: %s is refused, and the text shows what to write',
  (_, credentials, says) => {
    let thrown: unknown
    try {
      new RetryQueue({ credentials: credentials as never })
    } catch (error) {
      thrown = error
    }
    expect(`${(thrown as Error | undefined)?.name}`).toMatch(/^(Type|Range)Error$/)
    const { message } = thrown as Error
    expect(message).toMatch(/^options\.credentials/)
    expect(message).toMatch(says)
    expect(message).not.toContain('hush')
  },
)

test('S12 a resolver is not found through a prototype, nor put in afterwards', async () => {
  const credentials: Record<string, () => HeadersInit> = Object.create({ [API]: bearer })
  const { queue, server, clock } = await setup({ credentials })
  credentials[API] = bearer
  await queue.enqueue(ORDERS, POST)
  await clock.settle()
  expect(authOf(server)).toEqual([null])
})

test('self is the origin of the page, and of nothing else', async () => {
  vi.stubGlobal('location', new URL('https://shop.test/cart'))
  const { queue, server, clock } = await setup({ durable: false, credentials: { self: bearer } })
  await queue.enqueue('/api/orders')
  await queue.enqueue(ORDERS)
  await clock.settle()
  // in whichever order
  expect(new Map(server.requests.map(({ url, headers }) => [url, headers.get('authorization')]))).toEqual(
    new Map([
      [ORDERS, null],
      ['https://shop.test/api/orders', 'Bearer of-the-api'],
    ]),
  )
})

test.each([
  ['without an address', { location: { href: 'about:srcdoc', origin: 'null' } }],
  ['in a sandbox', { location: new URL(ORDERS), origin: 'null' }],
])('S12 self of a page without an origin of its own is refused: %s', (_, globals) => {
  stub(globals)
  expect(() => new RetryQueue({ credentials: { self: bearer } })).toThrow(/options\.credentials.*null/)
})

test('a 401 to a retry of an origin without an entry is final', async () => {
  const { queue, server, clock } = await setup({ credentials: forApi(bearer) }, 503, 401)
  const answer = watch(queue.fetch(HOOK, { method: 'PUT' }))
  await clock.advance(2_000)
  expect(answer.value?.status).toBe(401)
  expect(markOf(answer.value)).toMatchObject({ reason: 'not_retryable' })
  expect(server.hits).toBe(2)
})

test('S12 a stored task whose origin has no entry is parked, and degraded names its origin once', async () => {
  const { open, close, hitsAfter } = world()
  const first = await open()
  first.queue.pause()
  const headers = { authorization: 'Bearer of-the-hook' }
  const { taskId } = await first.queue.enqueue(HOOK, { ...POST, headers })
  await first.queue.enqueue(HOOK, { ...POST, headers })
  await close(first)
  const { queue, events } = await open({ credentials: forApi(bearer) })
  expect(await hitsAfter(60_000)).toBe(0)
  expect(await queue.get(taskId)).toMatchObject({ status: 'PENDING', nextAttemptAt: null })
  expect(events.of('degraded')).toMatchObject([
    { code: 'credentials_missing', message: expect.stringContaining('https://hooks.customer.test') },
  ])
  queue.resume()
  expect(await hitsAfter(60_000)).toBe(0)
})

test('S12 a row whose target was changed takes no credential along, wherever the change was made', async () => {
  for (const change of [
    "UPDATE tasks SET record = json_set(record, '$.targetUrl', 'https://evil.test/orders')",
    `UPDATE tasks SET record = json_set(record, '$.targetUrl', 'https://evil.test/orders', '$.lane', 'https://evil.test ann')`,
    `UPDATE tasks SET record = json_set(record, '$.origin', 'https://evil.test', '$.url', 'https://evil.test')`,
  ]) {
    const path = freshPath()
    const made: World = world(() => sqliteStore({ path, clock: made.clock }))
    const { open, close, server, clock } = made
    const first = await open({ principal: 'ann' })
    first.queue.pause()
    await first.queue.enqueue(ORDERS, { ...POST, headers: { authorization: 'Bearer of-the-caller' } })
    await close(first)
    const db = new DatabaseSync(path)
    db.exec(change)
    db.close()
    await open({ credentials: forApi(bearer), principal: 'ann' })
    await clock.advance(60_000)
    const elsewhere = server.requests.filter(({ url }) => !url.startsWith(`${API}/`))
    expect(
      authOf({ requests: elsewhere }).filter((value) => value !== null),
      change,
    ).toEqual([])
  }
})
