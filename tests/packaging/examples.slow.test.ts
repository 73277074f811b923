// The examples as those who copy a folder have them: its files untouched, the package from the tarball, and the server
// that its README names. What the page says is held against what the server saw.

import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import type { BrowserContext, Page } from 'playwright-core'
import { afterEach, describe, expect, onTestFinished, test } from 'vitest'
import { launch } from '../browser/chromium.ts'
import { newContext } from '../browser/contexts.ts'
import { tools } from '../browser/sync-site.ts'
import { duringTests } from '../during.ts'
import { eventually } from '../js/eventually.ts'
import { isMade } from './consumer.ts'
import { copyOf, examples, serve, start, vite } from './example.ts'

const browser = duringTests(() => launch())

const errors: Error[] = []
afterEach(() => expect(errors.splice(0)).toEqual([]))

const refusedTwice = { attempts: 3, keys: 1, effects: 1 }

/** Runs in a page before its scripts, and keeps every word that an order has ever shown. */
function keepWords(): void {
  globalThis.words = []
  const look = () => {
    const word = document.querySelector('output')?.textContent?.trim()
    if (word && word !== words.at(-1)) words.push(word)
  }
  new MutationObserver(look).observe(document, { subtree: true, childList: true })
}
declare global {
  var words: string[]
}

async function open(context: BrowserContext, url: string): Promise<Page> {
  const page = await context.newPage()
  page.on('pageerror', (error) => errors.push(error))
  await page.addInitScript(keepWords)
  await page.goto(url)
  return page
}
const send = (page: Page) => page.getByRole('button').click()
const said = (page: Page) => page.locator('output').innerText()
/** What became of each attempt, as the page has it. */
const log = async (page: Page) => (await page.locator('small').innerText()).split('\n')
const threeAttempts = [/^503: next at /, /^503: next at /, /^200: succeeded$/].map((line) =>
  expect.stringMatching(line),
)

describe('fetch-vanilla', () => {
  test('S5 an order that is refused twice is taken at the third attempt, under one key', async () => {
    const server = await serve(copyOf('fetch-vanilla'))
    const page = await open(await newContext(browser), server.url)
    expect(await page.getByText('Nothing sent yet.').isVisible()).toBe(true)
    await send(page)
    await eventually(() => said(page)).toBe('Sent 200')
    await eventually(() => log(page)).toEqual(threeAttempts)
    const steps = ['Sending', 'Waiting', 'Sending', 'Waiting', 'Sending', 'Sent', 'Sent 200']
    expect(await page.evaluate(() => words)).toEqual(steps)
    expect(await page.getByText('Nothing sent yet.').isVisible()).toBe(false)
    expect(await server.seen()).toEqual([refusedTwice])
  })

  test('one that nobody may have fails at once, and the page says with what', async () => {
    const server = await serve(copyOf('fetch-vanilla'))
    await server.configure({ weights: { unavailable: 0, refused: 1 } })
    const page = await open(await newContext(browser), server.url)
    await send(page)
    await eventually(() => said(page)).toBe('Failed 403')
    expect(await server.seen()).toEqual([{ attempts: 1, keys: 1, effects: 0 }])
  })
})

describe('axios-vite', () => {
  /** Books once, and gives the `x-request-id` of each request. */
  async function book(url: string): Promise<readonly unknown[]> {
    const page = await open(await newContext(browser), url)
    const ids: unknown[] = []
    page.on('request', (request) => request.method() === 'POST' && ids.push(request.headers()['x-request-id']))
    await send(page)
    await eventually(() => said(page)).toBe('Booked 200')
    await eventually(() => log(page)).toEqual(threeAttempts)
    return ids
  }

  test('S5 as Vite builds it: three attempts, one key, and its interceptor ran once', async () => {
    const folder = copyOf('axios-vite', ['axios'])
    const [code] = await once(start(folder, vite, 'build', '--logLevel', 'warn'), 'close')
    expect(code).toBe(0)
    const server = await serve(join(folder, 'dist'))
    const ids = await book(server.url)
    expect(await server.seen()).toEqual([refusedTwice])
    expect(ids).toEqual([ids[0], ids[0], ids[0]])
    expect(ids[0]).toMatch(/^[0-9a-f-]{36}$/)
  })

  test('as its development server has it, with the API behind a proxy', async () => {
    const folder = copyOf('axios-vite', ['axios'])
    const server = await serve(folder)
    const { createServer } = await import('vite')
    // but for the port of the API, which has to be free in a test
    const proxy = { '/api': server.url }
    const dev = await createServer({ root: folder, logLevel: 'warn', server: { host: '127.0.0.1', port: 0, proxy } })
    onTestFinished(() => dev.close())
    await dev.listen()
    expect(await book(dev.resolvedUrls?.local[0] ?? '')).toHaveLength(3)
    expect(await server.seen()).toEqual([refusedTwice])
  })
})

describe('service-worker', () => {
  test('S5 the page sends what it can send itself', async () => {
    const server = await serve(copyOf('service-worker'))
    const page = await open(await newContext(browser), server.url)
    await send(page)
    await eventually(() => said(page)).toBe('Sent')
    expect(await log(page)).toEqual(threeAttempts)
    expect(await server.seen()).toEqual([refusedTwice])
  })

  test('S1 S5 the worker sends what a page has left that was closed without a network, and the next page says so', async () => {
    const server = await serve(copyOf('service-worker'))
    const context = await newContext(browser)
    const devtools = await tools(context, { url: server.url, syncs: [] })
    const page = await open(context, server.url)
    await page.evaluate(async () => void (await navigator.serviceWorker.ready))
    // a page that has not loaded its store yet keeps a task in memory, and takes it along when it is closed
    const loaded = () => performance.getEntriesByType('resource').some(({ name }) => name.endsWith('/indexeddb.js'))
    await page.waitForFunction(loaded)
    await page.waitForLoadState('networkidle')
    await context.setOffline(true)
    await send(page)
    await eventually(() => said(page)).toBe('Waiting')
    await page.close()
    await context.setOffline(false)
    // the worker hears of the network at a moment of its own: a browser, too, repeats a sync that came before that
    const afterSync = async () => {
      await devtools.startSync({ tag: 'redrive/messages' })
      return server.seen()
    }
    await expect.poll(afterSync, { timeout: 20_000, interval: 1_000 }).toEqual([refusedTwice])
    const next = await open(context, server.url)
    await eventually(() => said(next)).toBe('Sent')
    expect(await log(next)).toEqual(threeAttempts)
    expect(await server.seen()).toEqual([refusedTwice])
  })
})

const own = readdirSync(examples).filter((name) => existsSync(join(examples, name, 'package.json')))
const isCode = (file: string) =>
  ['.js', '.mjs', '.jsx', '.ts', '.tsx', '.html', '.css', '.jsonc'].includes(extname(file))

// a list with what may be done about each task, orders that could not be stored, tasks that wait for credentials
const MOST_LINES: Readonly<Record<string, number>> = { react: 90 }

test.each(own)('%s is short enough to read: at most 60 lines of code', (name) => {
  const files = readdirSync(join(examples, name), { recursive: true, encoding: 'utf8' })
  const code = files.filter((file) => !isMade(file) && isCode(file))
  const lines = code.flatMap((file) => readFileSync(join(examples, name, file), 'utf8').split('\n'))
  expect(lines.filter((line) => line.trim() !== '').length).toBeLessThanOrEqual(MOST_LINES[name] ?? 60)
  expect(lines.filter((line) => line.length > 120)).toEqual([])
})
