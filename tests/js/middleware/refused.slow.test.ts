// Requests that are not kept: the error goes on to the client, and the owner of the queue hears why.

import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { inboundErrors as forExpress } from '../../../js/adapters/express.ts'
import { inboundErrors as forFastify } from '../../../js/adapters/fastify.ts'
import { inboundErrors as forHono } from '../../../js/adapters/hono.ts'
import type { InboundOptions } from '../../../js/adapters/inbound/options.ts'
import { type Durability, RetryQueue, type TaskStore } from '../../../js/index.ts'
import { memoryStore } from '../../../js/stores/memory.ts'
import { sqliteStore } from '../../../js/stores/sqlite.ts'
import { freshFolder } from '../../folder.ts'
import { raw, statusIn } from './raw.ts'
import { expressApp, type Handler, type Skin, serve, skins } from './servers.ts'
import { bytesIn, failing, LATER, queueIn, refused, service } from './setup.ts'

const json = { 'content-type': 'application/json' }
const ORIGIN = 'https://orders.internal'

const makers: readonly (readonly [string, (queue: RetryQueue, options: InboundOptions) => unknown])[] = [
  ['express', forExpress],
  [
    'fastify',
    (queue, options) =>
      // as Fastify calls a plugin
      forFastify({ addHook() {}, setErrorHandler() {} } as never, { queue, ...options } as never, () => {}),
  ],
  ['hono', forHono],
]

for (const [name, make] of makers) {
  const wrong: readonly (readonly [string, object, RegExp])[] = [
    [
      'no origin',
      { origin: undefined },
      /^inboundErrors: expected an origin; the URL of a request that came in does not say where it can be sent again; give the origin under which this service reaches itself$/,
    ],
    [
      'a path',
      { origin: '/orders' },
      /^inboundErrors\.origin: expected an exact origin .*, got '\/orders'; the URL of a request that came in does not say/,
    ],
    [
      'a URL with a path',
      { origin: `${ORIGIN}/api` },
      /'https:\/\/orders\.internal' was meant; the URL of a request that came in does not say/,
    ],
    ['no text', { origin: 7 }, /^inboundErrors\.origin: expected an exact origin .*, got 7; the URL/],
    [
      'a policy that there is not',
      { policyId: 'billing' },
      /^inboundErrors\.policyId: expected the name of a policy of the queue, got 'billing'/,
    ],
    [
      'a short secret',
      { secret: 'short' },
      /^inboundErrors\.secret: expected a secret of 16 characters or bytes or more, got a string$/,
    ],
    ['a name that is wrong', { orign: ORIGIN }, /^inboundErrors\.orign: no such option/],
    ['no bytes', { maxBodyBytes: 0 }, /maxBodyBytes/],
  ]
  test.each(wrong)(`${name}: %s is refused when the middleware is made`, (_, wrong, words) => {
    const { queue } = queueIn(freshFolder())
    expect(() => make(queue, { origin: ORIGIN, ...wrong } as InboundOptions)).toThrow(words)
  })

  test(`${name}: a queue in memory, and what is none, are refused when the middleware is made`, async () => {
    await using queue = new RetryQueue()
    await using stored = new RetryQueue({ store: memoryStore() })
    for (const each of [queue, stored]) {
      expect(() => make(each, { origin: ORIGIN })).toThrow(
        /^inboundErrors: expected a queue that is durable: its 202 is a promise/,
      )
    }
    expect(() => make({} as RetryQueue, { origin: ORIGIN })).toThrow(/^inboundErrors: expected a RetryQueue/)
  })
}

for (const skin of skins) {
  const { name } = skin

  test(`${name}: a header on no list keeps a request out, and is named`, async () => {
    const { origin, queue, degraded } = await service(skin, { handler: failing(2) })
    const answer = await fetch(`${origin}/orders`, { headers: { 'x-tenant': 'acme' } })
    expect(answer.status).toBe(500)
    expect((await queue.list()).tasks).toEqual([])
    expect(degraded).toMatchObject([
      { code: 'headers_withheld', message: expect.stringContaining('x-tenant is on no list') },
    ])
    // names that clients make up are no reason for ever more reports
    await fetch(`${origin}/orders`, { headers: { 'x-branch': 'acme' } })
    expect(degraded).toHaveLength(1)
  })

  test(`${name}: what the queue is to store is kept, and what the service does without is not`, async () => {
    const { origin, queue, seen } = await service(skin, {
      handler: failing(1),
      options: { sanitize: { persistHeaders: ['x-tenant', 'user-agent'] } },
      inbound: { dropHeaders: ['X-Beta', 'Cookie'] },
    })
    const headers = {
      'x-tenant': 'acme',
      'x-beta': 'yes',
      cookie: 'sid=1',
      'user-agent': 'till',
      'x-real-ip': '192.0.2.1',
    }
    const answer = await fetch(`${origin}/orders`, { headers })
    const { task } = await queue.result(answer.headers.get('redrive-task-id') ?? '')
    expect(task.status).toBe('SUCCEEDED')
    const names = ['x-tenant', 'user-agent', 'x-beta', 'cookie', 'x-real-ip']
    expect(names.map((each) => seen[1]?.headers.get(each))).toEqual(['acme', 'till', null, null, null])
  })

  test(`${name}: a body over maxBodyBytes is not kept`, async () => {
    const { origin, queue, degraded } = await service(skin, { handler: failing(4), inbound: { maxBodyBytes: 10 } })
    const put = (body: BodyInit) =>
      fetch(`${origin}/orders`, { method: 'PUT', headers: json, body, duplex: 'half' } as RequestInit)
    expect((await put('{"a":12345}')).status).toBe(500)
    // no length is said before
    expect((await put(new Blob(['{"a":', '12345}']).stream())).status).toBe(500)
    expect((await queue.list()).tasks).toEqual([])
    expect(degraded).toMatchObject([{ code: 'body_too_large' }])
    expect((await put('{"a":1234}')).status).toBe(202)
  })

  test(`${name}: an upload that breaks off half-way leaves nothing`, async () => {
    const { origin, queue, seen } = await service(skin, { handler: failing(0) })
    const head = 'PUT /orders HTTP/1.1\nhost: x\ncontent-type: application/json\ncontent-length: 100\n\n{"half":'
    const { socket, answer } = await raw(origin, head)
    socket.end()
    await answer
    // the service goes on
    expect((await fetch(`${origin}/orders`)).status).toBe(200)
    expect((await queue.list()).tasks).toEqual([])
    expect(seen).toHaveLength(1)
  })

  test(`${name}: a client that has left by the time of the failure is promised nothing`, async () => {
    let fail = (_: unknown): void => {}
    const failure = new Promise((_, reject) => {
      fail = reject
    })
    const entered = vi.fn()
    const { origin, queue, seen } = await service(skin, {
      handler: ({ target }) => {
        entered()
        return target === '/slow' ? failure : {}
      },
    })
    const { socket, answer } = await raw(origin, 'GET /slow HTTP/1.1\nhost: x\n\n')
    await expect.poll(() => entered.mock.calls.length, { timeout: 20_000 }).toBe(1)
    socket.destroy()
    await answer
    // a request that came later was answered: the server has noticed
    expect((await fetch(`${origin}/orders`)).status).toBe(200)
    fail(refused())
    expect((await fetch(`${origin}/orders`)).status).toBe(200)
    expect((await queue.list()).tasks).toEqual([])
    expect(seen).toHaveLength(3)
  })

  test(`${name}: while the circuit is open nothing is kept, and Retry-After says how long`, async () => {
    const breaker = { fairShare: 1, afterMs: 0, openMs: 60_000, maxOpenMs: 60_000 }
    const { origin, queue } = await service(skin, { handler: failing(1_000), options: { breaker } })
    expect((await fetch(`${origin}/orders`)).status).toBe(202)
    await expect.poll(() => queue.stats().origins[origin]?.circuit, { timeout: 20_000 }).toBe('OPEN')
    const answer = await fetch(`${origin}/orders`)
    expect(answer.status).toBe(503)
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(20)
    expect(Number(answer.headers.get('retry-after'))).toBeLessThanOrEqual(60)
    expect(await answer.json()).toMatchObject({ status: 503, code: 'CIRCUIT_OPEN' })
    expect((await queue.list()).tasks).toHaveLength(1)
  })

  test(`${name}: a full queue keeps nothing, and the client hears of its failure`, async () => {
    const { origin, degraded } = await service(skin, { handler: failing(1_000), options: { capacity: 1, ...LATER } })
    expect((await fetch(`${origin}/a`)).status).toBe(202)
    expect((await fetch(`${origin}/b`)).status).toBe(500)
    expect(degraded.map(({ code }) => code)).toEqual(['storage_full'])
  })

  test(`${name}: another request under the key of a task is a conflict, and not kept`, async () => {
    const { origin, queue, degraded } = await service(skin, { handler: failing(1_000), options: LATER })
    const post = (body: string) =>
      fetch(`${origin}/orders`, { method: 'POST', headers: { ...json, 'idempotency-key': 'k' }, body })
    const [first, same, other] = [await post('{"a":1}'), await post('{"a":1}'), await post('{"a":2}')]
    expect([first.status, same.status, other.status]).toEqual([202, 202, 500])
    expect(same.headers.get('redrive-task-id')).toBe(first.headers.get('redrive-task-id'))
    expect((await queue.list()).tasks).toHaveLength(1)
    expect(degraded).toMatchObject([{ code: 'not_durable', message: expect.stringContaining('was not kept: ') }])
  })

  test(`${name}: neither Host nor the target names where a repeat goes`, async () => {
    const handler: Handler = ({ headers }) => {
      if (!headers.has('redrive-replay')) throw refused()
    }
    const { origin, queue, seen } = await service(skin, { handler })
    const spoofed = 'host: evil.test\nx-forwarded-host: evil.test\nx-forwarded-proto: https\nforwarded: host=evil.test'
    const get = async (target: string) => {
      const { answer } = await raw(origin, `GET ${target} HTTP/1.1\n${spoofed}\nconnection: close\n\n`)
      return answer
    }
    expect(statusIn(await get('/orders'))).toBe(202)
    expect(statusIn(await get('//evil.test/orders'))).toBe(202)
    // as a proxy is asked; no framework makes a path of it but Hono
    await get('http://evil.test/absolute')
    await queue.idle()
    const { tasks } = await queue.list()
    const targets = tasks.map(({ targetUrl }) => targetUrl)
    expect(targets.slice(0, 2)).toEqual([`${origin}/orders`, `${origin}//evil.test/orders`])
    expect(targets.slice(2)).toEqual(name === 'hono' ? [`${origin}/absolute`] : [])
    const repeats = seen.filter(({ headers }) => headers.has('redrive-replay'))
    expect(repeats.length).toBeGreaterThanOrEqual(2)
    for (const { headers } of repeats) {
      expect(headers.get('host')).toBe(new URL(origin).host)
      for (const each of ['x-forwarded-host', 'x-forwarded-proto', 'forwarded']) expect(headers.get(each)).toBeNull()
    }
  })

  test.each([
    '/public/%2e%2e/admin',
    '/public/../admin',
    '/public/.%2E/admin?a=1',
    '/public\\..\\admin',
    '/public/.',
    '/public#/admin',
  ])(`${name}: %s, which fetch would make another path of, is sent again to no other`, async (target) => {
    const handler: Handler = ({ headers }) => {
      if (!headers.has('redrive-replay')) throw refused()
    }
    const { origin, queue, seen, degraded } = await service(skin, { handler })
    const { answer } = await raw(origin, `GET ${target} HTTP/1.1\nhost: x\nconnection: close\n\n`)
    await answer
    await queue.idle()
    const { tasks } = await queue.list()
    // what Hono has routed by is made by fetch's rules, and so is the repeat
    const [asked] = seen.map((each) => each.target)
    expect(new Set(seen.map((each) => each.target)).size).toBeLessThanOrEqual(1)
    expect(tasks.map(({ targetUrl }) => targetUrl)).toEqual(name === 'hono' && asked ? [origin + asked] : [])
    expect(degraded.map(({ code }) => code)).toEqual(name === 'hono' ? [] : ['not_replayable'])
  })
}

const [one] = skins as [Skin]

test.each(["/a'b?q='c'|{d}", '/%E4?q=%C3%A4', '/a%2Fb%2e%2e/..c/d..?', '/a//b;c=1?a=../b', '/?'])(
  'what fetch only escapes is kept: %s',
  async (target) => {
    const { origin, queue, seen } = await service(one, { handler: failing(1) })
    const { answer } = await raw(origin, `GET ${target} HTTP/1.1\nhost: x\nconnection: close\n\n`)
    expect(statusIn(await answer)).toBe(202)
    await queue.idle()
    const [asked, repeated] = seen.map((each) => each.target)
    expect([asked, unescape(repeated ?? '').replace(/\?$/, '')]).toEqual([target, unescape(target).replace(/\?$/, '')])
  },
)

test('S12 a secret in the URL keeps a request out', async () => {
  const { origin, queue, degraded, at } = await service(one, { handler: failing(1) })
  expect((await fetch(`${origin}/orders?access_token=hush`)).status).toBe(500)
  expect((await queue.list()).tasks).toEqual([])
  expect(degraded.map(({ code }) => code)).toContain('url_secret')
  expect(JSON.stringify(degraded) + bytesIn(at)).not.toContain('hush')
})

test('a store that turns out to keep tasks in memory is promised nothing for', async () => {
  const store = sqliteStore({ path: join(freshFolder(), 'tasks.db') })
  let durability: Durability = 'strict'
  const told: TaskStore = Object.defineProperty({ ...store }, 'durability', { get: () => durability })
  await using queue = new RetryQueue({ store: told, policy: { initialDelayMs: 60_000 } })
  await using server = await serve()
  server.listen(expressApp({ queue, inbound: { origin: server.origin }, handler: failing(1) }))
  durability = 'memory'
  expect((await fetch(`${server.origin}/orders`)).status).toBe(500)
  expect((await queue.list()).tasks).toMatchObject([{ status: 'CANCELLED' }])
})

/** Headers of clients that no one has checked. */
const STRANGERS = [
  {},
  { authorization: 'Bearer made-up' },
  { cookie: 'sid=made-up' },
  { authorization: 'Bearer made-up', cookie: 'sid=made-up' },
] as const

for (const skin of skins) {
  const { name } = skin
  const own = (origin: string) => ({
    credentials: { [origin]: () => ({ authorization: 'Bearer service', cookie: '' }) },
  })
  const ask = (origin: string, headers: HeadersInit) => fetch(`${origin}/orders/7`, { method: 'PUT', headers })

  test(`S12 ${name}: what no one has checked is never done with the service's own credentials`, async () => {
    const said: readonly InboundOptions['authenticated'][] = [
      undefined,
      () => false,
      // a promise, or a user, is no word that the client was checked
      (async () => false) as never,
      (() => ({ name: 'anonymous' })) as never,
      () => {
        throw new Error('the database of sessions is away')
      },
    ]
    for (const authenticated of said) {
      const inbound = { dropHeaders: ['cookie'], ...(authenticated && { authenticated }) }
      for (const more of [own, () => ({ sign: () => ({ 'x-signature': 'service' }) })]) {
        const { origin, queue, degraded, seen } = await service(skin, { handler: failing(100), more, inbound })
        for (const headers of STRANGERS) expect((await ask(origin, headers)).status).toBe(500)
        expect((await queue.list()).tasks).toEqual([])
        expect(seen).toHaveLength(STRANGERS.length)
        const [{ code, message } = {}] = degraded.filter(({ code }) => code !== 'hook_threw')
        expect([code, message]).toEqual(['not_replayable', expect.stringContaining('authenticated')])
      }
    }
  })

  test(`${name}: without credentials of its own the service keeps what carries none, and nothing that does`, async () => {
    const { origin, queue, seen } = await service(skin, { handler: failing(100), options: LATER })
    const statuses: number[] = []
    for (const headers of STRANGERS) statuses.push((await ask(origin, headers)).status)
    expect(statuses).toEqual([202, 500, 500, 500])
    expect((await queue.list()).tasks).toHaveLength(1)
    expect(seen).toHaveLength(4)
  })

  test(`${name}: authenticated has the framework's own request, as the middleware before has left it`, async () => {
    const given: unknown[] = []
    const authenticated = (request: unknown) => given.push(request) > 0
    const { origin } = await service(skin, { handler: failing(1), inbound: { authenticated }, options: LATER })
    expect((await ask(origin, { authorization: 'Bearer of-a-user' })).status).toBe(202)
    const keys = { express: 'originalUrl', fastify: 'routeOptions', hono: 'req' }[name] ?? ''
    expect(given).toHaveLength(1)
    expect(keys in (given[0] as object)).toBe(true)
  })
}
