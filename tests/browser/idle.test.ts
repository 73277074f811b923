/** What a page pays while nothing fails: a chunk fetched when it has time, and nothing else. */
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { FlakyServer } from '../servers/start.mjs'
import { launch, open, startServer } from './chromium.ts'

let browser: Browser
let server: FlakyServer

beforeAll(async () => {
  ;[browser, server] = await Promise.all([launch(), startServer({ share: 0 })])
})
afterAll(async () => {
  await browser?.close()
  await server?.close()
})

test('the core is not fetched before the page is idle, and not instantiated while every call succeeds', async () => {
  await using tab = await open(browser, server, 'fetch', { holdIdle: true })
  await tab.page.evaluate(() => app.call('before-idle'))
  expect(tab.coreSeen()).toBe(false)
  await tab.page.evaluate(() => probe.releaseIdle())
  await tab.coreFetched

  await tab.page.evaluate(() => Promise.all(Array.from({ length: 30 }, (_, at) => app.call(`happy-${at}`, at))))
  expect(await tab.page.evaluate(() => probe.wasm)).toEqual([])
  expect(await tab.page.evaluate(() => probe.alive())).toEqual([])
})

test('the first failure instantiates it, from what is already here', async () => {
  await using tab = await open(browser, server, 'fetch', { options: { policy: { initialDelayMs: 20 } } })
  await tab.coreFetched
  const loaded = tab.modules.length
  await server.configure({
    share: 1,
    maxFaults: 1,
    weights: { unavailable: 1, unavailable_retry_after: 0, too_many_requests: 0, reset_before: 0, reset_after: 0 },
  })
  await tab.page.evaluate(() => app.call('first-failure'))
  await server.configure({ share: 0 })
  expect(await tab.page.evaluate(() => probe.wasm.length)).toBeGreaterThan(0)
  expect(tab.modules.length).toBe(loaded)
  expect(await tab.page.evaluate(() => probe.alive())).toEqual([])
})

test('with preload "never" nothing is fetched until it is needed', async () => {
  await using tab = await open(browser, server, 'fetch', { options: { preload: 'never' }, holdIdle: true })
  await tab.page.evaluate(() => probe.releaseIdle())
  await tab.page.evaluate(() => app.call('not-preloaded'))
  expect(tab.coreSeen()).toBe(false)
  await tab.page.evaluate(() => app.queue.enqueue(app.api, { method: 'POST', body: '{"intent":"needed"}' }))
  await tab.coreFetched
  await tab.page.evaluate(() => app.queue.idle())
})

test('a closed queue leaves no timer, and its page goes on with plain fetch once it is uninstalled', async () => {
  await using tab = await open(browser, server, 'fetch')
  await tab.page.evaluate(async () => {
    await app.queue.enqueue(app.api, { method: 'POST', body: '{"intent":"last"}' })
    await app.queue.close()
  })
  expect(await tab.page.evaluate(() => probe.alive())).toEqual([])
  const name = await tab.page.evaluate(() => app.call('after-close').catch((error) => error.name))
  expect(name).toBe('QueueClosedError')
  const status = await tab.page.evaluate(async () => {
    ;(globalThis as unknown as { uninstall: () => void }).uninstall()
    return (await fetch(app.api, { method: 'POST', body: '{"intent":"plain"}' })).status
  })
  expect(status).toBe(200)
})
