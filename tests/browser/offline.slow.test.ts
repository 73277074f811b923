/** No network: before the core is here a call is plain fetch, afterwards it waits and is delivered once. */

import { beforeEach, expect, test } from 'vitest'
import { duringTests } from '../during.ts'
import { launch, oneFailure, open, startServer } from './chromium.ts'

const options = { policy: { maxAttempts: 3, initialDelayMs: 20 } }

const browser = duringTests(() => launch())
const server = duringTests(() => startServer({ share: 0 }))

beforeEach(async () => {
  await server.configure({ share: 0 })
  await server.reset()
})

test('offline straight after load: plain fetch and one `degraded`; once online it works', async () => {
  await using tab = await open(browser, server, 'fetch', { options, holdIdle: true })
  await tab.context.setOffline(true)
  await tab.page.evaluate(() => probe.releaseIdle())
  const errors = await tab.page.evaluate(async () => {
    const ask = (intent: string) =>
      app.call(intent).then(
        () => 'no error',
        (error) => `${error.name}: ${error.message}`,
      )
    return [await ask('lost-1'), await ask('lost-2')]
  })
  expect(errors).toEqual(['TypeError: Failed to fetch', 'TypeError: Failed to fetch'])
  expect(await tab.page.evaluate(() => app.degraded.map(({ code }) => code))).toEqual(['core_unreachable'])

  await tab.context.setOffline(false)
  await tab.coreFetched
  await server.configure(oneFailure)
  expect(await tab.page.evaluate(() => app.call('found'))).toMatchObject({ intent: 'found', effect: 1 })
  expect(await tab.page.evaluate(() => app.degraded.length)).toBe(1)
  const report = await server.report()
  expect(report.perIntent).toMatchObject([{ intent: 'found', attempts: 2, effects: 1 }])
})

test('offline after the prefetch: it costs no attempt, the task waits and is delivered once', async () => {
  await using tab = await open(browser, server, 'fetch', { options })
  await tab.coreFetched
  await tab.context.setOffline(true)
  await tab.page.evaluate(() => {
    const handedOver = app.queue.enqueue(app.api, { method: 'POST', body: '{"intent":"handed-over"}' })
    Object.assign(globalThis, { answers: Promise.all([app.call('waits'), handedOver]) })
  })
  await tab.page.waitForFunction(() => app.queue.stats().depth === 2 && app.queue.stats().inFlight === 0)
  expect(await tab.page.evaluate(() => app.queue.stats())).toMatchObject({ depth: 2, inFlight: 0, exhausted: 0 })
  expect((await server.report()).attempts).toBe(0)

  await tab.context.setOffline(false)
  await tab.page.evaluate(async () => {
    await (globalThis as unknown as { answers: Promise<unknown> }).answers
    await app.queue.idle()
  })
  expect(await tab.page.evaluate(() => app.succeeded.map(({ attemptNumber }) => attemptNumber))).toEqual([1, 1])
  const report = await server.report()
  expect(report.effectsPerIntent).toEqual({ min: 1, max: 1, notOne: [] })
  expect(report.attempts).toBe(2)
  expect(await tab.page.evaluate(() => app.degraded)).toEqual([])
  expect(await tab.page.evaluate(() => probe.alive())).toEqual([])
})
