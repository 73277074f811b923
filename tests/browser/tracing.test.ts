/** Which requests of a page carry a trace's context: to another origin its header forces a preflight, which may fail. */
import { createServer, type Server } from 'node:http'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { bundleForPage } from '../bundle.ts'
import { launch } from './chromium.ts'
import { listenDuringTests } from './origins.ts'
import type { Traced } from './tracing/in-page.ts'

/** Method, and the trace's header if there was one. */
const hits: (readonly [method: string, traceparent: string | undefined])[] = []
let allowsHeader = false
let script = ''

/** Serves the page; `/orders` answers 503 once and then 200. */
function makeServer(): Server {
  return createServer((request, response) => {
    const { method = '', url, headers } = request
    if (url === '/page') {
      response.setHeader('content-type', 'text/html')
      response.end('<!doctype html><link rel="icon" href="data:,"><script src="/page.js"></script>')
      return
    }
    if (url === '/page.js') {
      response.setHeader('content-type', 'text/javascript')
      response.end(script)
      return
    }
    response.setHeader('access-control-allow-origin', '*')
    if (allowsHeader) response.setHeader('access-control-allow-headers', 'traceparent')
    hits.push([method, headers.traceparent as string | undefined])
    if (method === 'OPTIONS') response.writeHead(204).end()
    else response.writeHead(hits.filter(([each]) => each === method).length === 1 ? 503 : 200).end('done')
  })
}

const home = { server: makeServer(), url: '' }
const away = { server: makeServer(), url: '' }
let browser: Browser

listenDuringTests(home, away)
beforeAll(async () => {
  ;[browser, script] = await Promise.all([launch(), bundleForPage('browser/tracing/in-page.ts')])
})
beforeEach(() => {
  hits.length = 0
  allowsHeader = false
})
afterAll(async () => {
  await browser?.close()
})

/** Gets `/orders` from a page at `home`. */
async function get(origin: string, propagateTo?: readonly string[]): Promise<Traced> {
  const page = await browser.newPage()
  try {
    await page.goto(`${home.url}/page`)
    return await page.evaluate(([url, origins]) => traced(url, origins), [`${origin}/orders`, propagateTo] as const)
  } finally {
    await page.close()
  }
}

test('to its own origin each attempt carries its own span, all of one trace', async () => {
  const { got, traceparents, roots } = await get(home.url)
  expect([got, roots]).toEqual([200, 1])
  expect(hits).toEqual(traceparents.map((traceparent) => ['GET', traceparent]))
  expect(new Set(traceparents).size).toBe(2)
})

test('an origin that is not listed gets no header, so there is no preflight that could fail', async () => {
  const { got, traceparents, roots } = await get(away.url)
  expect([got, roots, traceparents.length]).toEqual([200, 1, 2])
  expect(hits).toEqual([
    ['GET', undefined],
    ['GET', undefined],
  ])
})

test('one that is listed gets it, if it gives leave', async () => {
  allowsHeader = true
  const { got, traceparents } = await get(away.url, [away.url])
  expect(got).toBe(200)
  expect(hits.filter(([method]) => method === 'GET')).toEqual(traceparents.map((traceparent) => ['GET', traceparent]))
  expect(hits.filter(([method]) => method === 'OPTIONS')).not.toEqual([])
})

test('one that is listed and gives no leave is never reached: the documentation says so', async () => {
  const { got } = await get(away.url, [away.url])
  expect(got).toBe('TypeError')
  expect(hits.filter(([method]) => method === 'GET')).toEqual([])
})
