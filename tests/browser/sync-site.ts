/**
 * A site with a service worker and an API that answers as it is told: what tests of background sync stand on. The browser's
 * part, to say when there is a network, is played through its own tools.
 */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { build } from 'esbuild'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { beforeEach } from 'vitest'
import type { RetryQueue } from '../../js/index.ts'
import { eventually } from '../js/eventually.ts'
import { staticFiles } from '../servers/static.mjs'
import { here } from './chromium.ts'
import { newContext } from './contexts.ts'
import { listenDuringTests, type Origin } from './origins.ts'

/** What pages/sync-page.js exposes. */
interface SyncPage {
  readonly queue: RetryQueue
  readonly degraded: readonly { readonly code: string; readonly message: string }[]
  readonly supported: boolean
  /** 'active', or why there is no service worker. */
  readonly active: Promise<string>
}
/** What pages/sync-worker.js exposes. */
interface SyncWorker {
  readonly queue: RetryQueue
  readonly timers: ReadonlyMap<number, string>
  readonly supported: boolean
}
export interface Sync {
  readonly tag: string
  readonly lastChance: boolean
  readonly ended: string
}
declare global {
  var wentOffline: Promise<unknown>
  var syncPage: SyncPage
  var syncWorker: SyncWorker
}

export interface Seen {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export interface SyncSite extends Origin {
  /** What came to `/api/`, in order. */
  readonly seen: Seen[]
  /** How each sync ended, as the worker has told. */
  readonly syncs: Sync[]
  /** Answers `/gate`, which a worker asks before it gives its credentials; at first at once. */
  gate: () => Promise<void>
  /** What `/api/` answers. */
  answer: { readonly status: number; readonly headers?: Record<string, string> } | 'never'
}

const OK = { status: 200 }

/** Beside pages/ and the package it serves `/pages/sync-worker.classic.js`, the worker bundled as one script. */
export function syncSite(): SyncSite {
  const serveFile = staticFiles({ '/pkg/': here('../../pkg'), '/pages/': here('pages') })
  let classic: Promise<string> | undefined
  const site: SyncSite = {
    server: createServer((request, response) => {
      serve(request, response).catch((error) => response.writeHead(500).end(String(error)))
    }),
    url: '',
    seen: [],
    syncs: [],
    gate: async () => {},
    answer: OK,
  }
  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://site')
    if (url.pathname === '/syncs') return hear(request, response)
    if (url.pathname === '/gate') return site.gate().then(() => void response.writeHead(204).end())
    if (url.pathname.startsWith('/api/')) return answer(url.pathname, request, response)
    if (url.pathname === '/pages/sync-worker.classic.js') {
      classic ??= bundled()
      response.writeHead(200, { 'content-type': 'text/javascript' }).end(await classic)
    } else if (!(await serveFile(url, response))) response.writeHead(404).end()
  }
  async function hear(request: IncomingMessage, response: ServerResponse): Promise<void> {
    site.syncs.push(JSON.parse(await text(request)))
    response.writeHead(204).end()
  }
  async function answer(path: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    site.seen.push({ path, headers: request.headers, body: await text(request) })
    if (site.answer !== 'never') response.writeHead(site.answer.status, site.answer.headers).end()
  }
  listenDuringTests(site)
  beforeEach(() => {
    site.seen.length = site.syncs.length = 0
    site.answer = OK
    site.gate = async () => {}
  })
  return site
}

async function bundled(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [here('pages/sync-worker.js')],
    bundle: true,
    format: 'iife',
    target: 'es2022',
    write: false,
    logLevel: 'silent',
    plugins: [
      {
        name: 'package',
        setup: ({ onResolve }) =>
          onResolve({ filter: /^\/pkg\// }, ({ path }) => ({ path: here(`../..${path}`), sideEffects: false })),
      },
    ],
  })
  return outputFiles[0]?.text ?? ''
}

export interface Visit {
  /** The worker's script under pages/, with its query. */
  readonly worker?: string
  readonly type?: 'module' | 'classic'
  /** Whether the page asks the browser for syncs. */
  readonly asks?: boolean
  readonly options?: object
}

/** A page whose service worker is active. */
export async function visit(
  context: BrowserContext,
  { url }: SyncSite,
  { worker = 'sync-worker.js', type = 'module', asks = false, options = {} }: Visit = {},
): Promise<Page> {
  const page = await context.newPage()
  const query = new URLSearchParams({ worker, type, options: JSON.stringify(options), ...(asks && { asks: '' }) })
  await page.goto(`${url}/pages/sync-page.html?${query}`)
  await page.waitForFunction(() => globalThis.syncPage !== undefined)
  await page.evaluate(() => syncPage.queue.ready)
  const active = await page.evaluate(() => syncPage.active)
  if (active !== 'active') throw new Error(`the service worker did not start: ${active}`)
  return page
}

/** Stores a task as a page does that has no network. */
export const store = (page: Page, body: string, headers: Record<string, string> = {}): Promise<string> =>
  page.evaluate(
    async ({ body, headers }) => {
      const { taskId, durability } = await syncPage.queue.enqueue('/api/orders', { method: 'POST', body, headers })
      if (durability !== 'strict') throw new Error(`it is not stored: ${JSON.stringify(syncPage.degraded)}`)
      return taskId
    },
    { body, headers },
  )

/** What the browser's own tools can do to service workers. */
export interface Tools {
  /** The browser finds a network: the worker starts, if it does not run, and gets its sync. Tells how that ended. */
  sync(given?: { readonly lastChance?: boolean }): Promise<string>
  /** As `sync`, without waiting for its end. */
  startSync(given?: { readonly lastChance?: boolean; readonly tag?: string }): Promise<void>
  /** The browser ends the worker, as it does with any that is idle for a while. */
  kill(): Promise<void>
}

export async function tools(context: BrowserContext, site: Pick<SyncSite, 'url' | 'syncs'>): Promise<Tools> {
  // a page of its own: the tools live as long as it does
  const session = await context.newCDPSession(await context.newPage())
  let registrationId = ''
  const running = new Set<string>()
  session.on('ServiceWorker.workerRegistrationUpdated', ({ registrations }) => {
    for (const each of registrations) if (each.scopeURL.startsWith(site.url)) registrationId = each.registrationId
  })
  session.on('ServiceWorker.workerVersionUpdated', ({ versions }) => {
    for (const { versionId, runningStatus } of versions) {
      if (runningStatus === 'stopped') running.delete(versionId)
      else running.add(versionId)
    }
  })
  await session.send('ServiceWorker.enable')
  async function startSync({ lastChance = false, tag = 'redrive/sync' } = {}): Promise<void> {
    await eventually(() => registrationId).not.toBe('')
    await session.send('ServiceWorker.dispatchSyncEvent', { origin: site.url, registrationId, tag, lastChance })
  }
  return {
    startSync,
    async sync(given) {
      const before = site.syncs.length
      await startSync(given)
      await eventually(() => site.syncs.length).toBeGreaterThan(before)
      return site.syncs[before]?.ended ?? ''
    },
    async kill() {
      await session.send('ServiceWorker.stopAllWorkers')
      await eventually(() => running.size).toBe(0)
    },
  }
}

/** A browser of its own for one test, and its tools. */
export async function newDevice(
  browser: Browser,
  site: SyncSite,
): Promise<{ readonly context: BrowserContext; readonly devtools: Tools }> {
  const context = await newContext(browser)
  return { context, devtools: await tools(context, site) }
}

/** Until the page knows of it, it would send by itself. */
export async function goOffline(context: BrowserContext, page: Page): Promise<void> {
  await page.evaluate(() => {
    globalThis.wentOffline = new Promise((resolve) => addEventListener('offline', resolve, { once: true }))
  })
  await context.setOffline(true)
  await page.evaluate(() => globalThis.wentOffline.then(() => {}))
}

/** A page that stores tasks while it has no network, and is closed. */
export async function leave(
  context: BrowserContext,
  site: SyncSite,
  bodies: readonly string[],
  given: Visit = {},
): Promise<void> {
  const page = await visit(context, site, given)
  await goOffline(context, page)
  for (const body of bodies) await store(page, body)
  await page.close()
  await context.setOffline(false)
}
