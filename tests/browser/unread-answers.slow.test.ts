/** In Chromium: answers whose bodies never end must not take the connections that the page itself needs. HTTP/1.1 has six for an origin. */

import { createServer } from 'node:http'
import { beforeEach, expect, test } from 'vitest'
import { duringTests } from '../during.ts'
import { eventually } from '../js/eventually.ts'
import { staticFiles } from '../servers/static.mjs'
import { here, launch, open } from './chromium.ts'
import { listenDuringTests, type Origin } from './origins.ts'

const CALLS = 12
/** The page's own fetch has its answer by then; a connection that is not let go of is taken for half a minute at least. */
const SOON_MS = 5_000

interface Hanging extends Origin {
  /** Answers that were begun and have not ended. */
  unfinished: number
  hits: number
}

/** `/hang/<status>` answers with that status, the beginning of a body, and nothing more; `/quick` at once. */
function makeOrigin(): Hanging {
  const serveFile = staticFiles({ '/pkg/': here('../../pkg'), '/pages/': here('pages') })
  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? '', 'http://origin')
    if (await serveFile(url, response)) return
    const [, kind, status] = url.pathname.split('/')
    if (kind !== 'hang') {
      response.end('quick')
      return
    }
    origin.hits++
    origin.unfinished++
    response.on('close', () => origin.unfinished--)
    response.writeHead(Number(status), { 'content-type': 'text/plain' })
    response.write('and then')
  })
  const origin: Hanging = { server, url: '', unfinished: 0, hits: 0 }
  return origin
}

const home = makeOrigin()
const browser = duringTests(() => launch())

listenDuringTests(home)
beforeEach(() => {
  home.hits = 0
})

test.each([
  ['calls that wait for a retry', 'fetch', 503, 'eager'],
  ['calls that wait for the core', 'fetch', 503, 'never'],
  ['tasks that failed', 'enqueue', 503, 'idle'],
  ['tasks that were delivered', 'enqueue', 200, 'idle'],
] as const)('the page goes on while the answers of %s hang', async (_, how, status, preload) => {
  const options = { concurrency: 6, preload, policy: { initialDelayMs: 20_000, jitterType: 'NONE' } }
  await using tab = await open(browser, home, 'fetch', { options })
  const text = await tab.page.evaluate(
    async ([how, status, calls, soonMs]) => {
      for (let i = 0; i < calls; i++) {
        const path = `/hang/${status}/${i}`
        if (how === 'enqueue') await app.queue.enqueue(path, { method: 'POST' })
        else void app.queue.fetch(path, { method: 'POST' }).catch(() => {})
      }
      const own = await fetch('/quick', { redrive: false, signal: AbortSignal.timeout(soonMs) } as RequestInit)
      return own.text()
    },
    [how, status, CALLS, SOON_MS] as const,
  )
  expect(text).toBe('quick')
  await eventually(() => home.hits).toBeGreaterThanOrEqual(CALLS)
  await eventually(() => home.unfinished).toBe(0)
})
