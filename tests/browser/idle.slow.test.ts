/** What a page pays while nothing fails: a chunk fetched when it has time, and nothing else. */

import { readdirSync, readFileSync } from 'node:fs'
import { expect, test, vi } from 'vitest'
import { duringTests } from '../during.ts'
import { launch, oneFailure, open, startServer } from './chromium.ts'

const browser = duringTests(() => launch())
const server = duringTests(() => startServer({ share: 0 }))

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

/** The chunk with the words of explain(), and those that it imports. */
function wordsOf(pkg: URL): readonly [face: string, ...imported: string[]] {
  const face = readdirSync(pkg).find((name) => /^explain-.*\.js$/.test(name)) ?? ''
  const code = readFileSync(new URL(face, pkg), 'utf8')
  return [face, ...[...code.matchAll(/"\.\/([^"]+)"/g)].map(([, name = '']) => name)]
}

test('the first failure instantiates it, from what is already here; only what explains tasks comes then', async () => {
  await using tab = await open(browser, server, 'fetch', { options: { policy: { initialDelayMs: 20 } } })
  await tab.coreFetched
  const fetched = () => tab.modules.map((url) => url.slice(url.lastIndexOf('/') + 1))
  const before = fetched()
  const [face, ...imported] = wordsOf(new URL('../../pkg/', import.meta.url))
  expect(before).not.toContain(face)
  await server.configure(oneFailure)
  await tab.page.evaluate(() => app.call('first-failure'))
  await server.configure({ share: 0 })
  expect(await tab.page.evaluate(() => probe.wasm.length)).toBeGreaterThan(0)
  await vi.waitFor(() => expect(fetched()).toContain(face))
  const since = fetched().slice(before.length)
  expect(since.filter((name) => name !== face && !imported.includes(name))).toEqual([])
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
