/** A browser hides where a redirect leads. What that makes of a replay, with two real origins. */

import { createServer } from 'node:http'
import { beforeEach, expect, test } from 'vitest'
import { duringTests } from '../during.ts'
import { staticFiles } from '../servers/static.mjs'
import { here, launch, open } from './chromium.ts'
import { listenDuringTests, type Origin } from './origins.ts'

const ATTEMPTS = 5
const options = { policy: { maxAttempts: ATTEMPTS, initialDelayMs: 20, jitterType: 'NONE' } }

/** What of a call can cross into a page. */
type Sent = Pick<RequestInit, 'method'> & { readonly body?: string; readonly headers?: Record<string, string> }

interface Counted extends Origin {
  /** Method and path of everything but files. */
  readonly hits: string[]
  /** The idempotency key of each. */
  readonly keys: unknown[]
}

/**
 * `/go?to=<url>` answers 503 to its first hit and 302 to all others, `/moved?to=<url>` 307 to all; `/there` is what they may lead
 * to, and `/open` the same with every header allowed.
 */
function makeOrigin(): Counted {
  const hits: string[] = []
  const keys: unknown[] = []
  const serveFile = staticFiles({ '/pkg/': here('../../pkg'), '/pages/': here('pages') })
  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? '', 'http://origin')
    if (await serveFile(url, response)) return
    hits.push(`${request.method} ${url.pathname}`)
    keys.push(request.headers['idempotency-key'])
    response.setHeader('access-control-allow-origin', '*')
    if (url.pathname === '/open') response.setHeader('access-control-allow-headers', '*')
    if (request.method === 'OPTIONS' || url.pathname === '/there' || url.pathname === '/open') response.end('arrived')
    else if (url.pathname === '/moved') response.writeHead(307, { location: url.searchParams.get('to') ?? '' }).end()
    else if (hits.length === 1) response.writeHead(503).end('busy')
    else response.writeHead(302, { location: url.searchParams.get('to') ?? '' }).end()
  })
  return { server, hits, keys, url: '' }
}

const home = makeOrigin()
const away = makeOrigin()
const browser = duringTests(() => launch())

listenDuringTests(home, away)
beforeEach(() => {
  for (const { hits, keys } of [home, away]) hits.length = keys.length = 0
})

/** Fetches through the queue of a page at `home`, and says what its caller got. */
async function replay(to: string, init: Sent = {}) {
  await using tab = await open(browser, home, 'fetch', { options })
  return await tab.page.evaluate(
    async ([path, given]) => {
      const response = await app.queue.fetch(path, given)
      const { redrive } = response as { redrive?: { readonly reason: string } }
      return { type: response.type, text: await response.text(), reason: redrive?.reason }
    },
    [`/go?to=${encodeURIComponent(to)}`, init] as const,
  )
}

test('a GET answered 503 and then redirected to another origin arrives with its first retry', async () => {
  expect(await replay(`${away.url}/there`)).toEqual({ type: 'cors', text: 'arrived', reason: undefined })
  expect(home.hits).toEqual(['GET /go', 'GET /go'])
  expect(away.hits).toEqual(['GET /there'])
})

test("a loop that retries it with `redirect: 'error'` spends every attempt and never gets there", async () => {
  await using tab = await open(browser, home, 'fetch')
  const ends = await tab.page.evaluate(
    async ([path, attempts]) => {
      const seen: string[] = []
      for (let attempt = 1; attempt <= attempts; attempt++) {
        const init: RequestInit = { redrive: false, redirect: attempt === 1 ? 'follow' : 'error' }
        const end = await fetch(path, init).then(
          ({ status }) => String(status),
          ({ name }: Error) => name,
        )
        seen.push(end)
        if (end === '200') break
      }
      return seen
    },
    [`/go?to=${encodeURIComponent(`${away.url}/there`)}`, ATTEMPTS] as const,
  )
  expect(ends).toEqual(['503', ...Array(ATTEMPTS - 1).fill('TypeError')])
  expect(home.hits).toHaveLength(ATTEMPTS)
  expect(away.hits).toEqual([])
})

test.each<[what: string, init: Sent, to: () => Origin]>([
  ['a POST redirected to another origin', { method: 'POST', body: 'x' }, () => away],
  ['a GET with a credential redirected to another origin', { headers: { authorization: 'Bearer caller' } }, () => away],
  ['a POST redirected within its origin', { method: 'POST', body: 'x' }, () => home],
])('S15 %s stays, and ends with its first retry', async (_, init, to) => {
  const answer = await replay(`${to().url}/there`, init)
  expect(answer).toEqual({ type: 'opaqueredirect', text: '', reason: 'not_retryable' })
  const { method = 'GET' } = init
  expect(home.hits).toEqual([`${method} /go`, `${method} /go`])
  expect(away.hits).toEqual([])
})

/** A first attempt of a POST that is answered 307; what its caller got, or the name of the error. */
async function moved(to: string): Promise<string> {
  await using tab = await open(browser, home, 'fetch', { options })
  return await tab.page.evaluate(
    (path) =>
      app.queue.fetch(path, { method: 'POST', body: 'x' }).then(
        async (response) => (response.type === 'opaqueredirect' ? response.type : response.text()),
        ({ name }: Error) => name,
      ),
    `/moved?to=${encodeURIComponent(to)}`,
  )
}

test('a first attempt that is redirected to another origin takes its made key along where that origin allows the header', async () => {
  expect(await moved(`${away.url}/open`)).toBe('arrived')
  expect(away.hits).toEqual(['OPTIONS /open', 'POST /open'])
  expect(home.keys[0]).toMatch(/^[\da-f-]{36}$/)
  expect(away.keys[1]).toBe(home.keys[0])
})

test('where that origin does not, nothing but a preflight reaches it, and the key stays', async () => {
  expect(await moved(`${away.url}/there`)).toBe('opaqueredirect')
  expect(away.hits.filter((hit) => !hit.startsWith('OPTIONS'))).toEqual([])
  expect(away.keys.filter((key) => key !== undefined)).toEqual([])
})
