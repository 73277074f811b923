/** The core's numbers and the runner's totals as people read them. */

import type { Lanes } from './lanes.ts'
import type { OriginStats, QueueStats } from './types.ts'

/** What the core's `stats()` gives, in lists: names cost the core more than the numbers. */
export type CoreStats = readonly [
  depth: number,
  inFlight: number,
  nextAttemptAt: number | null,
  unusableRetryAfter: number,
  lanes: readonly (readonly [lane: number, depth: number, inFlight: number, heldUntilAt: number | null])[],
]

/** All of the stats but what the queue itself counts. */
export type RunnerStats = Omit<QueueStats, 'capacity' | 'firstAttemptSucceeded' | 'attempts'>

export type Held = Pick<QueueStats, 'depth' | 'inFlight' | 'nextAttemptAt' | 'unusableRetryAfter' | 'origins'>

export function report(core: CoreStats, lanes: Lanes): Held {
  const [depth, inFlight, nextAttemptAt, unusableRetryAfter, rows] = core
  const byLane = new Map(rows.map(([lane, ...row]) => [lane, row]))
  const origins: Record<string, OriginStats> = {}
  for (const [origin, lane] of lanes.entries()) {
    const [depth, inFlight, heldUntilAt] = byLane.get(lane) ?? [0, 0, null]
    origins[origin] = { depth, inFlight, circuit: 'CLOSED', heldUntilAt, retryBudget: Number.POSITIVE_INFINITY }
  }
  return { depth, inFlight, nextAttemptAt, unusableRetryAfter, origins }
}
