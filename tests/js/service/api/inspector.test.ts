/** `/ui` as an attacker and a browser meet it: what is given out, under which headers, and to whom. */

import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { describe, expect, test } from 'vitest'
import type { InspectorFile, InspectorFiles } from '../../../../js/service/api/context.ts'
import { etagOf } from '../../../../js/service/api/etag.ts'
import { INSPECTOR_HEADERS } from '../../../../js/service/api/inspector.ts'
import { overHttp, refusalOf, setup, tokenFor, typeOf, type World, type WorldOptions } from './setup.ts'

const file = (text: string, contentType: string, isHashed = false): InspectorFile => ({
  bytes: new TextEncoder().encode(text),
  ...{ contentType, isHashed },
  etag: etagOf(text),
})

const PAGE = '<!doctype html><redrive-inspector></redrive-inspector>'
const FILES: InspectorFiles = new Map([
  ['', file(PAGE, 'text/html; charset=utf-8')],
  ['ui.js', file('export {}', 'text/javascript; charset=utf-8')],
  ['ui-ABCD1234.js', file('export const a = 1', 'text/javascript; charset=utf-8', true)],
])

const world = (options: WorldOptions = {}): Promise<World> => setup({ sends: false, inspector: FILES, ...options })
const READER = tokenFor('reader', 'acme', 'tasks:read')

describe('what is given out', () => {
  test('the page and its files need no token, and the API behind them does', async () => {
    const { ask } = await world({ tokens: [READER] })
    const page = await ask('GET', '/ui/')
    expect([page.status, page.text, page.headers.get('content-type')]).toEqual([200, PAGE, 'text/html; charset=utf-8'])
    const script = await ask('GET', '/ui/ui.js?v=1')
    expect([script.status, script.text]).toEqual([200, 'export {}'])
    expect((await ask('GET', '/stats')).status).toBe(401)
    expect((await ask('GET', '/stats', { token: 'reader' })).status).toBe(200)
  })

  test('without the slash leads to the page by a relative address, so that a prefix of a proxy stays', async () => {
    const { ask } = await world()
    const { status, headers } = await ask('GET', '/ui')
    expect([status, headers.get('location')]).toEqual([308, 'ui/'])
    expect(new URL('ui/', 'https://ops.test/retry/ui').pathname).toBe('/retry/ui/')
  })

  test.each([
    ['/ui/', 'no-cache'],
    ['/ui/ui.js', 'no-cache'],
    ['/ui/ui-ABCD1234.js', 'public, max-age=31536000, immutable'],
  ])('%s is kept by browsers as `%s`, and not sent again where they have it', async (path, cacheControl) => {
    const { ask } = await world()
    const first = await ask('GET', path)
    const etag = first.headers.get('etag') ?? ''
    expect(etag).toMatch(/^"[\w-]{22}"$/)
    const again = await ask('GET', path, { headers: { 'if-none-match': `"other", W/${etag}` } })
    for (const { headers } of [first, again]) expect(headers.get('cache-control')).toBe(cacheControl)
    expect([again.status, again.text, again.headers.get('etag')]).toEqual([304, '', etag])
    expect((await ask('GET', path, { headers: { 'if-none-match': '"other"' } })).status).toBe(200)
  })

  test('HEAD has the headers of GET and no body; all other methods are refused with what is allowed', async () => {
    const { ask } = await world()
    const [get, head] = [await ask('GET', '/ui/'), await ask('HEAD', '/ui/')]
    expect([head.status, head.text]).toEqual([200, ''])
    for (const name of ['content-length', 'content-type', 'etag', 'content-security-policy']) {
      expect([name, head.headers.get(name)]).toEqual([name, get.headers.get(name)])
    }
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
      const refused = await ask(method, '/ui/ui.js')
      const said = [method, typeOf(refused), refused.headers.get('allow')]
      expect(said).toEqual([method, 'method-not-allowed', 'GET, HEAD'])
    }
  })

  test('it goes on while the service stops, and is gone where it was not asked for', async () => {
    const { ask, now } = await world()
    now.isDraining = true
    expect((await ask('GET', '/ui/')).status).toBe(200)
    const without = await setup({ sends: false })
    for (const path of ['/ui', '/ui/', '/ui/ui.js']) expect((await without.ask('GET', path)).status).toBe(404)
    expect((await without.ask('GET', '/')).json.links).not.toHaveProperty('ui')
    expect((await ask('GET', '/')).json.links).toMatchObject({ ui: '/ui' })
  })
})

/** The table of docs/service-security.md. */
function documentedHeaders(): Readonly<Record<string, string>> {
  const page = readFileSync(new URL('../../../../docs/service-security.md', import.meta.url), 'utf8')
  const [, section = ''] = /^## The inspector\n([\s\S]*?)^## /m.exec(page) ?? []
  return Object.fromEntries(
    [...section.matchAll(/^\| `([a-z-]+)` \| `([^`]+)` \|/gm)].map(([, name, value]) => [name, value]),
  )
}

test('every answer below /ui, refusals too, comes with the headers that keep other sites out', async () => {
  const { ask } = await world()
  const answers = [
    await ask('GET', '/ui'),
    await ask('GET', '/ui/'),
    await ask('GET', '/ui/ui.js', { headers: { 'if-none-match': '*' } }),
    await ask('GET', '/ui/nothing'),
    await ask('POST', '/ui/'),
  ]
  expect(answers.map(({ status }) => status)).toEqual([308, 200, 304, 404, 405])
  const said = documentedHeaders()
  expect(said['content-security-policy']).toMatch(
    /^default-src 'self'; script-src 'self' 'wasm-unsafe-eval';.* frame-ancestors 'none'$/,
  )
  for (const { headers } of answers) expect(Object.fromEntries(headers)).toMatchObject(said)
  const own = Object.keys({ ...INSPECTOR_HEADERS, 'x-content-type-options': '' })
  expect(Object.keys(said).sort()).toEqual(own.sort())
  expect((await ask('GET', '/healthz')).headers.has('content-security-policy')).toBe(false)
})

test('whatever the path, the log and the metrics know one route', async () => {
  const { ask, requests, log } = await world()
  const paths = ['/ui', '/ui/', '/ui/ui.js', '/ui/secret-name', `/ui/${'a'.repeat(5_000)}`, '/ui/x/y/z']
  for (const path of paths) await ask('GET', path)
  expect(requests.map(({ route }) => route)).toEqual(paths.map(() => '/ui'))
  expect(JSON.stringify([requests, log])).not.toMatch(/secret-name|aaaa/)
})

test.each(
  (
    '/ui/nothing.js /ui/UI.JS /ui/ui.js/ /ui//ui.js /ui/page /ui/constructor /ui/__proto__ /ui/%75i.js ' +
    '/ui/..%2fui.js /ui/%2e%2e%2f%2e%2e%2fetc%2fpasswd /ui/..%5c..%5cpackage.json /ui/ui.js%00.html /ui/% ' +
    '/uix /%75i/'
  ).split(' '),
)('%s is nothing', async (path) => {
  const { ask } = await world()
  const answer = await ask('GET', path)
  expect(refusalOf(answer)).toEqual([404, 'not-found'])
  expect(answer.headers.get('content-type')).toBe('application/problem+json')
})

describe('who may ask', () => {
  test('a name that was made to lead here gets neither the page nor its files', async () => {
    const { ask } = await world()
    for (const path of ['/ui', '/ui/', '/ui/ui.js']) {
      const answer = await ask('GET', path, { headers: { host: 'evil.example', origin: 'http://evil.example' } })
      expect([path, answer.status, typeOf(answer)]).toEqual([path, 421, 'wrong-host'])
    }
  })

  const post = (headers: Readonly<Record<string, string>>) => ({ body: {}, headers })

  test.each([
    [{ origin: 'http://localhost' }],
    [{ origin: 'https://localhost', 'sec-fetch-site': 'same-origin' }],
    [{ origin: 'http://localhost:7733', host: 'localhost:7733' }],
    [{ origin: 'https://localhost', host: 'localhost:443' }],
    [{ origin: 'http://[::1]:7733', host: '[::1]:7733' }],
  ])('the page itself may write, by %j', async (headers) => {
    const { ask } = await world({ settings: { hostNames: ['localhost', '[::1]'] } })
    const answer = await ask('POST', '/flush', post(headers))
    expect(answer.status).toBe(200)
    expect(answer.headers.has('access-control-allow-origin')).toBe(false)
  })

  test.each([
    ['another site', { origin: 'https://evil.example' }],
    ['another port', { origin: 'http://localhost:3000', host: 'localhost:7733' }],
    ['another name of this machine', { origin: 'http://127.0.0.1', host: 'localhost' }],
    ['this name by another scheme', { origin: 'http://localhost', 'sec-fetch-site': 'cross-site' }],
    ['a subdomain', { origin: 'http://evil.localhost', host: 'localhost' }],
    ['a name that begins like this one', { origin: 'http://localhost.evil.example' }],
    ['a user that is called like this one', { origin: 'http://localhost@evil.example' }],
    ['a sandbox or a file', { origin: 'null' }],
    ['an app with a scheme of its own', { origin: 'capacitor://localhost' }],
    ['nothing that is an origin', { origin: 'localhost' }],
  ])('%s may not', async (_, headers) => {
    const { ask } = await world()
    for (const path of ['/flush', '/stats', '/ui/ui.js']) {
      const answer = await (path === '/flush' ? ask('POST', path, post(headers)) : ask('GET', path, { headers }))
      expect([path, answer.status, typeOf(answer)]).toEqual([path, 403, 'forbidden'])
    }
  })

  test('without the inspector there is no page that may ask', async () => {
    const { ask } = await setup({ sends: false })
    expect((await ask('POST', '/flush', post({ origin: 'http://localhost' }))).status).toBe(403)
  })

  test('a token that is no admin’s cannot do more from the page than elsewhere', async () => {
    const { ask } = await world({ tokens: [READER] })
    const answer = await ask('POST', '/flush', { ...post({ origin: 'http://localhost' }), token: 'reader' })
    expect(refusalOf(answer)).toEqual([403, 'forbidden'])
  })
})

/** Sends bytes as they are on a connection of their own; resolves with all that came until it ended. */
async function exchange(text: string): Promise<string> {
  const socket = connect(await overHttp(await world()), '127.0.0.1')
  socket.write(text)
  let answers = ''
  socket.on('data', (chunk) => {
    answers += chunk
  })
  await once(socket, 'close')
  return answers
}

const raw = (line: string, more = ''): string => `${line} HTTP/1.1\r\nhost: localhost\r\n${more}\r\n`
const statuses = (answers: string): string[] =>
  [...answers.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status = '']) => status)
const LAST = 'connection: close\r\n'

describe('over a socket', () => {
  test('HEAD, 304 and 405 leave nothing behind that the next answer could be mistaken for', async () => {
    const tag = `if-none-match: ${FILES.get('')?.etag}\r\n`
    const answers = await exchange(
      raw('HEAD /ui/') + raw('GET /ui/', tag) + raw('HEAD /ui/ui.js') + raw('DELETE /ui/') + raw('GET /ui/', LAST),
    )
    expect(statuses(answers)).toEqual(['200', '304', '200', '405', '200'])
    expect(answers.split(PAGE)).toHaveLength(2)
    expect(answers.endsWith(PAGE)).toBe(true)
    expect(answers).not.toContain('export {}')
  })

  test('a body of a GET is not taken for the next request', async () => {
    const hidden = raw('GET /ui/ui.js')
    const answers = await exchange(
      raw('GET /ui/', `content-length: ${hidden.length}\r\n`) + hidden + raw('GET /healthz', LAST),
    )
    expect(statuses(answers)).toEqual(['200', '200'])
    expect(answers).not.toContain('export {}')
  })

  test('a path that climbs is tidied up before it is looked at, and one that is too long is refused', async () => {
    const climbs = [
      '/ui/../../etc/passwd',
      '/ui/%2e%2e/%2e%2e/etc/passwd',
      '/ui/./../package.json',
      '/ui/\\..\\..\\package.json',
    ]
    const answers = await exchange(climbs.map((path) => raw(`GET ${path}`)).join('') + raw('GET /ui/../ui/ui.js', LAST))
    expect(statuses(answers)).toEqual(['404', '404', '404', '400', '200'])
    expect(statuses(await exchange(raw(`GET /ui/${'a'.repeat(20_000)}`, LAST)))).toEqual(['431'])
  })
})
