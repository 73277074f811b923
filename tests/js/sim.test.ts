/** The simulation in its small size: seeds that are the same each time, over each kind of store, with hints and without. */

import { readdirSync, readFileSync } from 'node:fs'
import { expect, onTestFinished, test, vi } from 'vitest'
import { scenarioOf } from '../sim/generate.ts'
import { runScenario } from '../sim/run.ts'
import type { Scenario, StoreKind } from '../sim/scenario.ts'
import { runSeeds, type Wish } from '../sim/seeds.ts'
import { WRONG, type Wrong } from '../sim/wrong.ts'
import { WRONG_FILE } from '../sim/wrong-file.ts'
import { WRONG_REDIS } from '../sim/wrong-redis.ts'
import { WRONG_ROOM } from '../sim/wrong-room.ts'
import { WRONG_SECRETS } from '../sim/wrong-secrets.ts'
import { WRONG_PAGES, WRONG_TABS } from '../sim/wrong-tabs.ts'
import { WRONG_UNSTORED } from '../sim/wrong-unstored.ts'
import { WRONG_WISHES } from '../sim/wrong-wishes.ts'

const LONG_MS = 300_000
const KEPT = new URL('../sim/kept/', import.meta.url)

const KINDS = [
  { store: 'memory', hints: true, seeds: 180 },
  { store: 'memory', hints: false, seeds: 100 },
  { store: 'sqlite', hints: true, seeds: 45 },
  { store: 'sqlite', hints: false, seeds: 25 },
  { store: 'redis', hints: true, seeds: 75 },
  { store: 'redis', hints: false, seeds: 25 },
  { store: 'tabs', hints: true, seeds: 120 },
  { store: 'tabs', hints: false, seeds: 60 },
  { store: 'indexeddb', hints: true, seeds: 20 },
  { store: 'indexeddb', hints: false, seeds: 10 },
] as const

test.for(KINDS)('nothing breaks: $store, hints $hints, $seeds seeds', { timeout: LONG_MS }, async (kind) => {
  const tally = await runSeeds({ ...kind, first: 1 })
  expect(tally.failures.map(({ scenario, violation }) => [scenario.seed, violation])).toEqual([])
  expect(tally.seeds).toBe(kind.seeds)
})

test('S21 the same seed is the same world, event for event', { timeout: LONG_MS }, async () => {
  for (const store of ['memory', 'redis', 'tabs', 'indexeddb'] as const) {
    for (const seed of [1, 2, 3]) {
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

/** Most worlds have nothing that a fault shows in; the search ends with the first that has. */
const MOST_WORLDS = 100

const noticed = async (store: StoreKind, { breaks, breaking, hints = true }: Wrong) => {
  const enough: Wish['enough'] = (found) => found.some(({ violation }) => violation.id === breaks)
  const { failures } = await runSeeds({ store, hints, first: 1, seeds: MOST_WORLDS, breaking, enough })
  expect(failures.map(({ violation }) => violation.id)).toContain(breaks)
}

test.for([...WRONG, ...WRONG_SECRETS, ...WRONG_ROOM, ...WRONG_UNSTORED, ...WRONG_WISHES])(
  'it is noticed when $what ($breaks)',
  { timeout: LONG_MS },
  (wrong) => noticed('memory', wrong),
)
test.for(WRONG_TABS)('of tabs it is noticed when $what ($breaks)', { timeout: LONG_MS }, (wrong) =>
  noticed('tabs', wrong),
)
test.for(WRONG_PAGES)('of pages it is noticed when $what ($breaks)', { timeout: LONG_MS }, (wrong) =>
  noticed('indexeddb', wrong),
)

test.for(WRONG_FILE)('of processes on a file it is noticed when $what ($breaks)', { timeout: LONG_MS }, (wrong) =>
  noticed('sqlite', wrong),
)

test.for(WRONG_REDIS)('of scripts in Redis it is noticed when $what ($breaks)', { timeout: LONG_MS }, (wrong) =>
  noticed('redis', wrong),
)

test.for(readdirSync(KEPT).filter((name) => name.endsWith('.json')))('what once broke does not: %s', async (name) => {
  const { scenario } = JSON.parse(readFileSync(new URL(name, KEPT), 'utf8')) as { scenario: Scenario }
  const { violation } = await runScenario(scenario)
  expect(violation).toBeUndefined()
})
