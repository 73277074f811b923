/** Where a Content-Security-Policy forbids WebAssembly the caller gets what plain fetch gives, and is told why once. */

import { beforeEach, expect, test } from 'vitest'
import { duringTests } from '../during.ts'
import { launch, oneFailure, open, startServer } from './chromium.ts'

const options = { policy: { initialDelayMs: 20 } }
const strict = "default-src 'self'; script-src 'self'"

const browser = duringTests(() => launch())
const server = duringTests(() => startServer(oneFailure))

beforeEach(() => server.reset())

test('without `wasm-unsafe-eval`: the failing answer itself, and exactly one `degraded`', async () => {
  await using tab = await open(browser, server, 'fetch', { options, csp: strict })
  await tab.coreFetched
  const statuses = await tab.page.evaluate(async () => {
    const send = async (intent: string) =>
      (await app.queue.fetch(app.api, { method: 'POST', body: JSON.stringify({ intent }) })).status
    return [await send('first'), await send('second'), ...(await Promise.all([send('third'), send('fourth')]))]
  })
  expect(statuses).toEqual([503, 503, 503, 503])
  const degraded = await tab.page.evaluate(() => app.degraded)
  expect(degraded).toHaveLength(1)
  expect(degraded[0]).toMatchObject({ code: 'wasm_refused', message: expect.stringContaining("'wasm-unsafe-eval'") })
  expect(await server.report()).toMatchObject({ attempts: 4, retries: 0 })
  expect(await tab.page.evaluate(() => probe.alive())).toEqual([])
})

test('without `wasm-unsafe-eval`: enqueue says so instead of pretending', async () => {
  await using tab = await open(browser, server, 'fetch', { options, csp: strict })
  const error = await tab.page.evaluate(() =>
    app.queue.enqueue(app.api, { method: 'POST', body: '{"intent":"refused"}' }).then(
      () => null,
      (reason) => ({ code: reason.code, message: reason.message }),
    ),
  )
  expect(error).toMatchObject({ code: 'WASM_UNAVAILABLE', message: expect.stringContaining("'wasm-unsafe-eval'") })
})

test('the same page with `wasm-unsafe-eval`: retried and answered', async () => {
  await using tab = await open(browser, server, 'fetch', { options, csp: `${strict} 'wasm-unsafe-eval'` })
  expect(await tab.page.evaluate(() => app.call('allowed'))).toMatchObject({ intent: 'allowed', effect: 1 })
  expect(await tab.page.evaluate(() => app.degraded)).toEqual([])
  expect(await server.report()).toMatchObject({ attempts: 2, retries: 1 })
})
