/** Real HTTP on loopback: what fetch does with a redirect cannot be faked. */

import type { IncomingMessage } from 'node:http'
import { beforeEach, expect, test } from 'vitest'
import { duringTests } from '../during.ts'
import { serving } from '../loopback.ts'
import { login, markOf, setup } from './setup.ts'

interface Hit {
  readonly method: string | undefined
  readonly path: string | undefined
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

/** `/go/<status>?to=<url>` redirects, with `fail` only from its second hit on; `/circle` to itself; the rest is 200. */
async function makeOrigin() {
  const hits: Hit[] = []
  const server = await serving(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    hits.push({ method: request.method, path: request.url, headers: request.headers, body })
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://x')
    const [, kind, status] = pathname.split('/')
    if (searchParams.has('fail') && hits.length === 1) response.writeHead(503).end('busy')
    else if (kind === 'circle') response.writeHead(302, { location: '/circle' }).end()
    else if (kind === 'go') response.writeHead(Number(status), { location: searchParams.get('to') ?? '' }).end('moved')
    else response.writeHead(200, { 'content-type': 'text/plain' }).end('arrived')
  })
  return { ...server, hits }
}

const home = duringTests(makeOrigin)
const away = duringTests(makeOrigin)

beforeEach(() => {
  home.hits.length = 0
  away.hits.length = 0
})

/** A call whose replay is redirected: its first attempt is answered 503. */
async function replay(path: string, init: RequestInit = {}, options: Parameters<typeof setup>[0] = {}) {
  const { queue, clock, events } = await setup({ ...options, fetch: globalThis.fetch })
  const queued = new Promise<void>((resolve) => queue.on('queued', () => resolve()))
  const answer = queue.fetch(`${home.url}${path}`, init)
  await queued
  await clock.advance(1_000)
  return { response: await answer, events }
}

test('a first attempt follows redirects as fetch does, to another origin too', async () => {
  const { queue } = await setup({ fetch: globalThis.fetch })
  const response = await queue.fetch(`${home.url}/go/302?to=${away.url}/there`)
  expect(await response.text()).toBe('arrived')
  expect(away.hits).toHaveLength(1)
})

test('a first attempt that is redirected to another origin takes its made key along, as Node does, and no credential', async () => {
  const { queue } = await setup({ fetch: globalThis.fetch })
  const init = { method: 'POST', body: 'x', headers: { authorization: 'Bearer caller', cookie: 'a=b' } }
  await queue.fetch(`${home.url}/go/307?to=${away.url}/there`, init)
  const [sent, arrived] = [home.hits[0], away.hits[0]]
  expect(sent?.headers['idempotency-key']).toMatch(/^[\da-f-]{36}$/)
  expect(arrived?.headers['idempotency-key']).toBe(sent?.headers['idempotency-key'])
  expect(arrived?.headers).not.toHaveProperty('authorization')
  expect(arrived?.headers).not.toHaveProperty('cookie')
})

test('a replay follows a redirect within its origin', async () => {
  const { response } = await replay('/go/302?fail&to=/there')
  expect(await response.text()).toBe('arrived')
  expect(home.hits.map(({ path }) => path?.split('?')[0])).toEqual(['/go/302', '/go/302', '/there'])
  expect(response).toMatchObject({ redirected: true, url: `${home.url}/there` })
})

test('an answer to a replay that was not redirected does not say so', async () => {
  const { response } = await replay('/there?fail')
  expect(response).toMatchObject({ redirected: false, url: `${home.url}/there?fail` })
})

test.each<[status: number, method: string, arrives: string, withBody: boolean]>([
  [301, 'POST', 'GET', false],
  [302, 'POST', 'GET', false],
  [303, 'POST', 'GET', false],
  [303, 'PUT', 'GET', false],
  [301, 'PUT', 'PUT', true],
  [302, 'DELETE', 'DELETE', true],
  [307, 'POST', 'POST', true],
  [308, 'POST', 'POST', true],
])('a replay answered %i to %s arrives as %s, with its body: %s', async (status, method, arrives, withBody) => {
  await replay(`/go/${status}?fail&to=/there`, { method, body: 'x', headers: { 'x-own': 'a' } })
  const [, , there] = home.hits
  expect(there).toMatchObject({ method: arrives, path: '/there', body: withBody ? 'x' : '' })
  expect(there?.headers['x-own']).toBe('a')
  expect(there?.headers['content-type'] !== undefined).toBe(withBody)
})

test.each([301, 302, 303, 307, 308])(
  'S15 a replay answered %i to another origin stays: nothing reaches it',
  async (status) => {
    const init = { method: 'POST', body: 'secret', headers: { authorization: 'Bearer caller' } }
    const credentials = () => ({ authorization: 'Bearer fresh' })
    const { response } = await replay(`/go/${status}?fail&to=${away.url}/there`, init, {
      credentials: { [home.url]: credentials },
    })
    expect(response.status).toBe(status)
    expect(markOf(response)).toMatchObject({ reason: 'not_retryable' })
    expect(away.hits).toEqual([])
    expect(home.hits[1]?.headers.authorization).toBe('Bearer fresh')
  },
)

test('S15 nor by way of its own origin', async () => {
  const next = encodeURIComponent(`/go/307?to=${away.url}/there`)
  const { response } = await replay(`/go/302?fail&to=${next}`)
  expect(response.status).toBe(307)
  expect(away.hits).toEqual([])
})

test.each(['mailto:x@y.test', 'data:,hello', 'http://user:pass@127.0.0.1:1/'])(
  'S15 a replay redirected to %s stays',
  async (to) => {
    const { response } = await replay(`/go/302?fail&to=${encodeURIComponent(to)}`)
    expect(response.status).toBe(302)
  },
)

test('a replay in a circle ends as fetch ends it: without an answer', async () => {
  const { queue, clock } = await setup({ fetch: globalThis.fetch, policy: { maxAttempts: 1 } })
  const { taskId } = await queue.enqueue(`${home.url}/circle`)
  await queue.result(taskId)
  expect((await queue.attempts(taskId)).attempts).toMatchObject([
    { responseStatus: null, errorMessage: expect.stringContaining('redirects') },
  ])
  expect(home.hits.length).toBeGreaterThanOrEqual(20)
  await clock.settle()
})

test('redirect: manual is the caller’s on a replay as on a first attempt', async () => {
  const { response } = await replay(`/go/302?fail&to=${away.url}/there`, { redirect: 'manual' })
  expect(response.status).toBe(302)
  expect(markOf(response)).toBeUndefined()
  expect(away.hits).toEqual([])
})

test.each([
  ['a list', ['follow']],
  ['an object', { toString: (): string => 'follow' }],
  ['a String', new String('follow')],
])('S15 a replay whose `redirect` is %s that says follow stays, too', async (_, redirect) => {
  const init = { method: 'POST', body: 'x', redirect } as unknown as RequestInit
  await replay(`/go/307?fail&to=${away.url}/there`, init, {
    credentials: { [home.url]: () => ({ 'x-api-key': 'own' }) },
  })
  expect(home.hits).toHaveLength(2)
  expect(away.hits).toEqual([])
})

test('S16 a replay is redirected no further once another principal logs in', async () => {
  const { during, end } = login()
  const { queue, clock } = await setup({ principal: 'ann', fetch: (url, init) => sendThenSwitch(url, init) })
  const sendThenSwitch: typeof fetch = async (url, init) => {
    const response = await fetch(url, init)
    if (response.status === 307) switched ??= queue.setPrincipal('ben', { during })
    return response
  }
  let switched: Promise<void> | undefined
  await queue.enqueue(`${home.url}/go/307?to=/there`, { method: 'POST', body: "ann's" })
  await clock.advance(1)
  await expect.poll(() => switched !== undefined).toBe(true)
  await clock.settle()

  await expect.poll(() => queue.stats({ allPrincipals: true }).inFlight).toBe(0)
  expect(home.hits.map(({ path }) => path)).toEqual(['/go/307?to=/there'])
  end()
  await switched
})
