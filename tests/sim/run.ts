/** A scenario from its beginning to its end. */

import type { Violation } from './book.ts'
import { finale } from './finale.ts'
import type { Scenario } from './scenario.ts'
import { warm } from './warm.ts'
import { type Breaking, World } from './world.ts'

export interface Outcome {
  readonly violation: Violation | undefined
  readonly events: number
  readonly totals: World['book']['totals']
  readonly trace: readonly string[]
}

export async function runScenario(
  scenario: Scenario,
  { breaking, traced = false }: { readonly breaking?: Breaking; readonly traced?: boolean } = {},
): Promise<Outcome> {
  await warm(scenario.store)
  const mend = breaking?.code?.()
  const world = new World(scenario, breaking)
  world.book.traced = traced
  try {
    await world.play()
    if (!world.book.violation) await finale(world)
  } finally {
    await world.end()
    mend?.()
  }
  const { violation, totals, trace } = world.book
  // copies: a process that died while it waited for its core is told so ten real seconds later, and notes it
  return { violation, events: world.events, totals: { ...totals }, trace: [...trace] }
}
