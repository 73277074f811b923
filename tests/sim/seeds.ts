/** Many seeds, one after another, and what they add up to. */

import type { Violation } from './book.ts'
import { type Kind, scenarioOf } from './generate.ts'
import { runScenario } from './run.ts'
import type { Scenario } from './scenario.ts'
import type { Breaking } from './world.ts'

export interface Failure {
  readonly scenario: Scenario
  readonly violation: Violation
}

export interface Tally {
  seeds: number
  events: number
  requests: number
  crashes: number
  failures: Failure[]
}

export interface Wish extends Kind {
  readonly first: number
  readonly seeds: number
  readonly breaking?: Breaking
  /** What to look for; after it, no more is looked at. @default three failures */
  readonly enough?: (failures: readonly Failure[]) => boolean
  /** After each seed. */
  readonly progress?: (tally: Tally) => void
}

const three = (failures: readonly Failure[]) => failures.length >= 3

export async function runSeeds({ first, seeds, breaking, enough = three, progress, ...kind }: Wish): Promise<Tally> {
  const tally: Tally = { seeds: 0, events: 0, requests: 0, crashes: 0, failures: [] }
  for (let seed = first; seed < first + seeds && !enough(tally.failures); seed++) {
    const scenario = scenarioOf(seed, kind)
    const { violation, events, totals } = await runScenario(scenario, breaking ? { breaking } : {})
    tally.seeds++
    tally.events += events
    tally.requests += totals.requests
    tally.crashes += totals.crashes
    if (violation) tally.failures.push({ scenario, violation })
    progress?.(tally)
  }
  return tally
}
