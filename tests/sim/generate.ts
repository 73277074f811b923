/** From a seed to a scenario: a day of bad luck in a few minutes. */

import { type Dice, dice } from './dice.ts'
import { answersOf, callOf, crowdOf, fetchOf, limitsOf, loadingOf, outageOf, scopeOf, storeFaultOf } from './draws.ts'
import { tabsOf } from './generate-tabs.ts'
import { type Act, type CallSpec, PRINCIPALS, type Scenario, type Step, type StoreKind } from './scenario.ts'
import { withWishes } from './wishes.ts'

export interface Kind {
  readonly store: StoreKind
  readonly hints: boolean
}

/** A freeze that outlives a lease of 30 s. */
const FREEZE_MS = 75_000

export function scenarioOf(seed: number, { store, hints }: Kind): Scenario {
  const isTabs = store === 'tabs' || store === 'indexeddb'
  return withWishes(isTabs ? tabsOf(seed, store, hints) : processesOf(seed, { store, hints }))
}

function processesOf(seed: number, { store, hints }: Kind): Scenario {
  const chance = dice(seed)
  const processes = chance.between(1, 4)
  const concurrency = chance.between(1, 4)
  const steps: Step[] = []
  const calls: CallSpec[] = []
  const count = chance.between(15, 60)
  let at = 0
  for (let i = 0; i < count; i++) {
    // bursts, pauses, and now and then a long one
    at += chance.chance(0.5) ? chance.below(40) : chance.chance(0.8) ? chance.below(4_000) : chance.below(40_000)
    for (const act of someOf(chance, chance.below(processes), calls)) steps.push({ at, ...act })
  }
  return {
    seed,
    store,
    hints,
    ...limitsOf(chance, concurrency),
    processes: Array.from({ length: processes }, () => ({
      persist: chance.chance(0.3) ? 'before-send' : 'on-failure',
      offsetMs: chance.chance(0.4) ? chance.between(-90_000, 90_000) : 0,
      principal: chance.chance(0.8) ? 'ann' : 'ben',
    })),
    steps: steps.sort((a, b) => a.at - b.at),
  }
}

/** What happens at one moment. */
function someOf(chance: Dice, p: number, calls: CallSpec[]): readonly Act[] {
  const kind = chance.below(100)
  if (kind < 20) return [{ do: 'enqueue', p, call: callOf(chance, calls) }]
  if (kind < 42) return [fetchOf(chance, p, calls)]
  if (kind < 58) return [answersOf(chance)]
  if (kind < 62) return chance.chance(0.5) ? [outageOf(chance)] : crowdOf(chance, p, calls)
  if (kind < 72) return [storeFaultOf(chance, p)]
  if (kind < 73) return loadingOf(chance, p)
  if (kind < 75) return [{ do: 'hints', p, count: chance.between(1, 10), ms: chance.chance(0.5) ? 0 : 3_000 }]
  if (kind < 79) return [{ do: 'crash', p }, ...(chance.chance(0.5) ? [{ do: 'open', p } as const] : [])]
  if (kind < 81) return [{ do: 'open', p }]
  if (kind < 84) {
    const freeze = { do: 'freeze', p, forMs: chance.chance(0.7) ? FREEZE_MS : chance.between(100, 30_000) } as const
    // in the middle of something
    return chance.chance(0.8) ? [{ do: 'enqueue', p, call: callOf(chance, calls) }, freeze] : [freeze]
  }
  if (kind < 86) return [{ do: 'close', p, drainMs: chance.pick([0, 50, 5_000]) }]
  if (kind < 88) return [{ do: 'principal', p, principal: chance.pick(PRINCIPALS), purge: chance.chance(0.2) }]
  if (kind < 90) return [{ do: 'clock', p, byMs: jump(chance) }]
  if (kind < 91) return [{ do: 'storeClock', byMs: jump(chance) }]
  if (kind < 94) return [{ do: 'cancel', p, pick: chance.below(1_000) }]
  if (kind < 96) return [{ do: 'redrive', p, pick: chance.below(1_000) }]
  if (kind < 97)
    return [{ do: chance.pick(['flush', 'flush', 'look', 'look', 'purgeDead'] as const), p, pick: chance.below(1_000) }]
  const scope = scopeOf(chance)
  return [{ do: chance.chance(0.4) ? 'pause' : 'resume', p, ...scope }]
}

function jump(chance: Dice): number {
  return chance.pick([-3_600_000, -90_000, -61_000, -30_000, -500, 500, 20_000, 90_000, 3_600_000])
}
