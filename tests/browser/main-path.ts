/**
 * The main path, whichever browser and whatever drives it: a first attempt that fails, many at once of which three in ten
 * do, and tasks that outlive their page. The server is the judge.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { eventually } from '../js/eventually.ts'
import type { FaultOptions, FlakyServer } from '../servers/start.mjs'
import { oneFailure, startServer } from './chromium.ts'
import type { Engine, Tab } from './engines.ts'

const down: FaultOptions = { ...oneFailure, maxFaults: 1_000 }
const shaky: FaultOptions = {
  seed: 11,
  share: 0.3,
  maxFaults: 4,
  weights: { unavailable: 20, unavailable_retry_after: 1, too_many_requests: 1, reset_before: 9, reset_after: 9 },
}
const once = { min: 1, max: 1, notOne: [] }

export function mainPath(name: string, launch: () => Promise<Engine>): void {
  describe(name, () => {
    let engine: Engine
    let server: FlakyServer
    let count = 0

    beforeAll(async () => {
      ;[engine, server] = await Promise.all([launch(), startServer({ share: 0 })])
    })
    beforeEach(async () => {
      await server.configure({ share: 0, slowShare: 0 })
      await server.reset()
    })
    afterAll(async () => {
      await engine?.close()
      await server?.close()
    })

    async function open(page: 'fetch' | 'axios', options: object): Promise<Tab> {
      const url = new URL(`/pages/${page}.html`, server.url)
      url.searchParams.set('options', JSON.stringify(options))
      const tab = await engine.open(url.href)
      onTestFinished(() => tab.close().then(() => {}))
      await eventually(() => tab.run('globalThis.app !== undefined')).toBe(true)
      return tab
    }
    /** A page whose queue keeps its tasks, under a name of its own unless one is given. */
    const openDurable = (name = `main-path-${++count}`, policy: object = {}): Promise<Tab> =>
      open('fetch', {
        name,
        durable: true,
        principal: 'user-1',
        policy: { maxAttempts: 50, initialDelayMs: 200, multiplier: 1, ...policy },
      })
    const enqueue = (tab: Tab, intent: string): Promise<string> =>
      tab.run(
        `app.queue.enqueue(app.api, { method: 'POST', body: '{"intent":"${intent}"}' }).then((got) => got.durability)`,
      )
    /** It is kept, and has failed. */
    async function leave(tab: Tab, intent: string): Promise<void> {
      await server.configure(down)
      expect(await enqueue(tab, intent)).toBe('strict')
      await eventually(async () => (await server.report()).attempts).toBeGreaterThan(0)
    }
    const degraded = (tab: Tab) => tab.run('app.degraded')

    describe.each(['fetch', 'axios'] as const)('with %s', (page) => {
      test('S5 a first attempt that fails is followed by one under the same key, and the caller sees one answer', async () => {
        await server.configure(oneFailure)
        const tab = await open(page, { policy: { initialDelayMs: 20 } })
        // each page has two ways of sending, by the number of the call
        const answers = await tab.run(`Promise.all([app.call('one', 0), app.call('two', 1)])`)
        expect(answers).toEqual([
          { intent: 'one', effect: 1 },
          { intent: 'two', effect: 1 },
        ])
        const report = await server.report()
        expect(report.perIntent.map(({ attempts, keys }) => [attempts, keys.length])).toEqual([
          [2, 1],
          [2, 1],
        ])
        expect(await degraded(tab)).toEqual([])
      })

      test('S5 S7 of 60 called and 60 enqueued, three in ten failing, each takes effect once, under one key', async () => {
        await server.configure(shaky)
        const tab = await open(page, {
          concurrency: 5,
          policy: { maxAttempts: 8, initialDelayMs: 40, maxDelayMs: 400 },
        })
        expect(await tab.run('app.run({ called: 60, enqueued: 60 })')).toEqual([])
        const report = await server.report()
        expect(report).toMatchObject({ intents: 120, effectsPerIntent: once, keysPerIntent: once, keylessWrites: 0 })
        expect(report.injected.share).toBeGreaterThan(0.2)
        expect(report.retryAfter).toMatchObject({ undercut: 0, worstUndercutMs: 0 })
        expect(report.inFlight.queueMax).toBeLessThanOrEqual(5)
        expect(await degraded(tab)).toEqual([])
      })
    })

    describe('with a principal', () => {
      test('S1 S5 a task outlives a reload, is taken up again, and takes effect once', async () => {
        const tab = await openDurable()
        await leave(tab, 'reloaded')
        await tab.reload()
        await server.configure({ share: 0 })
        await eventually(() => tab.run('app.succeeded.length')).toBe(1)
        expect(await server.report()).toMatchObject({ effectsPerIntent: once, keysPerIntent: once })
        expect(await degraded(tab)).toEqual([])
      })

      test('S9 a reload shortens no wait, and what was delivered is not sent again', async () => {
        const tab = await openDurable(`main-path-${++count}`, { initialDelayMs: 8_000, jitterType: 'NONE' })
        expect(await enqueue(tab, 'delivered')).toBe('strict')
        await eventually(() => tab.run('app.succeeded.length')).toBe(1)
        await server.configure(down)
        expect(await enqueue(tab, 'waits')).toBe('strict')
        // not only answered: a reload takes an attempt along whose end is not in the store yet, and that goes on at once
        const waiting = `app.queue.list({ status: 'PENDING' }).then(({ tasks }) => tasks.map((task) => task.attemptNumber))`
        await eventually(() => tab.run(waiting)).toEqual([1])
        await server.configure({ share: 0 })
        await tab.reload()
        await eventually(() => tab.run('app.succeeded.length')).toBe(1)
        const { visits = [] } = await server.report({ visits: true })
        expect(visits.map(({ intent }) => intent)).toEqual(['delivered', 'waits', 'waits'])
        expect((visits[2]?.startedAt ?? 0) - (visits[1]?.endedAt ?? 0)).toBeGreaterThanOrEqual(3_000 - 1)
      })

      test('S1 S5 a task of a tab that was closed is sent when the next one opens', async () => {
        const name = `main-path-${++count}`
        const tab = await openDurable(name)
        await leave(tab, 'closed')
        await tab.close()
        await server.configure({ share: 0 })
        const next = await openDurable(name)
        await eventually(() => next.run('app.succeeded.length')).toBe(1)
        expect(await server.report()).toMatchObject({ effectsPerIntent: once, keysPerIntent: once })
        expect(await degraded(next)).toEqual([])
      })

      test('L3 a tab that is open goes on with what another has left', async () => {
        const name = `main-path-${++count}`
        const [leaving, staying] = [await openDurable(name), await openDurable(name)]
        await leave(leaving, 'left')
        await leaving.close()
        await server.configure({ share: 0 })
        await eventually(() => staying.run('app.succeeded.length')).toBe(1)
        expect(await server.report()).toMatchObject({ effectsPerIntent: once, keysPerIntent: once })
      })
    })
  })
}
