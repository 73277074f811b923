/** Turns the core's numbers into the public form of `stats()`. */

import type { HeldStats, OriginStats } from '../api/stats.ts'
import type { CircuitState } from '../api/task.ts'
import { CIRCUITS } from '../core/codes.ts'
import { FOREVER } from '../platform/clock.ts'
import type { Lanes } from './lanes.ts'

/** Numbers of the core's `stats()`, in lists: names would cost the core more. */
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
    shutUntilAt: number | null,
    circuit: number,
    tokens: number,
  ])[],
]

function worse(one: CircuitState = 'CLOSED', other: CircuitState = 'CLOSED'): CircuitState {
  const found = (['OPEN', 'HALF_OPEN'] as const).find((state) => one === state || other === state)
  return found ?? 'CLOSED'
}

const NOTHING = [0, 0, null, null, 0, FOREVER] as const

/** Most origins in an answer: a crawler talks to as many as it finds. */
const MOST_ORIGINS = 1_000

/** An origin of which there is more to tell than that it is known. */
const isBusy = ({ depth, inFlight, circuit, heldUntilAt }: OriginStats): boolean =>
  depth > 0 || inFlight > 0 || circuit !== 'CLOSED' || heldUntilAt !== null

/** `gateOf`: what keeps the retries of a lane from starting. `of`: of one principal's tasks; undefined: of all. */
export function heldStats(
  core: CoreStats,
  lanes: Lanes,
  gateOf: (lane: number) => Pick<OriginStats, 'gate' | 'gateUntilAt'>,
  of?: string | null,
): HeldStats {
  const [depthOfAll, inFlightOfAll, nextAttemptAt, unusableRetryAfter, rows] = core
  const byLane = new Map(rows.map(([lane, ...row]) => [lane, row]))
  const origins = new Map<string, OriginStats>()
  const handles = new Map<string, number[]>()
  const own = { depth: 0, inFlight: 0 }
  for (const { principal, origin, handle } of lanes.all()) {
    if (of !== undefined && principal !== of) continue
    const [depth, inFlight, heldUntilAt, shutUntilAt, circuit, tokens] = byLane.get(handle) ?? NOTHING
    own.depth += depth
    own.inFlight += inFlight
    const other = origins.get(origin)
    const others = handles.get(origin)
    if (others) others.push(handle)
    else handles.set(origin, [handle])
    origins.set(origin, {
      depth: depth + (other?.depth ?? 0),
      inFlight: inFlight + (other?.inFlight ?? 0),
      // where several principals have a lane to one origin, the lane that is worst off
      circuit: worse(CIRCUITS[circuit], other?.circuit),
      heldUntilAt: Math.max(heldUntilAt ?? 0, other?.heldUntilAt ?? 0) || null,
      shutUntilAt: Math.max(shutUntilAt ?? 0, other?.shutUntilAt ?? 0) || null,
      retryBudget: Math.min(tokens, other?.retryBudget ?? FOREVER),
    })
  }
  // the core is asked about those that are shown: there may be ten thousand others
  const withGates = (shown: readonly (readonly [string, OriginStats])[]): Record<string, OriginStats> =>
    Object.fromEntries(
      shown.map(([origin, stats]) => [origin, Object.assign(stats, ...(handles.get(origin) ?? []).map(gateOf))]),
    )
  const whole = of === undefined ? { depth: depthOfAll, inFlight: inFlightOfAll } : own
  // the time of another's task is nothing to one who has none
  const isNone = of !== undefined && own.depth === 0
  const held = { ...whole, nextAttemptAt: isNone ? null : nextAttemptAt, unusableRetryAfter }
  if (origins.size <= MOST_ORIGINS) return { ...held, origins: withGates([...origins]) }
  const busyFirst = [...origins].sort(([, a], [, b]) => Number(isBusy(b)) - Number(isBusy(a)) || b.depth - a.depth)
  const moreOrigins = origins.size - MOST_ORIGINS
  return { ...held, origins: withGates(busyFirst.slice(0, MOST_ORIGINS)), moreOrigins }
}
