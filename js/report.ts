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
  for (const [, { origin, handle }] of lanes.entries()) {
    const [depth, inFlight, heldUntilAt] = byLane.get(handle) ?? [0, 0, null]
    const other = origins[origin]
    origins[origin] = {
      depth: depth + (other?.depth ?? 0),
      inFlight: inFlight + (other?.inFlight ?? 0),
      circuit: 'CLOSED',
      // of several principals at one origin the longest
      heldUntilAt: Math.max(heldUntilAt ?? 0, other?.heldUntilAt ?? 0) || null,
      retryBudget: Number.POSITIVE_INFINITY,
    }
  }
  return { depth, inFlight, nextAttemptAt, unusableRetryAfter, origins }
}
