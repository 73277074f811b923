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

/** All of the stats but what the queue itself counts. */
export type RunnerStats = Omit<QueueStats, 'capacity' | 'firstAttemptSucceeded' | 'attempts'>

export type Held = Pick<QueueStats, 'depth' | 'inFlight' | 'nextAttemptAt' | 'origins'>

export function report(core: CoreStats, lanes: Lanes): Held {
  const byLane = new Map(core.lanes.map((row) => [row.lane, row]))
  const origins: Record<string, OriginStats> = {}
  for (const [origin, lane] of lanes.entries()) {
    const { depth = 0, inFlight = 0, heldUntilAt = null } = byLane.get(lane) ?? {}
    origins[origin] = { depth, inFlight, circuit: 'CLOSED', heldUntilAt, retryBudget: Number.POSITIVE_INFINITY }
  }
  const { depth, inFlight, nextAttemptAt } = core
  return { depth, inFlight, nextAttemptAt, origins }
}
