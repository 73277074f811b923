/** From a seed to a day of a browser: tabs that come, die, freeze and hide, one user's login after another's, and a machine that sleeps. */

import { type Dice, dice } from './dice.ts'
import {
  answersOf,
  callingOf,
  callOf,
  fetchOf,
  limitsOf,
  loadingOf,
  outageOf,
  type Picked,
  scopeOf,
  storeFaultOf,
} from './draws.ts'
import { type Act, type CallSpec, ORIGINS, PRINCIPALS, type Scenario, type Step, type StoreKind } from './scenario.ts'

const HOUR_MS = 3_600_000
const TEN_YEARS_MS = 87_660 * HOUR_MS
/** Longer than a lease of a browser's. */
const LONG_MS = 240_000

export function tabsOf(seed: number, store: StoreKind, hints: boolean): Scenario {
  const chance = dice(seed)
  const tabs = chance.pick([1, 2, 2, 3, 3, 4])
  const concurrency = chance.between(1, 4)
  const steps: Step[] = []
  const calls: CallSpec[] = []
  const count = chance.between(15, 60)
  // most days nobody touches the clock
  const stepsClock = chance.chance(0.3)
  let at = 0
  for (let i = 0; i < count; i++) {
    at += chance.chance(0.5) ? chance.below(40) : chance.chance(0.8) ? chance.below(4_000) : chance.below(60_000)
    const day = { calls, stepsClock, tabs }
    for (const { afterMs = 0, ...act } of someOf(chance, chance.below(tabs), day))
      steps.push({ at: at + afterMs, ...act })
  }
  steps.push(...loginsOf(seed, at, { calls, stepsClock, tabs }))
  return {
    seed,
    store,
    hints,
    ...limitsOf(chance, concurrency),
    processes: Array.from({ length: tabs }, () => ({
      persist: chance.chance(0.3) ? 'before-send' : 'on-failure',
      // one machine, one clock
      offsetMs: 0,
      principal: chance.chance(0.9) ? 'ann' : 'ben',
    })),
    steps: steps.sort((a, b) => a.at - b.at),
  }
}

/** Logins that take their time while other tabs have work, in some days; now and then their own tab goes meanwhile. */
function loginsOf(seed: number, untilMs: number, day: Day): Step[] {
  // drawn apart: the rest of the day is as it would be without
  const chance = dice(~seed)
  if (chance.chance(0.6)) return []
  return Array.from({ length: chance.between(1, 3) }, (): Step[] => {
    const at = chance.below(untilMs)
    const p = chance.below(day.tabs)
    const forMs = chance.pick([100, 2_000, 20_000])
    const amid = () => at + chance.below(forMs)
    const goes = tabOf(chance, p, day)
    return [
      { at, do: 'login', p, principal: chance.pick(PRINCIPALS), forMs, fails: chance.chance(0.3) },
      { at: amid(), ...callingOf(chance, chance.below(day.tabs), day) },
      ...(chance.chance(0.5) ? goes.map((act) => ({ at: amid(), ...act })) : []),
    ]
  }).flat()
}

interface Day extends Picked {
  readonly stepsClock: boolean
  readonly tabs: number
}

type Acts = readonly (Act & { readonly afterMs?: number })[]

/** What happens at one moment, or follows from it. */
function someOf(chance: Dice, p: number, day: Day): Acts {
  const kind = chance.below(100)
  if (kind < 17) return [callingOf(chance, p, day)]
  if (kind < 20) return lateOf(chance, p, day)
  if (kind < 26) return hiddenOf(chance, p, day)
  if (kind < 31) return [answersOf(chance)]
  if (kind < 33) return [outageOf(chance)]
  if (kind < 37) return [storeFaultOf(chance, p)]
  if (kind < 39) return [{ do: 'hints', p, count: chance.between(1, 10), ms: chance.chance(0.5) ? 0 : 3_000 }]
  if (kind < 47) return tabOf(chance, p, day)
  if (kind < 64) return waitingOf(chance, p, day)
  if (kind < 80) return homeOf(chance, p, day)
  if (kind < 86) {
    const principal = chance.chance(0.6) ? 'ann' : 'ben'
    return [{ do: 'principal', p, principal, purge: chance.chance(0.1) }]
  }
  if (kind < 87) return networkOf(chance)
  if (kind < 88) return loadingOf(chance, p)
  if (kind < 90) return [{ do: 'sleep', forMs: chance.pick([2_000, LONG_MS, HOUR_MS]) }]
  if (kind < 92) return day.stepsClock ? [{ do: 'storeClock', byMs: stepOf(chance) }] : []
  if (kind < 94) return [{ do: 'cancel', p, pick: chance.below(1_000) }]
  if (kind < 96) return [{ do: 'redrive', p, pick: chance.below(1_000) }]
  if (kind < 97)
    return [{ do: chance.pick(['flush', 'flush', 'look', 'look', 'purgeDead'] as const), p, pick: chance.below(1_000) }]
  return [{ do: chance.chance(0.3) ? 'pause' : 'resume', p, ...scopeOf(chance) }]
}

/** Work waits, and then something happens to its tab, or to another. */
function waitingOf(chance: Dice, p: number, day: Day): Acts {
  const origin = chance.pick(ORIGINS)
  const retryAfterS = chance.chance(0.4) ? { retryAfterS: chance.pick([1, 2, 10]) } : {}
  const answers = Array.from({ length: chance.between(1, 3) }, () => {
    return { status: 503, latencyMs: chance.pick([5, 5, 300, 4_000, 15_000]), ...retryAfterS }
  })
  const afterMs = chance.pick([5, 50, 500, 2_000, 5_000])
  const then = tabOf(chance, chance.chance(0.7) ? p : chance.below(day.tabs), day)
  const calls = Array.from({ length: chance.chance(0.3) ? chance.between(2, 8) : 1 }, () => {
    const { call, ...calling } = callingOf(chance, p, day)
    return { ...calling, call: stored(call, origin) }
  })
  const unseen: Acts = chance.chance(0.2) ? [{ do: 'hide', p }] : []
  return [...unseen, { do: 'answers', origin, answers }, ...calls, ...then.map((act) => ({ ...act, afterMs }))]
}

/** A page loads for long, and meanwhile a user logs in in another tab. */
function lateOf(chance: Dice, p: number, day: Day): Acts {
  const part = chance.pick(['core', 'store'] as const)
  const { call, ...calling } = callingOf(chance, p, day)
  const origin = chance.pick(ORIGINS)
  const principal = chance.pick(PRINCIPALS)
  return [
    { do: 'answers', origin, answers: [{ status: 503, latencyMs: 5 }] },
    { do: 'crash', p },
    { do: 'loading', p, part, forMs: 1_000, ms: chance.pick([3_000, 10_000]), fails: false },
    { do: 'open', p },
    { ...calling, call: { ...call, origin }, afterMs: 10 },
    { do: 'principal', p: (p + 1) % day.tabs, principal, purge: false, afterMs: chance.pick([1, 500, 2_500]) },
  ]
}

/** Work waits, and its tab is looked at no more, or put away; another is. */
function hiddenOf(chance: Dice, p: number, { calls, tabs }: Day): Acts {
  const origin = chance.pick(ORIGINS)
  const answers = [{ status: 503, latencyMs: 5 }]
  const goes = chance.chance(0.5)
    ? ({ do: 'hide', p } as const)
    : ({ do: chance.pick(['suspend', 'cached'] as const), p, forMs: 100_000, backFirst: false } as const)
  return [
    { do: 'show', p: (p + 1) % tabs },
    { do: 'answers', origin, answers },
    { do: 'enqueue', p, call: stored(callOf(chance, calls), origin) },
    { ...goes, afterMs: chance.pick([1, 50]) },
    { do: 'show', p, afterMs: 20_000 },
  ]
}

/** One that a store takes, whatever else it is. */
function stored({ secret, sensitive: _, ...call }: CallSpec, origin: string): CallSpec {
  const method = call.method === 'GET' ? 'PUT' : call.method
  return { ...call, origin, method, ...(secret === 'denied' ? { secret } : {}) }
}

/** A tab goes, or is held up, while its own caller's second attempt is on its way. */
function homeOf(chance: Dice, p: number, { calls, tabs }: Day): Acts {
  const origin = chance.pick(ORIGINS)
  const answer = { status: 503, latencyMs: 5_000 }
  const { call, ...calling } = fetchOf(chance, p, calls)
  const afterMs = chance.between(5_500, 15_000)
  const goes: readonly Act[] = [
    { do: 'crash', p },
    { do: 'leave', p, lingerMs: 0 },
    { do: 'freeze', p, forMs: LONG_MS },
  ]
  const other = (p + 1) % tabs
  const busy = chance.pick(ORIGINS.filter((each) => each !== origin))
  return [
    { do: 'show', p: other },
    { do: 'outage', origin: busy, forMs: 60_000, answer },
    // who has work first leads
    { do: 'enqueue', p: other, call: stored(callOf(chance, calls), busy) },
    { do: 'outage', origin, forMs: 60_000, answer },
    { ...calling, call: stored(call, origin) },
    { ...chance.pick(goes), afterMs },
  ]
}

/** What happens to a tab, now and then in the middle of something. */
function tabOf(chance: Dice, p: number, day: Day): readonly Act[] {
  const before: readonly Act[] = chance.chance(0.3) ? [callingOf(chance, p, day)] : []
  // a page that goes has no time for what it begins
  const fails: readonly Act[] = chance.chance(0.2) ? [storeFaultOf(chance, p)] : []
  const kind = chance.below(100)
  const forMs = chance.pick([300, 5_000, 100_000, LONG_MS])
  const backFirst = chance.chance(0.5)
  if (kind < 22) return [...before, { do: 'crash', p }, ...again(chance, p)]
  if (kind < 28) return [{ do: 'open', p }]
  if (kind < 33) return [...before, { do: 'close', p, drainMs: chance.pick([0, 50, 5_000]) }]
  if (kind < 48) return [...before, ...fails, { do: 'leave', p, lingerMs: chance.below(60) }, ...again(chance, p)]
  if (kind < 63) return [...before, ...fails, { do: 'suspend', p, forMs, backFirst }]
  if (kind < 73) return [...before, ...fails, { do: 'cached', p, forMs, backFirst }]
  if (kind < 82) return [...before, { do: 'freeze', p, forMs }]
  return [{ do: chance.chance(0.6) ? 'hide' : 'show', p }]
}

function again(chance: Dice, p: number): readonly Act[] {
  return chance.chance(0.5) ? [{ do: 'open', p }] : []
}

function networkOf(chance: Dice): Acts {
  return [{ do: 'network', online: chance.chance(0.6), told: chance.chance(0.8) }]
}

function stepOf(chance: Dice): number {
  const byMs = chance.pick([500, 30_000, 61_000, HOUR_MS, HOUR_MS, TEN_YEARS_MS])
  return chance.chance(0.5) ? byMs : -byMs
}
