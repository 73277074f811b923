/** `<redrive-curve>` in real browsers: its numbers are the core's, its fields agree with each other, and wrong input stays where it was typed. */

import { beforeAll, describe, expect, test } from 'vitest'
import { type Core, loadCore } from '../../../js/core.ts'
import { duration } from '../../../js/display/format.ts'
import { presets } from '../../../js/options/presets.ts'
import { duringTests } from '../../during.ts'
import { engines, type Tab } from '../engines.ts'
import { fieldOf, fill, link, noteOf, shown, until } from './lab-tab.ts'
import { KEPT, type Kept, uiServer } from './ui-page.ts'

const LAB = "document.querySelector('redrive-curve')"

const server = duringTests(() => uiServer('<redrive-curve></redrive-curve>'))
let core: Core
beforeAll(async () => {
  core = await loadCore()
})

describe.each(engines)('%s', (_, start) => {
  let tab: Tab
  const engine = duringTests(start)

  /** In a tab of its own. */
  async function withTab(state: Readonly<Record<string, unknown>>, work: () => Promise<void>): Promise<void> {
    tab = await engine.open(server.url + link(state))
    try {
      await work()
      expect(await tab.run<Kept>(KEPT)).toEqual({ violations: [], errors: [] })
    } finally {
      await tab.close()
    }
  }

  test.each(Object.entries(presets))('the table of %s is that of backoffSchedule', async (name, policy) => {
    await withTab({ policy }, async () => {
      const { rows, figures } = await shown(tab, 'Waits')
      const steps = core.backoffSchedule({ ...policy, maxAttempts: Math.min(policy.maxAttempts ?? 5, 26) })
      const expected = steps.map(({ attempt, minMs, meanMs, maxMs, totalMeanMs }) => [
        String(attempt),
        ...[minMs, meanMs, maxMs, totalMeanMs].map(duration),
      ])
      expect(rows.map((row) => row.slice(0, 5))).toEqual(expected)
      expect(rows[0]?.[5]).toMatch(/\d\d:\d\d:\d\d$/)
      const last = steps.at(-1)
      if (name !== 'background') expect(figures['To the end, at most']).toBe(duration(last?.totalMaxMs ?? 0))
    })
  })

  test('a knob, a preset and the JSON say the same, whichever is moved', async () => {
    await withTab({}, async () => {
      await shown(tab, 'Waits')
      await fill(tab, 'preset', 'sidekiq')
      expect(JSON.parse(await fieldOf(tab, 'json'))).toEqual(presets.sidekiq)
      expect(await fieldOf(tab, 'strategy')).toBe('sidekiq')
      await fill(tab, 'strategy', 'exponential')
      await fill(tab, 'initialDelayMs', '12.5 s')
      await fill(tab, 'maxDelayMs', '3 min')
      await fill(tab, 'maxAttempts', '9')
      expect(JSON.parse(await fieldOf(tab, 'json'))).toMatchObject({
        initialDelayMs: 12_500,
        maxDelayMs: 180_000,
        maxAttempts: 9,
        policyId: 'own',
      })
      expect((await shown(tab, 'Waits')).rows).toHaveLength(8)
      await fill(tab, 'json', '{"strategy": "fixed", "initialDelayMs": 2000, "jitterType": "NONE", "maxAttempts": 3}')
      expect(await fieldOf(tab, 'strategy')).toBe('fixed')
      expect(await fieldOf(tab, 'initialDelayMs')).toBe('2s')
      expect((await shown(tab, 'Waits')).rows.map((row) => row[2])).toEqual(['2s', '2s'])
    })
  })

  test('a slider redraws what is shown while it moves', async () => {
    await withTab({ policy: { strategy: 'fixed', jitterType: 'NONE', initialDelayMs: 1_000 } }, async () => {
      await shown(tab, 'Waits')
      const means = await tab.run<readonly string[]>(`(async () => {
        const root = ${LAB}.shadowRoot
        const slider = root.getElementById('initialDelayMs').closest('.knob').querySelector('[type=range]')
        const seen = []
        for (const place of ['300', '600', '900']) {
          slider.value = place
          slider.dispatchEvent(new Event('input', { bubbles: true }))
          await new Promise(requestAnimationFrame)
          seen.push(root.querySelector('#table tbody td:nth-child(3)').textContent)
        }
        return seen
      })()`)
      expect(new Set(means).size).toBe(3)
    })
  })

  test.each([
    [
      'initialDelayMs',
      'soon',
      'initialDelayMs-note',
      /expected a duration such as 250ms, 12\.5s, 3m, 1h or 2d, got 'soon'/,
    ],
    ['maxAttempts', 'many', 'maxAttempts-note', /expected a number, got 'many'/],
    ['json', '{"strategy": "fixed", "initialDelayMs": -1}', 'json-note', /policy\.initialDelayMs: expected .*got -1/],
    ['json', '{"maxAttempts": "9"}', 'json-note', /policy\.maxAttempts/],
    ['json', '{"tries": 9}', 'json-note', /policy\.tries/],
    ['json', '[]', 'json-note', /expected a JSON object/],
    ['json', '{', 'json-note', /JSON|property name/i],
  ])('%s: %s is refused where it was typed, and the picture stays', async (field, text, note, words) => {
    await withTab({}, async () => {
      const before = await shown(tab, 'Waits')
      await fill(tab, field, text)
      expect(await noteOf(tab, note)).toMatch(words)
      expect(await fieldOf(tab, field)).toBe(text)
      expect((await shown(tab, 'Waits')).rows.map((row) => row.slice(0, 5))).toEqual(
        before.rows.map((row) => row.slice(0, 5)),
      )
    })
  })

  test('a policy of a link that the core refuses is named, and hostile words in it are text', async () => {
    const hostile = '<img src=x onerror="kept.errors.push(1)">'
    await withTab({ policy: { policyId: hostile, maxAttempts: hostile } }, async () => {
      await until(tab, `${LAB}.shadowRoot.querySelector('[role=alert]') !== null`)
      expect(await tab.run(`${LAB}.shadowRoot.querySelector('[role=alert]').textContent`)).toMatch(
        /policy\.maxAttempts: expected/,
      )
      expect(await tab.run(`${LAB}.shadowRoot.querySelector('img') === null`)).toBe(true)
    })
  })

  test('a Retry-After is read as the core reads it', async () => {
    await withTab({ retryAfter: '120' }, async () => {
      expect((await shown(tab, 'Waits')).figures['Retry-After']).toBe('2m')
      await fill(tab, 'retry-after', 'later')
      expect((await shown(tab, 'Waits')).summary).toContain('cannot be read')
    })
  })

  test('a property of the element and an event for the page: the policy goes in and comes out', async () => {
    await withTab({}, async () => {
      await shown(tab, 'Waits')
      const detail = await tab.run(`(async () => {
        const lab = ${LAB}
        lab.policy = { strategy: 'linear', initialDelayMs: 1000, stepMs: 500, jitterType: 'NONE', maxAttempts: 4 }
        await lab.updateComplete
        const changed = new Promise((resolve) => lab.addEventListener('change', ({ detail }) => resolve(detail), { once: true }))
        const field = lab.shadowRoot.getElementById('maxAttempts')
        field.value = '6'
        field.dispatchEvent(new Event('change', { bubbles: true }))
        return changed
      })()`)
      expect(detail).toEqual({
        policyId: 'own',
        strategy: 'linear',
        initialDelayMs: 1_000,
        stepMs: 500,
        jitterType: 'NONE',
        maxAttempts: 6,
      })
    })
  })

  test('a linked element keeps its state in the address', async () => {
    await withTab({}, async () => {
      await shown(tab, 'Waits')
      await tab.run(`(async () => { ${LAB}.linked = true; await ${LAB}.updateComplete })()`)
      await fill(tab, 'preset', 'svix')
      expect(await tab.run('location.hash')).toBe(link({ policy: presets.svix }))
    })
  })
})
