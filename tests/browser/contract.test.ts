/** The contract that every store passes, unchanged, on the IndexedDB of real browsers. */
import type { Server } from 'node:http'
import { createServer } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bundleForPage } from './bundle.ts'
import { launch } from './chromium.ts'
import type { InPage } from './contract/in-page.ts'
import { launchFirefox } from './firefox.ts'
import { listenDuringTests } from './origins.ts'

/** Of random commands beside the reference; in Node it is 200. Each run opens a database of its own. */
const RUNS = 25
/** No test of the suite waits for real time: one that takes longer hangs. */
const HANGS_AFTER_MS = 60_000

/** What of a page both drivers have. */
interface Page {
  goto(url: string): Promise<unknown>
  evaluate<T, A>(work: (given: A) => T | Promise<T>, given: A): Promise<T>
}
interface Opened {
  readonly page: Page
  close(): Promise<void>
}

const browsers: Record<string, () => Promise<Opened>> = {
  async Chromium() {
    const browser = await launch()
    const page = await browser.newPage()
    return { page: page as Page, close: () => browser.close() }
  },
  async Firefox() {
    const browser = await launchFirefox()
    const page = await browser.newPage()
    return { page: page as unknown as Page, close: () => browser.close() }
  },
}

let script = ''
const server: Server = createServer((request, response) => {
  const isScript = request.url === '/contract.js'
  response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html')
  response.end(isScript ? script : '<!doctype html><script src="/contract.js"></script>')
})
const origin = { server, url: '' }
listenDuringTests(origin)
beforeAll(async () => {
  script = await bundleForPage('contract/in-page.ts', {
    define: { 'globalThis.process': JSON.stringify({ env: { REDRIVE_RUNS: String(RUNS) } }) },
    instead: { vitest: 'contract/vitest.ts' },
  })
})

async function failures(page: Page, names: readonly string[]): Promise<readonly string[]> {
  const failed: string[] = []
  for (const name of names) {
    let alarm: ReturnType<typeof setTimeout> | undefined
    const hangs = new Promise<string>((resolve) => {
      alarm = setTimeout(() => resolve(`hangs for ${HANGS_AFTER_MS} ms`), HANGS_AFTER_MS)
    })
    const ran = page.evaluate((wanted) => (globalThis as { contract?: InPage }).contract?.run(wanted), name)
    const failure = await Promise.race([ran, hangs])
    clearTimeout(alarm)
    if (failure) failed.push(`${name}: ${failure}`)
  }
  return failed
}

describe.each(Object.entries(browsers))('%s', (_, open) => {
  let opened: Opened
  let names: readonly string[] = []

  beforeAll(async () => {
    opened = await open()
    await opened.page.goto(origin.url)
    names = await opened.page.evaluate(() => contract.names(), undefined)
  })
  afterAll(() => opened?.close())

  const of = (start: string): readonly string[] => names.filter((name) => name.startsWith(start))

  test('every test of the contract passes', { timeout: 300_000 }, async () => {
    expect(of('indexeddb: ').length, 'tests of the contract').toBeGreaterThan(100)
    expect(await failures(opened.page, of('indexeddb: '))).toEqual([])
  })

  test('what a store takes for granted of a transaction is so', async () => {
    expect(of('connection > ').length).toBeGreaterThan(5)
    expect(await failures(opened.page, of('connection > '))).toEqual([])
  })

  test('a store that trims in silence does not pass, so a failure is seen here', async () => {
    const [said, ...others] = await failures(opened.page, of('broken: time > S17 beyond'))
    expect(said).toContain('expected undefined to be 1')
    expect(others).toEqual([])
  })
})
