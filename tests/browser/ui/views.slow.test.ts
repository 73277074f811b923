/** The lab's crowd, frontier and outage in real browsers: each number of their tables is that of the simulation's own program for the same seed. */

import { beforeAll, describe, expect, test } from 'vitest'
import type { RetryPolicy } from '../../../js/api/policy.ts'
import { duration, grouped } from '../../../js/display/format.ts'
import { presets } from '../../../js/options/presets.ts'
import type { CrowdAnswer, FrontierRow, OutageAnswer } from '../../../js/ui/engine/model.ts'
import { percent, ratio } from '../../../js/ui/lab/sight.ts'
import { duringTests } from '../../during.ts'
import { engines, type Tab } from '../engines.ts'
import { fill, link, type Shown, shown, until } from './lab-tab.ts'
import { buildSimulator, row, simulated } from './simulator.ts'
import { KEPT, type Kept, uiServer } from './ui-page.ts'

type Plain<T> = { readonly [K in keyof T]: T[K] extends ArrayLike<number> ? readonly number[] : T[K] }

const LAB = "document.querySelector('redrive-curve')"
const spread: Partial<RetryPolicy> = {
  policyId: 'mine',
  strategy: 'spread',
  initialDelayMs: 10_000,
  maxDelayMs: 86_400_000,
  maxAttempts: 12,
}

const server = duringTests(() => uiServer('<redrive-curve></redrive-curve>'))
beforeAll(buildSimulator, 900_000)

describe.each(engines)('%s', (_, start) => {
  let tab: Tab
  const engine = duringTests(start)

  async function view(
    state: Readonly<Record<string, unknown>>,
    title: string,
    work: (seen: Shown) => Promise<void> | void,
  ): Promise<void> {
    tab = await engine.open(server.url + link(state))
    try {
      await work(await shown(tab, title))
      expect(await tab.run<Kept>(KEPT)).toEqual({ violations: [], errors: [] })
    } finally {
      await tab.close()
      server.refused = undefined
    }
  }

  test.each([
    ['spread', spread, 100, 1],
    ['sidekiq', presets.sidekiq, 100, 7],
    ['twelve attempts', presets.interactive, 1_000, 3],
    ['so many that they are a raster', spread, 30_000, 2],
  ] as const)('crowd, %s', async (_, policy, jobs, seed) => {
    const crowd = await simulated<Plain<CrowdAnswer>>('crowd', ...row(policy), '--jobs', `${jobs}`, '--seed', `${seed}`)
    await view({ view: 'crowd', policy, jobs, seed }, 'fail together', ({ rows, figures }) => {
      expect(rows).toEqual(
        crowd.retries.map(({ retry, firstMs, meanMs, lastMs, meanWaitMs, waitCv }) => [
          String(retry),
          ...[firstMs, meanMs, lastMs, meanWaitMs].map(duration),
          ratio(waitCv),
        ]),
      )
      expect(figures).toMatchObject({
        'Idle time': percent(crowd.idle),
        'Peak load': grouped(crowd.peakCount),
        'Peak over mean': ratio(crowd.peak),
        'CV of the waits': ratio(crowd.waitCv),
      })
    })
  })

  test('frontier: the table of sim:spread, and the chosen policy below it', async () => {
    const table = await simulated<readonly Plain<FrontierRow>[]>('spread', '--json', '--crowds', '20', '--seed', '5')
    await view({ view: 'frontier', policy: spread, seed: 5 }, 'Evenness', ({ rows, summary }) => {
      expect(rows.slice(0, -1).map((each) => each.slice(0, 5))).toEqual(
        table.map(({ name, waitCv, idle, peak, loadCv }) => [
          name,
          ratio(waitCv),
          percent(idle),
          ratio(peak),
          loadCv === null ? '–' : ratio(loadCv),
        ]),
      )
      expect(rows.at(-1)?.[0]).toBe('mine')
      expect(summary).toContain('Spread leaves')
    })
  })

  test.each([
    ['with the gates of the package', {}],
    // every failed call is made again and again: with 200 clients a busy machine needs more than the 50 s of a view
    ['without gates the server stays down', { gates: 'none', clients: 50, capacity: 250 }],
    ['callers who wait for 30 s', { calls: 'awaited' }],
    [
      'a small server, a short queue, refusals',
      { capacity: 200, load: 0.5, outageMs: 20_000, backlog: 'short', outage: 'refusing', clients: 50 },
    ],
  ] as const)('outage: %s', async (name, change) => {
    const state = {
      clients: 200,
      capacity: 1_000,
      load: 0.7,
      outageMs: 60_000,
      backlog: 'deep',
      outage: 'hanging',
      calls: 'enqueued',
      gates: 'shipped',
      ...change,
    }
    const policy = { ...presets.background, attemptTimeoutMs: 1_000 }
    const { clients, capacity, load, outageMs, backlog, outage, calls, gates } = state
    const stormOf = (calls: string) => {
      const flags = { clients, capacity, load, down: outageMs / 1_000, backlog, outage, calls, gates, seed: 4 }
      const given = Object.entries(flags).flatMap(([flag, value]) => [`--${flag}`, `${value}`])
      return simulated<Plain<OutageAnswer>>('storm', '--json', ...row(policy), ...given)
    }
    const storm = await stormOf(calls)
    const otherCalls = calls === 'awaited' ? 'enqueued' : 'awaited'
    const other = await stormOf(otherCalls)
    await view(
      { view: 'outage', policy, seed: 4, ...change },
      `${clients} clients with ${calls} calls`,
      ({ rows, figures, beside, summary }) => {
        const seconds = storm.calls.length - 1
        const every = Math.max(1, Math.ceil(seconds / 60))
        const mean = (values: readonly number[], from: number): string => {
          const part = values.slice(0, -1).slice(from, from + every)
          return grouped(Math.round(part.reduce((a, b) => a + b, 0) / part.length))
        }
        const starts = Array.from({ length: Math.ceil(seconds / every) }, (_, i) => i * every)
        expect(rows).toEqual(
          starts.map((from) => [
            String(from),
            mean(storm.calls, from),
            mean(storm.requests, from),
            mean(storm.answered, from),
            grouped(storm.open[Math.min(from + every, seconds) - 1] ?? 0),
          ]),
        )
        expect(figures).toMatchObject({
          Amplification: ratio(storm.amplification),
          'Asked in vain': ratio(storm.askedInVain),
        })
        const gone = ({ collapsed, drainedS }: Plain<OutageAnswer>) =>
          collapsed ? 'never' : drainedS === null ? '–' : `${Math.round(drainedS)} s`
        expect(figures['Backlog gone']).toBe(gone(storm))
        expect(beside).toMatchObject({
          'Backlog gone': `${otherCalls}: ${gone(other)}`,
          Amplification: `${otherCalls}: ${ratio(other.amplification)}`,
          'Asked in vain': `${otherCalls}: ${ratio(other.askedInVain)}`,
        })
        expect(summary.includes('stays down')).toBe(name.includes('stays down'))
      },
    )
  })

  test('a slider that moves on replaces what was asked before', async () => {
    await view({ view: 'crowd', policy: spread }, '100 tasks', async () => {
      for (const jobs of ['1000000', '999999', '200']) await fill(tab, 'view-jobs', jobs)
      expect((await shown(tab, '200 tasks')).rows).toHaveLength(10)
    })
  })

  test('where the Worker cannot be loaded, the page computes the same', async () => {
    const crowd = await simulated<Plain<CrowdAnswer>>('crowd', ...row(spread))
    server.refused = /ui-worker\.js$/
    await view({ view: 'crowd', policy: spread }, '100 tasks', ({ figures }) => {
      expect(figures['Idle time']).toBe(percent(crowd.idle))
    })
  })

  test('where the engine cannot be loaded, it says so, and the curve goes on', async () => {
    await view({}, 'Waits', async () => {
      server.refused = /\/ui-/
      await tab.run(`void (${LAB}.view = 'crowd')`)
      await until(tab, `${LAB}.shadowRoot.querySelector('[role=alert]') !== null`)
      await tab.run(`void (${LAB}.view = 'curve')`)
      expect((await shown(tab, 'Waits')).rows).toHaveLength((presets.interactive.maxAttempts ?? 0) - 1)
      expect(await tab.run(`${LAB}.shadowRoot.querySelector('[role=alert]') === null`)).toBe(true)
    })
  })
})
