/** L1 in a page whose later chunks come late, or not at the first try: what an earlier page has left is sent all the same. */
import type { Browser, BrowserContext } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { eventually } from '../js/eventually.ts'
import { launch } from './chromium.ts'
import { labOrigin, openLab } from './lab.ts'
import { listenDuringTests } from './origins.ts'

let browser: Browser
const origin = labOrigin()
listenDuringTests(origin)
beforeAll(async () => {
  browser = await launch()
})
afterAll(() => browser?.close())
beforeEach(() => origin.reset())

/** A browser in which a page has left three tasks. */
async function leaveTasks(): Promise<BrowserContext> {
  const context = await browser.newContext()
  onTestFinished(() => context.close())
  const page = await openLab(context, origin)
  await page.evaluate(async () => {
    lab.open({ durable: true, principal: 'ann' }).pause()
    for (let i = 0; i < 3; i++) await lab.queue.enqueue('/api/order', { method: 'POST', body: 'tea' })
  })
  await page.close()
  return context
}

test('L1 chunks that come after 12 s are used when they come', async () => {
  const context = await leaveTasks()
  let arrive: () => void = () => {}
  const arrived = new Promise<void>((resolve) => {
    arrive = resolve
  })
  const page = await openLab(context, origin)
  origin.holdBack = () => arrived
  await page.evaluate(() => void lab.open({ durable: true, principal: 'ann' }))
  await page.waitForFunction(() => lab.degraded.length > 0)
  expect(await page.evaluate(() => lab.degraded.map(({ code }) => code))).toEqual(['core_unreachable'])
  expect(await page.evaluate(async () => (await lab.queue.fetch('/api/mine')).status)).toBe(200)
  await new Promise((resolve) => setTimeout(resolve, 2_000))
  arrive()
  await eventually(() => origin.received.filter(({ path }) => path === '/api/order').length).toBe(3)
})

test.for(['the core', 'the store'] as const)(
  'L1 a chunk that the server refuses at first is asked for again: %s',
  async (what) => {
    const context = await leaveTasks()
    let refused = 0
    const page = await openLab(context, origin)
    origin.holdBack = (path) => {
      if (refused === 2 || (what === 'the store' && path !== '/pkg/indexeddb.js')) return undefined
      refused++
      return Promise.reject(new Error('503'))
    }
    await page.evaluate(() => void lab.open({ durable: true, principal: 'ann' }))
    await eventually(() => origin.received.length).toBe(3)
    expect(refused).toBe(2)
  },
)
