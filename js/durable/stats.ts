/** The numbers of a queue with a store: what is here, and what the store has said last. */

import type { RunnerStats } from '../api/stats.ts'
import type { LaneView, TaskStore } from '../api/store.ts'

export type Counts = Awaited<ReturnType<TaskStore['counts']>>

const FOREVER = Number.POSITIVE_INFINITY

/** `here`: without the store. `wakeAt`: when the store has something to do next. */
export function withStored(
  here: RunnerStats,
  counts: Counts | undefined,
  lanes: readonly LaneView[],
  wakeAt: number,
): RunnerStats {
  const { pending = 0, inFlight = 0, exhausted = 0 } = counts ?? {}
  const origins = { ...here.origins }
  for (const { lane, pending: waits, inFlight: runs } of lanes) {
    const origin = lane.split(' ', 1)[0] as string
    const none = { inFlight: runs, circuit: 'CLOSED', heldUntilAt: null, retryBudget: FOREVER } as const
    const known = origins[origin]
    origins[origin] = { ...(known ?? none), depth: (known?.depth ?? 0) + waits + runs }
  }
  const nextAttemptAt = Math.min(here.nextAttemptAt ?? FOREVER, pending > 0 ? wakeAt : FOREVER)
  return {
    ...here,
    depth: here.depth + pending + inFlight,
    deadLetters: here.deadLetters + exhausted,
    nextAttemptAt: nextAttemptAt === FOREVER ? null : nextAttemptAt,
    origins,
  }
}
