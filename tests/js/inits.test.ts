/**
 * An init that is no plain object: a Request, as proxies write it, an instance of a class, one that inherits. fetch asks for
 * each part by its name, so these are whole inits to it, and a copy by `...` would have none of their parts.
 */
import { describe, expect, onTestFinished, test } from 'vitest'
import { installFetch, wrapFetch } from '../../js/adapters/fetch.ts'
import type { Fakes } from './setup.ts'
import { ORDERS, setup } from './setup.ts'

const incoming = (): Request =>
  new Request('https://proxy.test/', {
    method: 'PUT',
    headers: { 'x-own': 'a', 'content-type': 'text/tea' },
    body: 'tea',
  })

/** Parts that only their own class can read. */
class Init {
  #method = 'PUT'
  get method() {
    return this.#method
  }
  get headers() {
    return { 'x-own': 'a', 'content-type': 'text/tea' }
  }
  get body() {
    return 'tea'
  }
  get credentials() {
    return 'include' as const
  }
}

const plain = {
  method: 'PUT',
  headers: { 'x-own': 'a', 'content-type': 'text/tea' },
  body: 'tea',
  credentials: 'include',
} as const
const inits: [string, () => RequestInit][] = [
  ['of a class', () => new Init()],
  ['that inherits', () => Object.create(plain)],
  [
    'that inherits and has parts of its own',
    () => Object.assign(Object.create({ ...plain, method: 'POST' }), { method: 'PUT' }),
  ],
  ['that is frozen', () => Object.freeze({ ...plain })],
]

const ways: [string, (fakes: Fakes) => typeof fetch][] = [
  ['queue.fetch', ({ queue }) => queue.fetch.bind(queue) as typeof fetch],
  ['wrapFetch', ({ queue }) => wrapFetch(queue)],
  ['wrapFetch with a match', ({ queue }) => wrapFetch(queue, { match: ({ method }) => method === 'PUT' })],
  ['wrapFetch of others', ({ queue }) => wrapFetch(queue, { match: () => false })],
]

test.each(ways)('%s sends a Request in place of an init whole', async (name, wayOf) => {
  const fakes = await setup()
  const { server, clock } = fakes
  const statuses = name === 'wrapFetch of others' ? [200] : [503, 200]
  for (const status of statuses) server.reply(status)
  const answer = wayOf(fakes)(ORDERS, incoming())
  await clock.advance(1_000)
  expect((await answer).status).toBe(200)
  expect(server.requests).toHaveLength(statuses.length)
  for (const { url, method, headers, body } of server.requests) {
    expect([url, method, headers.get('x-own'), headers.get('content-type'), body]).toEqual([
      ...[ORDERS, 'PUT', 'a', 'text/tea', 'tea'],
    ])
  }
})

describe.each(inits)('an init %s', (_, initOf) => {
  test.each(ways)('is sent whole by %s, and repeated whole', async (name, wayOf) => {
    const statuses = name === 'wrapFetch of others' ? [200] : [503, 200]
    const sent: RequestInit[] = []
    const recording = async (_url: unknown, init: RequestInit = {}) => {
      sent.push(init)
      return new Response('', { status: statuses[sent.length - 1] ?? 500 })
    }
    const fakes = await setup({ fetch: recording as typeof fetch })
    const answer = wayOf(fakes)(ORDERS, initOf())
    await fakes.clock.advance(1_000)
    expect((await answer).status).toBe(200)
    expect(sent).toHaveLength(statuses.length)
    for (const init of sent) {
      const { method, headers, body, credentials } = init
      const own = new Headers(headers)
      expect([method, own.get('x-own'), own.get('content-type'), body, credentials]).toEqual([
        ...['PUT', 'a', 'text/tea', 'tea', 'include'],
      ])
    }
  })
})

test.each([...inits, ['that is a Request', incoming] as const])(
  'an init %s is a task as it is sent',
  async (_, initOf) => {
    const { queue, server, clock } = await setup({ idempotency: { origins: [new URL(ORDERS).origin] } })
    await queue.enqueue(ORDERS, initOf() as RequestInit)
    await clock.advance(1_000)
    expect(server.requests).toMatchObject([{ url: ORDERS, method: 'PUT', body: 'tea' }])
    expect(server.requests[0]?.headers.get('content-type')).toBe('text/tea')
  },
)

test('the options of a call beside its parts are heard', async () => {
  const { queue, server } = await setup({}, 503)
  const given = Object.assign(incoming(), { redrive: false as const })
  expect((await wrapFetch(queue)(ORDERS, given)).status).toBe(503)
  expect(server.requests).toMatchObject([{ method: 'PUT' }])
})

test('an installed fetch leaves none of a Request in place of an init out', async () => {
  const fakes = await setup()
  const original = globalThis.fetch
  globalThis.fetch = fakes.server.fetch
  const restore = installFetch(fakes.queue)
  onTestFinished(() => {
    restore()
    globalThis.fetch = original
  })
  await fetch(ORDERS, new Request('https://proxy.test/', { method: 'DELETE', headers: { 'x-own': 'a' } }))
  await fetch(ORDERS, incoming())
  const sent = fakes.server.requests.map(({ method, headers, body }) => [method, headers.get('x-own'), body])
  expect(sent).toEqual([
    ['DELETE', 'a', ''],
    ['PUT', 'a', 'tea'],
  ])
})

test('what stands beside redrive is not made a text: neither headers without a prototype nor the bytes of a body', async () => {
  const { queue, server } = await setup()
  const body = new Uint8Array([1, 2, 3])
  body.toString = () => {
    throw new RangeError('Invalid string length')
  }
  const headers = Object.assign(Object.create(null), { 'x-own': 'a' })
  await queue.fetch(ORDERS, { method: 'POST', headers, body })
  await queue.enqueue(ORDERS, { method: 'POST', headers, body })
  await queue.idle()
  expect(server.requests.map((request) => request.headers.get('x-own'))).toEqual(['a', 'a'])
})
