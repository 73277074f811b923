/** The simulation in its small size: seeds that are the same each time, over each kind of store, with hints and without. */

import { readdirSync, readFileSync } from 'node:fs'
import { expect, onTestFinished, test, vi } from 'vitest'
import { type Kind, scenarioOf } from '../sim/generate.ts'
import { runScenario } from '../sim/run.ts'
import type { Scenario } from '../sim/scenario.ts'
import { silenceOf } from '../sim/silence.ts'
import type { Breaking } from '../sim/world.ts'
import { store } from '../sim/wrong.ts'
import { bySize } from '../size.ts'
import { LONG_MS, nothingBreaks } from './sim-setup.ts'

const KEPT = new URL('../sim/kept/', import.meta.url)

/** 60 in all, most of them where a seed costs least; `sim.slow.test.ts` has the full size. */
const KINDS = [
  { store: 'memory', hints: true, seeds: 15 },
  { store: 'memory', hints: false, seeds: 8 },
  { store: 'sqlite', hints: true, seeds: 3 },
  { store: 'sqlite', hints: false, seeds: 2 },
  { store: 'redis', hints: true, seeds: 5 },
  { store: 'redis', hints: false, seeds: 3 },
  { store: 'tabs', hints: true, seeds: 12 },
  { store: 'tabs', hints: false, seeds: 8 },
  { store: 'indexeddb', hints: true, seeds: 2 },
  { store: 'indexeddb', hints: false, seeds: 2 },
] as const

test.for(KINDS)('nothing breaks: $store, hints $hints, $seeds seeds', { timeout: LONG_MS }, nothingBreaks)

const brokenIn = async (seed: number, kind: Kind, breaking: Breaking = {}) =>
  (await runScenario(silenceOf(seed, kind), { breaking })).violation

test.for(KINDS)(
  'S9 nothing is sent earlier than was asked after a store was away for longer than a lease: $store, hints $hints',
  { timeout: LONG_MS },
  async ({ seeds, ...kind }) => {
    for (let seed = 1; seed <= Math.max(2, seeds / 2); seed++) expect(await brokenIn(seed, kind)).toBeUndefined()
  },
)

test.for(['memory', 'sqlite', 'redis'] as const)(
  'S9 it is, where no runner says that the store was away: %s',
  { timeout: LONG_MS },
  async (kind) => {
    const untold = store((whole) => ({ turn: ({ silence: _, ...step }) => whole.turn(step) }))
    let broken: string | undefined
    for (let seed = 1; seed <= 30 && broken !== 'S9'; seed++)
      broken = (await brokenIn(seed, { store: kind, hints: false }, untold))?.id
    expect(broken).toBe('S9')
  },
)

test('S21 the same seed is the same world, event for event', { timeout: LONG_MS }, async () => {
  for (const store of ['memory', 'redis', 'tabs', 'indexeddb'] as const) {
    for (let seed = 1; seed <= bySize(1, 3); seed++) {
      const [once, again] = [
        await runScenario(scenarioOf(seed, { store, hints: true }), { traced: true }),
        await runScenario(scenarioOf(seed, { store, hints: true }), { traced: true }),
      ]
      expect(again.trace).toEqual(once.trace)
      expect(once.trace.length).toBeGreaterThan(0)
    }
  }
})

test('S21 what a world leaves behind tells nothing of it once it has ended', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  // processes of it die while they wait for their core, for which they have ten seconds that are real
  const { trace, totals } = await runScenario(scenarioOf(3, { store: 'tabs', hints: true }), { traced: true })
  const told = structuredClone({ trace, totals })
  expect(vi.getTimerCount()).toBeGreaterThan(0)
  await vi.advanceTimersByTimeAsync(10_000)
  expect({ trace, totals }).toEqual(told)
})

test.for(readdirSync(KEPT).filter((name) => name.endsWith('.json')))('what once broke does not: %s', async (name) => {
  const { scenario } = JSON.parse(readFileSync(new URL(name, KEPT), 'utf8')) as { scenario: Scenario }
  const { violation } = await runScenario(scenario)
  expect(violation).toBeUndefined()
})
