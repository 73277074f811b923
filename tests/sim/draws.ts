/** What every seed draws from: calls, answers, and what goes wrong between a process and its store. */

import type { Dice } from './dice.ts'
import { type Act, type Answer, type CallSpec, ORIGINS, type Scenario, type StoreFault } from './scenario.ts'

/** What was drawn before. */
export interface Picked {
  readonly calls: CallSpec[]
}

/** With its own call. */
export type Calling = Extract<Act, { readonly call: CallSpec }>

const POLICIES = ['default', 'few', 'short', 'table']
const FAULTS: readonly StoreFault[] = [
  'fail-before',
  'fail-after',
  'delay-before',
  'delay-after',
  'crash-before',
  'crash-after',
]

type Limits = Pick<Scenario, 'concurrency' | 'perOrigin' | 'strips' | 'capacity'>

export function limitsOf(chance: Dice, concurrency: number): Limits {
  return {
    concurrency,
    perOrigin: chance.between(1, concurrency),
    ...(chance.chance(0.4) ? { strips: true } : {}),
    ...(chance.chance(0.3) ? { capacity: chance.between(7, 9) } : {}),
  }
}

/** Somebody calls. */
export function callingOf(chance: Dice, p: number, { calls }: Picked): Calling {
  return chance.chance(0.48) ? { do: 'enqueue', p, call: callOf(chance, calls) } : fetchOf(chance, p, calls)
}

export function fetchOf(chance: Dice, p: number, calls: CallSpec[]): Calling {
  const mode = chance.chance(0.4) ? 'defer' : 'await'
  const waitMs = chance.pick([500, 5_000, 30_000, 120_000])
  const aborts = chance.chance(0.1) ? { abortAfterMs: chance.below(8_000) } : {}
  const detach = chance.chance(0.1) ? { detach: true } : {}
  return { do: 'fetch', p, call: callOf(chance, calls), mode, waitMs, ...aborts, ...detach }
}

export function answersOf(chance: Dice): Act {
  return { do: 'answers', origin: chance.pick(ORIGINS), answers: many(chance, 6, () => answerOf(chance)) }
}

export function outageOf(chance: Dice): Act {
  const answer = { ...answerOf(chance), status: 503 }
  return { do: 'outage', origin: chance.pick(ORIGINS), forMs: chance.between(500, 30_000), answer }
}

export function storeFaultOf(chance: Dice, p: number): Act {
  const fault = chance.pick(FAULTS)
  return { do: 'storeFault', p, fault, calls: chance.between(1, 5), ms: chance.between(10, 40_000) }
}

/** More work than there may be room for, while its server is away. */
export function crowdOf(chance: Dice, p: number, calls: CallSpec[]): readonly Act[] {
  const origin = chance.pick(ORIGINS)
  const outage = {
    do: 'outage',
    origin,
    forMs: chance.between(5_000, 60_000),
    answer: { status: 503, latencyMs: 20 },
  } as const
  const crowd = many(chance, 12, () => ({ do: 'enqueue', p, call: { ...callOf(chance, calls), origin } }) as const)
  return [outage, ...crowd]
}

/** A process is there again, and its chunks are not. */
export function loadingOf(chance: Dice, p: number): readonly Act[] {
  const delay = { ms: chance.pick([10, 3_000, 10_000]), fails: chance.chance(0.6) }
  const part = chance.pick(['core', 'store'] as const)
  const forMs = chance.pick([100, 20_000, 90_000])
  return [
    { do: 'crash', p },
    { do: 'loading', p, part, forMs, ...delay },
    { do: 'open', p },
  ]
}

export function scopeOf(chance: Dice): { readonly origin?: string } {
  return chance.chance(0.5) ? { origin: chance.pick(ORIGINS) } : {}
}

export function callOf(chance: Dice, calls: CallSpec[]): CallSpec {
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
    ...secretOf(chance),
  }
  calls.push(call)
  return call
}

/** Most calls have none. */
function secretOf(chance: Dice): Pick<CallSpec, 'secret' | 'sensitive'> {
  const kind = chance.below(100)
  if (kind < 12) return { secret: 'denied' }
  if (kind < 18) return { secret: 'url' }
  if (kind < 21) return { secret: 'unknown' }
  return kind < 26 ? { sensitive: true } : {}
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
  if (kind < 92) return { status: chance.pick([301, 303, 307, 308]), latencyMs, redirect: 'within' }
  if (kind < 96) return { status: chance.pick([302, 303, 307]), latencyMs, redirect: 'beyond' }
  return { status: 200, latencyMs }
}

function many<T>(chance: Dice, most: number, make: () => T): T[] {
  return Array.from({ length: chance.between(1, most) }, make)
}
