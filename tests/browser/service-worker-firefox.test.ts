/** Firefox has no Background Sync: everything is there all the same, says so, and is in nobody's way. */
import type { Browser, Page } from 'puppeteer-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { launchFirefox } from './firefox.ts'
import { listenDuringTests } from './origins.ts'
import { syncSite } from './sync-site.ts'

const site = syncSite()
listenDuringTests(site)

let browser: Browser
let page: Page
beforeAll(async () => {
  browser = await launchFirefox()
  page = await browser.newPage()
  // a worker of one script: modules are for later versions of Firefox
  await page.goto(`${site.url}/pages/sync-page.html?worker=sync-worker.classic.js&type=classic&asks`)
  await page.waitForFunction(() => globalThis.syncPage !== undefined)
})
afterAll(() => browser?.close())

test('a page is told that nobody will wake its worker, and sends by itself', async () => {
  expect(await page.evaluate(() => syncPage.supported)).toBe(false)
  const status = await page.evaluate(async () => {
    const { taskId } = await syncPage.queue.enqueue('/api/orders', { method: 'POST', body: 'by the page' })
    return (await syncPage.queue.result(taskId)).task.status
  })
  expect(status).toBe('SUCCEEDED')
  expect(site.seen.map(({ body }) => body)).toEqual(['by the page'])
  expect(await page.evaluate(() => syncPage.degraded)).toEqual([])
})

test('in the worker, too; its core and its store open there', async () => {
  const said = await page.evaluate(async () => {
    const state = await syncPage.active
    const { active } = await navigator.serviceWorker.ready
    const { port1, port2 } = new MessageChannel()
    const answer = new Promise((resolve) => {
      port1.onmessage = ({ data }) => resolve(data)
    })
    active?.postMessage('open', [port2])
    return { state, said: await answer }
  })
  expect(said).toEqual({ state: 'active', said: { supported: false, degraded: [] } })
})
