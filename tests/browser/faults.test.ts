/** The main job in a real browser: many calls, a server that fails three times in ten, judged by the server. */
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { FaultOptions, FlakyReport, FlakyServer } from '../servers/start.mjs'
import { launch, open, startServer } from './chromium.ts'

const faults: FaultOptions = {
  seed: 11,
  share: 0.3,
  weights: { unavailable: 20, unavailable_retry_after: 1, too_many_requests: 1, reset_before: 9, reset_after: 9 },
  latencyMs: [2, 8],
  slowShare: 0.03,
}
const options = {
  concurrency: 5,
  policy: { maxAttempts: 8, initialDelayMs: 40, maxDelayMs: 400 },
}
const counts = { called: 200, enqueued: 200 }

let browser: Browser
let server: FlakyServer
let elsewhere: FlakyServer

beforeAll(async () => {
  ;[browser, server, elsewhere] = await Promise.all([launch(), startServer(faults), startServer(faults)])
})
afterAll(async () => {
  await browser?.close()
  await Promise.all([server?.close(), elsewhere?.close()])
})

function expectSound(report: FlakyReport): void {
  expect(report.intents).toBe(counts.called + counts.enqueued)
  expect(report.injected.share).toBeGreaterThan(0.2)
  expect(report.injected.byKind.reset_after, 'effects whose answer was lost').toBeGreaterThan(10)
  expect(report.effectsPerIntent).toEqual({ min: 1, max: 1, notOne: [] })
  expect(report.keysPerIntent).toEqual({ min: 1, max: 1, notOne: [] })
  expect(report.keylessWrites).toBe(0)
  expect(report.retryAfter.sent, 'pauses asked for').toBeGreaterThan(2)
  expect(report.retryAfter).toMatchObject({ undercut: 0, worstUndercutMs: 0 })
  expect(report.inFlight.queueMax, 'retries and enqueued calls at once').toBeLessThanOrEqual(options.concurrency)
}

describe('200 called and 200 enqueued, three in ten failing', () => {
  test('with fetch, from the same origin: each takes effect once, under one key, within the limit', async () => {
    await using tab = await open(browser, server, 'fetch', { options })
    expect(await tab.page.evaluate((wanted) => app.run(wanted), counts)).toEqual([])
    expectSound(await server.report())
    expect(await tab.page.evaluate(() => app.degraded)).toEqual([])
    expect(await tab.page.evaluate(() => probe.alive()), 'timers left when idle').toEqual([])
  })

  test('with Axios over XMLHttpRequest and fetch, to another origin: the same', async () => {
    const crossOrigin = { ...options, idempotency: { origins: [elsewhere.url] } }
    await using tab = await open(browser, server, 'axios', { options: crossOrigin, api: elsewhere.url })
    expect(await tab.page.evaluate((wanted) => app.run(wanted), counts)).toEqual([])
    expectSound(await elsewhere.report())
    // A cut connection to another origin looks like a refusal of the key's header; said once, and true of these faults.
    const codes = await tab.page.evaluate(() => app.degraded.map(({ code }) => code))
    expect(codes.filter((code) => code !== 'maybe_cors')).toEqual([])
    expect(await tab.page.evaluate(() => probe.alive()), 'timers left when idle').toEqual([])
  })
})

test('a pause asked of one call holds everything the queue sends there', async () => {
  const weights = { unavailable: 0, unavailable_retry_after: 0, too_many_requests: 1, reset_before: 0, reset_after: 0 }
  await server.configure({ share: 1, maxFaults: 1, weights })
  await server.reset()
  await using tab = await open(browser, server, 'fetch', { options: { concurrency: 2 } })
  expect(await tab.page.evaluate(() => app.run({ called: 1, enqueued: 4 }))).toEqual([])
  const report = await server.report()
  expect(report.retryAfter.sent).toBe(5)
  expect(report.retryAfter).toMatchObject({ undercut: 0, duringPause: 0 })
})
