/** The user, or the browser, clears a site's data while its queue runs; and a window whose storage ends with it. */
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { eventually } from '../js/eventually.ts'
import { launch } from './chromium.ts'
import { labOrigin, openLab } from './lab.ts'
import { listenDuringTests } from './origins.ts'
import { WITHIN_MS } from './storage-faults.ts'

let browser: Browser
const origin = labOrigin()
listenDuringTests(origin)
beforeAll(async () => {
  browser = await launch()
})
beforeEach(() => origin.reset())
afterAll(() => browser?.close())

async function device(): Promise<BrowserContext> {
  const context = await browser.newContext()
  onTestFinished(() => context.close())
  return context
}

const clearings: Readonly<Record<string, (page: Page, context: BrowserContext) => Promise<void>>> = {
  async 'by the browser'(page, context) {
    const session = await context.newCDPSession(page)
    await session.send('Storage.clearDataForOrigin', { origin: origin.url, storageTypes: 'indexeddb' })
  },
  async 'by another tab that deletes the database'(_, context) {
    const other = await context.newPage()
    await other.goto(`${origin.url}/pages/lab.html`)
    await other.evaluate(
      () =>
        new Promise<void>((resolve, reject) => {
          const request = indexedDB.deleteDatabase('redrive-default')
          request.onsuccess = () => resolve()
          request.onerror = () => reject(request.error)
        }),
    )
    await other.close()
  },
}

test.each(Object.entries(clearings))(
  'S18 storage is cleared under a running queue %s: told once, callers settle, new tasks are stored',
  async (_, clear) => {
    const context = await device()
    const page = await openLab(context, origin)
    // the first attempt fails, and the next is far away: its caller waits for a task that will be gone
    origin.answer = ({ path }) => (path === '/api/waits' ? 503 : 200)
    await page.evaluate(async () => {
      await lab.open({ durable: true, principal: 'ann', policy: { initialDelayMs: 20_000 } }).ready
      const call = lab.queue.fetch('/api/waits', { method: 'POST', body: 'waits', redrive: { waitMs: 60_000 } })
      Object.assign(globalThis, { ended: call.then(({ status }) => status).catch((error) => error.code) })
    })
    // not `waitForFunction`, which takes a promise for an answer
    await eventually(() => page.evaluate(async () => (await lab.queue.list({ status: 'PENDING' })).tasks.length)).toBe(
      1,
    )
    await clear(page, context)

    const from = Date.now()
    const receipt = await page.evaluate(() => lab.queue.enqueue('/api/next', { method: 'POST', body: 'next' }))
    expect(receipt.durability).toBe('strict')
    const ended = await page.evaluate(() => (globalThis as unknown as { ended: Promise<unknown> }).ended)
    expect([503, 'TASK_NOT_FOUND']).toContain(ended)
    const outcome = await page.evaluate((taskId) => lab.queue.result(taskId), receipt.taskId)
    expect(outcome.task.status).toBe('SUCCEEDED')
    expect(Date.now() - from).toBeLessThan(WITHIN_MS)
    const degraded = await page.evaluate(() => lab.degraded)
    expect(degraded.map(({ code }) => code)).toEqual(['storage_evicted'])
    expect(degraded[0]?.message).toMatch(/cleared/)
    expect(degraded[0]?.message).toMatch(/persist|nothing|lost|gone/)
  },
)

test('a private window keeps tasks from one page to the next, and nothing once it is closed', async () => {
  const context = await browser.newContext()
  const page = await openLab(context, origin)
  await page.evaluate(() => lab.open({ durable: true, principal: 'ann' }).ready)
  await context.setOffline(true)
  const { durability } = await page.evaluate(() => lab.queue.enqueue('/api/order', { method: 'POST', body: 'order' }))
  expect(durability).toBe('strict')
  // while it is offline: on its way it might be sent, and again by the next
  await page.close()
  await context.setOffline(false)
  const next = await openLab(context, origin)
  await next.evaluate(() => lab.open({ durable: true, principal: 'ann' }).ready)
  await eventually(() => origin.received.map(({ body }) => body)).toEqual(['order'])
  expect(await next.evaluate(() => lab.degraded)).toEqual([])
  await next.evaluate(() => lab.queue.idle())
  await context.setOffline(true)
  await next.evaluate(() => lab.queue.enqueue('/api/order', { method: 'POST', body: 'left' }))
  await context.close()

  const other = await openLab(await device(), origin)
  await other.evaluate(() => lab.open({ durable: true, principal: 'ann' }).ready)
  expect(await other.evaluate(async () => (await lab.queue.list()).tasks)).toEqual([])
  expect(await other.evaluate(() => lab.degraded)).toEqual([])
})
