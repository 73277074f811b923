import { describe, expect, test } from 'vitest'
import { loadCore } from '../../../../js/core.ts'
import { watch } from '../../setup.ts'
import { refusalOf, setup, sha256, tokenFor, typeOf } from './setup.ts'

const TOKENS = [tokenFor('a', 'acme', 'tasks:read'), tokenFor('b', 'acme', 'tasks:read')]

test('a token may ask twice as much at once, then at its rate, and is told when', async () => {
  const { ask, clock } = await setup({ sends: false, tokens: TOKENS, settings: { rate: { perSecond: 2 } } })
  const core = await loadCore()
  const left: (number | undefined)[] = []
  for (let i = 0; i < 4; i++) {
    const { status, headers } = await ask('GET', '/stats', { token: 'a' })
    expect(status).toBe(200)
    expect(headers.get('ratelimit-policy')).toBe('"token";q=4;w=2')
    left.push(core.parseRateLimit(headers.get('ratelimit') ?? '')?.remaining)
  }
  expect(left).toEqual([3, 2, 1, 0])
  const refused = await ask('GET', '/stats', { token: 'a' })
  expect([refused.status, typeOf(refused), refused.headers.get('retry-after')]).toEqual([429, 'rate-limited', '1'])
  expect(core.parseRateLimit(refused.headers.get('ratelimit') ?? '')).toMatchObject({ remaining: 0, resetMs: 1_000 })
  // each token has a rate of its own, and the service says of itself what it likes
  expect((await ask('GET', '/stats', { token: 'b' })).status).toBe(200)
  expect((await ask('GET', '/healthz', { token: 'a' })).headers.get('ratelimit')).toBeNull()
  await clock.advance(499)
  expect((await ask('GET', '/stats', { token: 'a' })).status).toBe(429)
  await clock.advance(1)
  expect((await ask('GET', '/stats', { token: 'a' })).status).toBe(200)
  expect((await ask('GET', '/stats', { token: 'a' })).status).toBe(429)
  await clock.advance(60_000)
  expect((await ask('GET', '/stats', { token: 'a' })).headers.get('ratelimit')).toBe('"token";r=3;t=1')
})

test('over a long time as many are let through as the rate says, whatever it is', async () => {
  for (const perSecond of [0.3, 3, 7, 50]) {
    const { ask, clock } = await setup({ sends: false, tokens: TOKENS, settings: { rate: { perSecond, burst: 1 } } })
    let taken = 0
    const steps = 100
    const stepMs = Math.ceil(1_000 / perSecond / 3)
    for (let i = 0; i < steps; i++) {
      if ((await ask('GET', '/stats', { token: 'a' })).status === 200) taken++
      await clock.advance(stepMs)
    }
    const expected = (steps * stepMs * perSecond) / 1_000
    expect(taken).toBeLessThanOrEqual(expected + 1)
    expect(taken).toBeGreaterThan(expected * 0.9 - 1)
  }
})

test('refused requests do not count, and a reload of the same tokens forgives nothing', async () => {
  const settings = { rate: { perSecond: 1, burst: 1 } }
  const { ask, clock, now } = await setup({ sends: false, tokens: TOKENS, settings })
  expect((await ask('GET', '/stats', { token: 'a' })).status).toBe(200)
  for (let i = 0; i < 20; i++) expect((await ask('GET', '/stats', { token: 'a' })).status).toBe(429)
  now.tokens = TOKENS.map((token) => ({ ...token }))
  expect((await ask('GET', '/stats', { token: 'a' })).status).toBe(429)
  await clock.advance(1_000)
  expect((await ask('GET', '/stats', { token: 'a' })).status).toBe(200)
})

test.for([
  ['localhost', 200],
  ['localhost:7733', 200],
  ['LOCALHOST', 200],
  ['[::1]:80', 200],
  ['evil.test', 421],
  ['localhost.evil.test', 421],
  ['localhost:7733.evil.test', 421],
  ['[::1', 421],
  ['127.0.0.1', 421],
] as const)('a request to the host %s gets %i', async ([host, status]) => {
  const { ask } = await setup({ sends: false, settings: { hostNames: ['localhost', '[::1]'] } })
  const answer = await ask('GET', '/stats', { headers: { host } })
  expect(answer.status).toBe(status)
  if (status === 421) expect(typeOf(answer)).toBe('wrong-host')
})

test('pages may not ask, unless they are listed', async () => {
  const { ask, store } = await setup({ sends: false, settings: { corsOrigins: ['https://ui.test'] } })
  for (const origin of ['https://evil.test', 'null', 'https://ui.test.evil.test', 'http://localhost']) {
    const refused = await ask('POST', '/pauses', { body: {}, headers: { origin } })
    expect([origin, refused.status, typeOf(refused)]).toEqual([origin, 403, 'forbidden'])
    expect(refused.headers.get('access-control-allow-origin')).toBeNull()
    const asked = { origin, 'access-control-request-method': 'POST' }
    expect((await ask('OPTIONS', '/pauses', { headers: asked })).status).toBe(403)
  }
  expect(await store.pauses.list()).toEqual([])
  const origin = 'https://ui.test'
  const asked = { origin, 'access-control-request-method': 'DELETE', 'access-control-request-headers': 'authorization' }
  const preflight = await ask('OPTIONS', '/pauses', { headers: asked })
  expect(preflight.status).toBe(204)
  expect(Object.fromEntries(preflight.headers)).toMatchObject({
    'access-control-allow-origin': origin,
    'access-control-allow-methods': 'GET, POST, PUT, DELETE',
    'access-control-allow-headers': expect.stringMatching(/authorization.* last-event-id/),
    vary: 'Origin',
  })
  const answer = await ask('GET', '/stats', { headers: { origin } })
  expect(answer.headers.get('access-control-allow-origin')).toBe(origin)
  expect(answer.headers.get('access-control-expose-headers')).toContain('redrive-request-id')
  // a page reads why it was refused, too
  const missing = await ask('GET', '/nowhere', { headers: { origin } })
  expect([missing.status, missing.headers.get('access-control-allow-origin')]).toEqual([404, origin])
})

test('a request that a page of another site makes without an Origin is refused, and a navigation is none', async () => {
  const { ask } = await setup({ sends: false, settings: { corsOrigins: ['https://ui.test'] } })
  const from = async (site: string | null, mode: string | null, method = 'GET') => {
    const said = { ...(site !== null && { 'sec-fetch-site': site }), ...(mode !== null && { 'sec-fetch-mode': mode }) }
    return (await ask(method, '/stats', { headers: said })).status
  }
  // an image, a script, a `fetch` that may not read; a site has other hosts, and a host other ports
  for (const site of ['cross-site', 'same-site']) {
    for (const mode of ['no-cors', 'cors', 'websocket', 'nonsense', null]) {
      expect([site, mode, await from(site, mode)]).toEqual([site, mode, 403])
    }
    expect(await from(site, 'no-cors', 'HEAD')).toBe(403)
    expect(await from(site, 'navigate')).toBe(200)
  }
  for (const site of ['same-origin', 'none', null]) expect(await from(site, 'no-cors')).toBe(200)
  // a page that is listed says so
  const headers = { origin: 'https://ui.test', 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'cors' }
  expect((await ask('GET', '/stats', { headers })).status).toBe(200)
})

test.for([
  ['GET', '/pauses/pause-1', 'DELETE'],
  ['PUT', '/retry-tasks', 'POST, GET, HEAD'],
  ['POST', '/stats', 'GET, HEAD'],
  ['OPTIONS', '/stats', 'GET, HEAD'],
  ['PATCH', '/retry-policies/x', 'PUT, GET, HEAD, DELETE'],
  ['DELETE', '/dead-letters/redrive', 'POST'],
  ['QUERY', '/', 'GET, HEAD'],
])('%s %s is told to be %s', async ([method, path, allow]) => {
  const { ask } = await setup({ sends: false })
  const refused = await ask(method as string, path as string)
  expect([refused.status, typeOf(refused), refused.headers.get('allow')]).toEqual([405, 'method-not-allowed', allow])
})

test.for(['/nowhere', '/retry-tasks/', '//retry-tasks', '/RETRY-TASKS', '/retry-tasks/%00', '/retry-tasks/../stats/x'])(
  'there is nothing at %s',
  async (path) => {
    const { ask } = await setup({ sends: false })
    expect(refusalOf(await ask('GET', path))).toEqual([404, 'not-found'])
  },
)

test.for([
  ['application/json', 200],
  ['*/*', 200],
  ['application/*;q=0.5', 200],
  ['text/html, */*;q=0.1', 200],
  ['text/html', 406],
  ['application/json;q=0', 406],
  ['application/json;q=0, */*', 406],
  ['', 200],
] as const)('an Accept of %j gets %i', async ([accept, status]) => {
  const { ask } = await setup({ sends: false })
  const answer = await ask('GET', '/stats', { headers: { accept } })
  expect(answer.status).toBe(status)
  if (status === 406)
    expect([typeOf(answer), answer.headers.get('content-type')]).toEqual(['not-acceptable', 'application/problem+json'])
})

test('the refusal of an Accept that rules out an answer names each type once', async () => {
  const { ask } = await setup({ sends: false })
  const { json } = await ask('POST', '/retry-tasks', { headers: { accept: 'text/html' }, body: {} })
  const detail = 'the answer is application/json, which the Accept of this request rules out'
  expect(json).toMatchObject({ detail })
})

test('HEAD is GET without a body, and every answer has an id and says how long it may be kept', async () => {
  const { ask, requests } = await setup({ sends: false })
  const head = await ask('HEAD', '/stats')
  expect([head.status, head.text]).toEqual([200, ''])
  const ids = new Set<string | null>()
  for (const path of ['/stats', '/nowhere', '/openapi.json', '/healthz']) {
    const { headers } = await ask('GET', path)
    ids.add(headers.get('redrive-request-id'))
    expect(headers.get('cache-control')).toBe('no-store')
  }
  expect(ids.size).toBe(4)
  expect(requests.map(({ route, method, status }) => [route, method, status])).toEqual([
    ['/stats', 'HEAD', 200],
    ['/stats', 'GET', 200],
    ['', 'GET', 404],
    ['/openapi.json', 'GET', 200],
    ['/healthz', 'GET', 200],
  ])
})

test('a token is told apart from its digest', async () => {
  const { ask } = await setup({ sends: false, tokens: TOKENS })
  expect((await ask('GET', '/stats', { token: sha256('a') })).status).toBe(401)
  expect((await ask('GET', '/stats', { headers: { authorization: 'bearer   a' } })).status).toBe(200)
  expect((await ask('GET', '/stats', { headers: { authorization: 'Basic a' } })).status).toBe(401)
})

describe('of requests under way', () => {
  const TWO = ['one', 'two'].map((name) => tokenFor(name, name, 'tasks:read', 'tasks:write'))
  const times = (count: number) => Array.from({ length: count })

  test('a token has 320 that wait for the end of a task at most: to others the task is shown as it is', async () => {
    const { clock, ask, create } = await setup({ tokens: TWO, sends: false })
    const { taskId } = (await create({}, { token: 'one' })).json
    const wait = (token: string) =>
      watch(ask('GET', `/retry-tasks/${taskId}`, { token, headers: { prefer: 'wait=1' } }))
    const all = times(400).map(() => wait('one'))
    await clock.settle()
    const answered = all.flatMap(({ value }) => value ?? [])
    expect(answered.map(({ status }) => status)).toEqual(times(80).map(() => 200))
    expect(answered.every(({ headers }) => headers.get('preference-applied') === null)).toBe(true)
    const other = (await create({ idempotencyKey: 'k-2' }, { token: 'two' })).json.taskId
    const own = watch(ask('GET', `/retry-tasks/${other}`, { token: 'two', headers: { prefer: 'wait=1' } }))
    await clock.settle()
    expect(own.state).toBe('pending')
    await clock.advance(1_000)
    expect(all.every(({ value }) => value?.status === 200)).toBe(true)
    expect(own.value?.headers.get('preference-applied')).toBe('wait=1')
    const later = wait('one')
    await clock.settle()
    expect(later.state).toBe('pending')
    await clock.advance(1_000)
  })

  test.each([
    ['where there are two tokens one has 640 at most, and the other is answered', TWO, 640],
    ['a token that is the only one has them all', TWO.slice(0, 1), 700],
  ])('%s', async (_, tokens, most) => {
    const { clock, ask, store } = await setup({ tokens })
    const ends: (() => void)[] = []
    Object.assign(store, { get: () => new Promise<void>((resolve) => ends.push(resolve)) })
    const path = '/retry-tasks/01a21ace-1956-7000-b5bd-94b96aa92dda'
    const all = times(700).map(() => watch(ask('GET', path, { token: 'one' })))
    await clock.settle()
    const refused = all.flatMap(({ value }) => value ?? [])
    expect(refused).toHaveLength(700 - most)
    for (const { status, json, headers } of refused) {
      expect([status, json.type, headers.get('retry-after')]).toEqual([429, 'urn:redrive:problem:rate-limited', '1'])
    }
    if (tokens.length > 1) expect((await ask('GET', '/stats', { token: 'two' })).status).toBe(200)
    expect((await ask('GET', '/readyz')).status).toBe(200)
    for (const end of ends) end()
    await clock.settle()
    expect((await ask('GET', '/stats', { token: 'one' })).status).toBe(200)
  })
})
