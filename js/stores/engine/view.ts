/** The view that a turn ends with: the lanes that come first, and when to ask again. */

import { type Claim, LANES_SHOWN, type LaneView, type Turn } from '../../api/store.ts'
import type { Tx } from './port.ts'
import { type Lane, readyAt } from './row.ts'
import { lateAt } from './rules.ts'
import type { Step } from './step.ts'

/** `more`: the claim has left tasks that it could take at once. */
export function* view(
  tx: Tx,
  claim: Claim | null,
  more: boolean,
  isBrief: true | undefined,
): Step<Pick<Turn, 'lanes' | 'nextInMs'>> {
  yield tx.loadMoments(claim)
  const moments = tx.moments(claim)
  const lanes = isBrief ? [] : moments.lanes
  return {
    lanes: lanes
      .map((lane) => viewOf(lane, tx.now))
      .sort(soonestFirst)
      .slice(0, LANES_SHOWN),
    nextInMs: more ? 0 : inMs(Math.min(moments.leaseAt, lateAt(moments), moments.readyAt), tx.now),
  }
}

function viewOf(lane: Lane, now: number): LaneView {
  const { name, pending, inFlight, heldUntil } = lane
  const heldForMs = Math.max(0, (heldUntil ?? now) - now)
  return { lane: name, pending, inFlight, nextInMs: inMs(readyAt(lane), now), heldForMs }
}

/** `null`: never. */
const inMs = (at: number, now: number): number | null =>
  at === Number.POSITIVE_INFINITY ? null : Math.max(0, at - now)

/** By name where both are due at once. */
export function soonestFirst(a: LaneView, b: LaneView): number {
  const [first, second] = [a.nextInMs ?? Number.MAX_VALUE, b.nextInMs ?? Number.MAX_VALUE]
  return first - second || (a.lane < b.lane ? -1 : 1)
}
