/** What both sizes of the simulation share: one call for a kind of world, one for a fault. */

import { expect } from 'vitest'
import type { StoreKind } from '../sim/scenario.ts'
import { runSeeds, type Wish } from '../sim/seeds.ts'
import type { Wrong } from '../sim/wrong.ts'

export const LONG_MS = 300_000

export interface Kind {
  readonly store: StoreKind
  readonly hints: boolean
  readonly seeds: number
}

export async function nothingBreaks(kind: Kind): Promise<void> {
  const tally = await runSeeds({ ...kind, first: 1 })
  expect(tally.failures.map(({ scenario, violation }) => [scenario.seed, violation])).toEqual([])
  expect(tally.seeds).toBe(kind.seeds)
}

/** Most worlds have nothing that a fault shows in; the search ends with the first that has. */
const MOST_WORLDS = 100

export async function isNoticed(store: StoreKind, { breaks, breaking, hints = true }: Wrong): Promise<void> {
  const enough: Wish['enough'] = (found) => found.some(({ violation }) => violation.id === breaks)
  const { failures } = await runSeeds({ store, hints, first: 1, seeds: MOST_WORLDS, breaking, enough })
  expect(failures.map(({ violation }) => violation.id)).toContain(breaks)
}
