/** The core's numbers and the runner's totals as people read them. */

import type { Lanes } from './lanes.ts'
import type { OriginStats, QueueStats } from './types.ts'

/** What the core's `stats()` gives. */
export interface CoreStats {
  readonly depth: number
  readonly inFlight: number
  readonly nextAttemptAt: number | null
  readonly lanes: readonly {
    readonly lane: number
    readonly depth: number
    readonly inFlight: number
    readonly heldUntilAt: number | null
  }[]
}

/** Since the queue was made. */
export interface Totals {
  readonly succeeded: number
  readonly exhausted: number
  readonly cancelled: number
}

/** All of the stats but what the queue itself counts. */
export type RunnerStats = Omit<QueueStats, 'capacity' | 'firstAttemptSucceeded' | 'attempts'>

export function report(core: CoreStats, lanes: Lanes, deadLetters: number, totals: Totals): RunnerStats {
  const byLane = new Map(core.lanes.map((row) => [row.lane, row]))
  const origins: Record<string, OriginStats> = {}
  for (const [origin, lane] of lanes.entries()) {
    const { depth = 0, inFlight = 0, heldUntilAt = null } = byLane.get(lane) ?? {}
    origins[origin] = { depth, inFlight, circuit: 'CLOSED', heldUntilAt, retryBudget: Number.POSITIVE_INFINITY }
  }
  const { depth, inFlight, nextAttemptAt } = core
  return { depth, inFlight, nextAttemptAt, deadLetters, ...totals, origins }
}

/** Before there is a runner. */
export const nothingYet: RunnerStats = {
  depth: 0,
  inFlight: 0,
  deadLetters: 0,
  succeeded: 0,
  exhausted: 0,
  cancelled: 0,
  nextAttemptAt: null,
  origins: {},
}
