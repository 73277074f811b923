/** A real Chromium, real pages and a flaky server in a process of its own: what the browser tests stand on. */
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import {
  type Browser,
  type BrowserContext,
  chromium,
  type LaunchOptions,
  type Page,
  type Response,
} from 'playwright-core'
import { only } from '../servers/faults.mjs'
import { type FaultOptions, type FlakyServer, startFlaky } from '../servers/start.mjs'
import { installProbe, type Probe } from './probe.ts'

export const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

/** For browsers that nobody looks at. */
export const quiet: readonly string[] = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** What the pages expose: see pages/app.js. */
export interface App {
  readonly queue: import('../../js/index.ts').RetryQueue
  readonly api: string
  readonly degraded: readonly { readonly code: string; readonly message: string }[]
  readonly succeeded: readonly { readonly taskId: string; readonly attemptNumber: number }[]
  readonly call: (intent: string, at?: number) => Promise<{ readonly intent: string; readonly effect: number }>
  readonly run: (counts: { readonly called: number; readonly enqueued: number }) => Promise<readonly string[]>
}
declare global {
  var app: App
  var probe: Probe
}

export function launch(options: LaunchOptions = {}): Promise<Browser> {
  return chromium.launch({ executablePath: chromiumPath(), args: [...quiet], ...options })
}

/** With a profile on the disk, which outlives the browser. */
export function launchOn(profile: string): Promise<BrowserContext> {
  return chromium.launchPersistentContext(profile, { executablePath: chromiumPath(), args: [...quiet] })
}

/** Ends the process of a page: neither its scripts nor its locks hear of it before. */
export async function crash(page: Page): Promise<void> {
  const session = await page.context().newCDPSession(page)
  const crashed = page.waitForEvent('crash')
  session.send('Page.crash').catch(() => {}) // the answer dies with the page
  await crashed
}

/** Where Chromium is on this machine. */
export function chromiumPath(): string {
  const paths = [process.env.CHROMIUM_PATH, '/usr/bin/chromium', chromium.executablePath()]
  const executablePath = paths.find((path) => path !== undefined && existsSync(path))
  if (executablePath === undefined) {
    throw new Error(
      'no Chromium for the browser tests: set CHROMIUM_PATH, or `apt-get install chromium`, or `npx playwright-core install chromium`',
    )
  }
  return executablePath
}

/** Each intent fails once, with a 503. */
export const oneFailure = {
  share: 1,
  maxFaults: 1,
  weights: only('unavailable'),
} as const satisfies FaultOptions

/** The API, and with it the built package, the pages and Axios' own browser build, all from one origin. */
export function startServer(faults: FaultOptions = {}): Promise<FlakyServer> {
  return startFlaky({
    faults,
    mounts: {
      '/pkg/': here('../../pkg'),
      '/ui/': here('../../pkg-service/ui'),
      '/pages/': here('pages'),
      '/axios/': here('../../node_modules/axios/dist/esm'),
    },
  })
}

export interface Tab extends AsyncDisposable {
  readonly page: Page
  readonly context: BrowserContext
  /** Resolves once the chunk with the core has been fetched whole. */
  readonly coreFetched: Promise<void>
  /** Whether that fetch has so much as begun to answer. */
  readonly coreSeen: () => boolean
  /** Addresses of everything that was fetched from the package, in order. */
  readonly modules: readonly string[]
}

export interface PageOptions {
  readonly api?: string
  readonly options?: object
  readonly csp?: string
}

/** Opens a page of its own, with the probe in place, and waits until the page's own scripts have run. */
export async function open(
  browser: Browser,
  server: Pick<FlakyServer, 'url'>,
  name: 'fetch' | 'axios',
  { holdIdle = false, ...query }: PageOptions & { readonly holdIdle?: boolean } = {},
): Promise<Tab> {
  const context = await browser.newContext()
  const page = await context.newPage()
  await page.addInitScript(installProbe, { holdIdle })
  const modules: string[] = []
  let coreSeen = false
  const seen = async (response: Response): Promise<boolean> => {
    if (!response.url().startsWith(`${server.url}/pkg/`)) return false
    modules.push(response.url())
    return (await response.text().catch(() => '')).includes('WebAssembly.instantiate(')
  }
  const coreFetched = new Promise<void>((resolve, reject) => {
    // The chunk may have imports of its own. Importing it again, now from the page's module map, ends when all are
    // here. As text: the test runner would rewrite an `import()` in a function.
    const whole = () => page.evaluate(`Promise.all(${JSON.stringify(modules)}.map((url) => import(url)))`)
    page.on('response', (response) => {
      seen(response)
        .then(async (isCore) => {
          if (!isCore) return
          coreSeen = true
          await whole()
          resolve()
        })
        .catch(reject)
    })
  })
  coreFetched.catch(() => {}) // a page closed before anybody asked
  const url = new URL(`/pages/${name}.html`, server.url)
  if (query.api !== undefined) url.searchParams.set('api', query.api)
  if (query.csp !== undefined) url.searchParams.set('csp', query.csp)
  url.searchParams.set('options', JSON.stringify(query.options ?? {}))
  await page.goto(url.href)
  await page.waitForFunction(() => globalThis.app !== undefined)
  return { page, context, coreFetched, coreSeen: () => coreSeen, modules, [Symbol.asyncDispose]: () => context.close() }
}
