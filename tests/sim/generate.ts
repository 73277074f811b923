/** From a seed to a scenario: a day of bad luck in a few minutes. */

import { type Dice, dice } from './dice.ts'
import {
  type Act,
  type Answer,
  type CallSpec,
  ORIGINS,
  PRINCIPALS,
  type Scenario,
  type Step,
  type StoreFault,
} from './scenario.ts'

export interface Kind {
  readonly store: 'memory' | 'sqlite'
  readonly hints: boolean
}

const POLICIES = ['default', 'few', 'short', 'table']
const FAULTS: readonly StoreFault[] = [
  'fail-before',
  'fail-after',
  'delay-before',
  'delay-after',
  'crash-before',
  'crash-after',
]
/** A freeze that outlives a lease of 30 s. */
const FREEZE_MS = 75_000

export function scenarioOf(seed: number, { store, hints }: Kind): Scenario {
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
    concurrency,
    perOrigin: chance.between(1, concurrency),
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
  if (kind < 42) {
    const mode = chance.chance(0.4) ? 'defer' : 'await'
    const waitMs = chance.pick([500, 5_000, 30_000, 120_000])
    const aborts = chance.chance(0.1) ? { abortAfterMs: chance.below(8_000) } : {}
    const detach = chance.chance(0.1) ? { detach: true } : {}
    return [{ do: 'fetch', p, call: callOf(chance, calls), mode, waitMs, ...aborts, ...detach }]
  }
  if (kind < 58) {
    return [{ do: 'answers', origin: chance.pick(ORIGINS), answers: many(chance, 6, () => answerOf(chance)) }]
  }
  if (kind < 62) {
    const answer = { ...answerOf(chance), status: 503 }
    return [{ do: 'outage', origin: chance.pick(ORIGINS), forMs: chance.between(500, 30_000), answer }]
  }
  if (kind < 72) {
    const fault = chance.pick(FAULTS)
    return [{ do: 'storeFault', p, fault, calls: chance.between(1, 5), ms: chance.between(10, 40_000) }]
  }
  if (kind < 74) return [{ do: 'hints', p, count: chance.between(1, 10), ms: chance.chance(0.5) ? 0 : 3_000 }]
  if (kind < 78) return [{ do: 'crash', p }, ...(chance.chance(0.5) ? [{ do: 'open', p } as const] : [])]
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
  if (kind < 97) return [{ do: chance.chance(0.7) ? 'flush' : 'purgeDead', p }]
  const scope = chance.chance(0.5) ? { origin: chance.pick(ORIGINS) } : {}
  return [{ do: chance.chance(0.4) ? 'pause' : 'resume', p, ...scope }]
}

function callOf(chance: Dice, calls: CallSpec[]): CallSpec {
  const earlier = calls.filter(({ key }) => key !== undefined)
  const intent = `i${calls.length}`
  const policyId = chance.pick(POLICIES)
  // the same again, or another request under the same key
  if (earlier.length > 0 && chance.chance(0.15)) {
    const known = chance.pick(earlier)
    const call = chance.chance(0.6) ? known : { ...known, intent }
    calls.push(call)
    return call
  }
  const method = chance.chance(0.85) ? 'POST' : chance.chance(0.5) ? 'PUT' : 'GET'
  const call: CallSpec = {
    intent,
    origin: chance.pick(ORIGINS),
    method,
    policyId,
    ...(chance.chance(0.25) ? { key: `key-${intent}` } : {}),
    ...(chance.chance(0.25) ? { orderKey: chance.pick(['red', 'blue']) } : {}),
    ...(chance.chance(0.2) ? { priority: chance.between(-2, 2) } : {}),
  }
  calls.push(call)
  return call
}

function answerOf(chance: Dice): Answer {
  const latencyMs = chance.chance(0.7) ? chance.between(1, 80) : chance.chance(0.7) ? chance.below(5_000) : 40_000
  const kind = chance.below(100)
  const retryAfterS = chance.pick([1, 2, 10, 45, 120])
  if (kind < 25) return { status: 503, latencyMs }
  if (kind < 35) return { status: 503, latencyMs, works: true }
  if (kind < 50) return { status: chance.pick([429, 503]), latencyMs, retryAfterS }
  if (kind < 62) return { status: 200, latencyMs, lost: true }
  if (kind < 70) return { status: 502, latencyMs, lost: true, works: false }
  if (kind < 80) return { status: 401, latencyMs }
  if (kind < 85) return { status: 400, latencyMs }
  return { status: 200, latencyMs }
}

function jump(chance: Dice): number {
  return chance.pick([-3_600_000, -90_000, -61_000, -30_000, -500, 500, 20_000, 90_000, 3_600_000])
}

function many<T>(chance: Dice, most: number, make: () => T): T[] {
  return Array.from({ length: chance.between(1, most) }, make)
}
