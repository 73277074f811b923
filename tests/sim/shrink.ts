/** A failing scenario with all taken out that it fails without: the same violation, fewer steps. */

import { runScenario } from './run.ts'
import type { Scenario } from './scenario.ts'
import type { Breaking } from './world.ts'

/** Runs that are spent on it. */
const TRIES = 400

export async function shrink(scenario: Scenario, id: string, breaking?: Breaking): Promise<Scenario> {
  let best = scenario
  let tries = 0
  const take = async (smaller: Scenario): Promise<boolean> => {
    if (++tries > TRIES) return false
    const { violation } = await runScenario(smaller, breaking ? { breaking } : {})
    if (violation?.id !== id) return false
    best = smaller
    return true
  }
  const without = (from: number, count: number) => ({
    ...best,
    steps: best.steps.filter((_, i) => i < from || i >= from + count),
  })
  for (let size = Math.ceil(best.steps.length / 2); size >= 1 && tries < TRIES; size = Math.floor(size / 2)) {
    // from the end: what comes last depends on what came before
    for (let from = best.steps.length - size; from > -size; from -= size) await take(without(Math.max(0, from), size))
  }
  for (let last = best.processes.length - 1; last > 0; last--) {
    if (best.steps.some((step) => 'p' in step && step.p >= last)) break
    await take({ ...best, processes: best.processes.slice(0, last) })
  }
  await take({ ...best, processes: best.processes.map((spec) => ({ ...spec, offsetMs: 0 })) })
  return best
}
