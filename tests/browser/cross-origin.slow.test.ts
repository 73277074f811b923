/** Which calls of a page may carry a key to another origin, where the header forces a CORS preflight. */

import { createServer, type Server } from 'node:http'
import { beforeEach, expect, test } from 'vitest'
import { duringTests } from '../during.ts'
import { staticFiles } from '../servers/static.mjs'
import { here, launch, open } from './chromium.ts'
import { labOrigin } from './lab.ts'
import { listenDuringTests } from './origins.ts'

const policy = { initialDelayMs: 10, jitterType: 'NONE' }

interface Hit {
  readonly method: string
  readonly key: string | undefined
}

const hits: Hit[] = []
const serveFile = staticFiles({ '/pkg/': here('../../pkg'), '/pages/': here('pages') })
let allowsHeader = true

/** Serves the pages; `/orders` answers 503 once and then 200. */
function makeServer(): Server {
  return createServer(async (request, response) => {
    if (await serveFile(new URL(request.url ?? '', 'http://server'), response)) return
    response.setHeader('access-control-allow-origin', '*')
    if (allowsHeader) response.setHeader('access-control-allow-headers', 'idempotency-key')
    const { method = '' } = request
    hits.push({ method, key: request.headers['idempotency-key'] as string | undefined })
    if (method === 'OPTIONS') response.writeHead(204).end()
    else response.writeHead(hits.filter((hit) => hit.method === method).length === 1 ? 503 : 200).end('done')
  })
}

const home = { server: makeServer(), url: '' }
const away = { server: makeServer(), url: '' }
const site = labOrigin({
  '/sandbox': () => '<!doctype html><iframe sandbox="allow-scripts" src="/pages/lab.html"></iframe>',
  '/srcdoc': () => `<!doctype html><iframe srcdoc='<script type="module" src="/pages/lab.js"></script>'></iframe>`,
})
const browser = duringTests(() => launch())

listenDuringTests(home, away)
beforeEach(() => {
  hits.length = 0
  allowsHeader = true
})

/** POSTs twice from a page at `home`; the statuses or errors its caller got, and what was degraded. */
async function post(url: string, idempotency: { readonly origins?: readonly string[] }, redrive: object = {}) {
  await using tab = await open(browser, home, 'fetch', { options: { policy, idempotency } })
  return await tab.page.evaluate(
    async ([target, task]) => {
      const degraded: string[] = []
      app.queue.on('degraded', ({ code }: { code: string }) => degraded.push(code))
      const got: unknown[] = []
      for (let call = 0; call < 2; call++) {
        const answer = app.queue.fetch(target, { method: 'POST', body: 'A-1', redrive: task })
        got.push(await answer.then((response: Response) => response.status).catch((error: Error) => error.name))
      }
      return { got, degraded }
    },
    [`${url}/orders`, redrive] as const,
  )
}

const posts = () => hits.filter(({ method }) => method === 'POST')
const keys = () => new Set(posts().map(({ key }) => key))

test('an unlisted origin gets plain fetch: no key, no preflight, no retry, and one word about it', async () => {
  expect(await post(away.url, {})).toEqual({ got: [503, 200], degraded: ['key_origin_missing'] })
  expect(hits).toEqual([
    { method: 'POST', key: undefined },
    { method: 'POST', key: undefined },
  ])
})

test('a listed origin gets a key, the same on the retry', async () => {
  expect(await post(away.url, { origins: [away.url] })).toEqual({ got: [200, 200], degraded: [] })
  expect(posts()).toHaveLength(3)
  expect(keys().size).toBe(2)
  expect(keys()).not.toContain(undefined)
})

test('who vouches is retried without a key', async () => {
  expect(await post(away.url, {}, { idempotent: true })).toEqual({ got: [200, 200], degraded: [] })
  expect(posts()).toHaveLength(3)
  expect(keys()).toEqual(new Set([undefined]))
})

test('a listed origin whose preflight refuses the header: the error, and one word about CORS', async () => {
  allowsHeader = false
  const { got, degraded } = await post(away.url, { origins: [away.url] }, { policy: { maxAttempts: 2 } })
  expect(got).toEqual(['TypeError', 'TypeError'])
  expect(degraded).toEqual(['maybe_cors'])
  expect(posts()).toEqual([])
})

test('an enqueued call to such an origin says so as well', async () => {
  allowsHeader = false
  await using tab = await open(browser, home, 'fetch', { options: { policy, idempotency: { origins: [away.url] } } })
  const said = await tab.page.evaluate(
    (target) =>
      new Promise<string>((resolve) => {
        app.queue.on('degraded', ({ code, message }: { code: string; message: string }) =>
          resolve(`${code}: ${message}`),
        )
        void app.queue.enqueue(target, { method: 'POST', body: 'A-1' })
      }),
    `${away.url}/orders`,
  )
  expect(said).toMatch(/^maybe_cors: no answer from .*idempotency-key/)
})

test.each([
  ['sandbox', undefined],
  ['srcdoc', expect.any(String)],
])('a frame by %s: its own origin counts, not that of its address', async (name, key) => {
  await using context = await browser.newContext()
  const page = await context.newPage()
  await page.goto(`${site.url}/${name}`)
  const frame = page.frames().find((each) => each !== page.mainFrame())
  await frame?.waitForFunction(() => globalThis.lab !== undefined)
  await frame?.evaluate(() => lab.open().fetch('/api/orders', { method: 'POST' }))
  expect(site.received.map(({ url, headers }) => [url, headers['idempotency-key']])).toEqual([['/api/orders', key]])
})
