/** The core's numbers and the runner's totals as people read them. */

import type { OriginStats, QueueStats } from '../api/stats.ts'
import type { CircuitState } from '../api/task.ts'
import { CIRCUITS } from '../core/codes.ts'
import type { Lanes } from './lanes.ts'

/** What the core's `stats()` gives, in lists: names cost the core more than the numbers. */
export type CoreStats = readonly [
  depth: number,
  inFlight: number,
  nextAttemptAt: number | null,
  unusableRetryAfter: number,
  lanes: readonly (readonly [
    lane: number,
    depth: number,
    inFlight: number,
    heldUntilAt: number | null,
    circuit: number,
    tokens: number,
  ])[],
]

/** All of the stats but what the queue itself counts. */
export type RunnerStats = Omit<QueueStats, 'capacity' | 'firstAttemptSucceeded' | 'attempts'>

export type Held = Pick<QueueStats, 'depth' | 'inFlight' | 'nextAttemptAt' | 'unusableRetryAfter' | 'origins'>

const FOREVER = Number.POSITIVE_INFINITY

function worse(one: CircuitState = 'CLOSED', other: CircuitState = 'CLOSED'): CircuitState {
  const found = (['OPEN', 'HALF_OPEN'] as const).find((state) => one === state || other === state)
  return found ?? 'CLOSED'
}

export function report(core: CoreStats, lanes: Lanes): Held {
  const [depth, inFlight, nextAttemptAt, unusableRetryAfter, rows] = core
  const byLane = new Map(rows.map(([lane, ...row]) => [lane, row]))
  const origins: Record<string, OriginStats> = {}
  for (const [, { origin, handle }] of lanes.entries()) {
    const [depth, inFlight, heldUntilAt, circuit, tokens] = byLane.get(handle) ?? [0, 0, null, 0, FOREVER]
    const other = origins[origin]
    origins[origin] = {
      depth: depth + (other?.depth ?? 0),
      inFlight: inFlight + (other?.inFlight ?? 0),
      // of several principals at one origin the one that is worst off
      circuit: worse(CIRCUITS[circuit], other?.circuit),
      heldUntilAt: Math.max(heldUntilAt ?? 0, other?.heldUntilAt ?? 0) || null,
      retryBudget: Math.min(tokens, other?.retryBudget ?? FOREVER),
    }
  }
  return { depth, inFlight, nextAttemptAt, unusableRetryAfter, origins }
}
