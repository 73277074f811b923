/**
 * Worlds whose store is away for all processes, for longer than a lease, while each of them lives: nobody can renew, and nobody can settle.
 * What a server asks for meanwhile its server itself holds against what comes (S9).
 */

import { dice } from './dice.ts'
import type { Kind } from './generate.ts'
import { type Answer, ORIGINS, type Scenario, type Step } from './scenario.ts'

/** The longest leases are those of tabs: an attempt of 20 s and 75 s. */
const LEASE_MS = { renewed: 30_000, tabs: 95_000 } as const

export function silenceOf(seed: number, { store, hints }: Kind): Scenario {
  const chance = dice(seed)
  const isTabs = store === 'tabs' || store === 'indexeddb'
  const leaseMs = isTabs ? LEASE_MS.tabs : LEASE_MS.renewed
  const processes = Array.from({ length: chance.between(2, 4) }, () => ({
    persist: 'on-failure' as const,
    // tabs have one clock
    offsetMs: !isTabs && chance.chance(0.4) ? chance.between(-90_000, 90_000) : 0,
    principal: 'ann' as const,
  }))
  const answers = (): Answer[] =>
    Array.from({ length: 12 }, () => ({
      status: chance.pick([429, 503]),
      latencyMs: chance.between(50, 19_000),
      retryAfterS: chance.pick([45, 70, 120]),
    }))
  const calls = Array.from({ length: chance.between(6, 16) }, (_, i): Step => {
    const call = { intent: `i${i}`, origin: chance.pick(ORIGINS), method: 'POST', policyId: 'default' } as const
    return { at: chance.below(3_000), do: 'enqueue', p: chance.below(processes.length), call }
  })
  const forMs = leaseMs + chance.pick([1_000, 10_000, 60_000, 300_000])
  return {
    ...{ seed, store, hints, processes },
    concurrency: chance.between(8, 16),
    perOrigin: 8,
    isSteady: true,
    steps: [
      ...ORIGINS.map((origin): Step => ({ at: 0, do: 'answers', origin, answers: answers() })),
      ...calls,
      { at: chance.between(500, 12_000), do: 'silence', forMs, hangs: chance.chance(0.4) } as const,
    ].sort((a, b) => a.at - b.at),
  }
}
