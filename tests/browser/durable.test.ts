/** A page's own store in a real browser: what outlives a reload, a closed tab, a crash, and the way back. */
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { FlakyServer } from '../servers/start.mjs'
import { launch, startServer } from './chromium.ts'

const down = {
  share: 1,
  weights: { unavailable: 1, unavailable_retry_after: 0, too_many_requests: 0, reset_before: 0, reset_after: 0 },
}
const policy = { maxAttempts: 50, initialDelayMs: 200, multiplier: 1 }

let browser: Browser
let server: FlakyServer
let count = 0

beforeAll(async () => {
  ;[browser, server] = await Promise.all([launch(), startServer({ share: 0 })])
})
beforeEach(async () => {
  await server.configure({ share: 0 })
  await server.reset()
})
afterAll(async () => {
  await browser?.close()
  await server?.close()
})

/** A page whose queue keeps its tasks, under a name of its own unless one is given. */
async function open(context: BrowserContext, name = `q${++count}`): Promise<Page> {
  const page = await context.newPage()
  const url = new URL('/pages/fetch.html', server.url)
  url.searchParams.set('options', JSON.stringify({ name, principal: 'user-1', policy }))
  await page.goto(url.href)
  await page.waitForFunction(() => globalThis.app !== undefined)
  return page
}

const enqueue = (page: Page, intent: string): Promise<{ durability: string; taskId: string }> =>
  page.evaluate((intent) => app.queue.enqueue(app.api, { method: 'POST', body: JSON.stringify({ intent }) }), intent)

const effects = async (): Promise<unknown> => (await server.report()).effectsPerIntent

test('S1 a task outlives a reload, and is delivered once', async () => {
  await using context = await browser.newContext()
  const page = await open(context)
  await server.configure(down)
  expect(await enqueue(page, 'reloaded')).toMatchObject({ durability: 'strict' })
  await expect.poll(async () => (await server.report()).attempts).toBeGreaterThan(0)
  await page.reload()
  await server.configure({ share: 0 })
  await expect.poll(effects).toEqual({ min: 1, max: 1, notOne: [] })
  await page.waitForFunction(() => app.succeeded.length === 1)
  expect(await page.evaluate(() => app.degraded)).toEqual([])
})

test('S1 a task of a tab that was closed is sent when the next one opens', async () => {
  await using context = await browser.newContext()
  const name = `q${++count}`
  const page = await open(context, name)
  await server.configure(down)
  await enqueue(page, 'closed')
  await expect.poll(async () => (await server.report()).attempts).toBeGreaterThan(0)
  await page.close()
  await server.configure({ share: 0 })
  const next = await open(context, name)
  await next.waitForFunction(() => app.succeeded.length === 1)
  expect(await effects()).toEqual({ min: 1, max: 1, notOne: [] })
})
