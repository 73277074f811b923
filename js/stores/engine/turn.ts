/** One atomic step of a runner, in the order that the contract gives. */

import type { Turn, Step as Work } from '../../api/store.ts'
import { holdLane } from './change.ts'
import { claimDue, NOTHING } from './claim.ts'
import type { Tx } from './port.ts'
import { countsOf } from './row.ts'
import { renew, settle } from './settle.ts'
import type { Step } from './step.ts'
import { endOverdue, outlivedOf, retain } from './sweep.ts'
import { view } from './view.ts'

/** A turn that also tells what was put aside before it. */
export const withMended = (turn: Turn, mended: number): Turn =>
  mended > 0 ? { ...turn, unreadable: (turn.unreadable ?? 0) + mended } : turn

export function* turn(
  tx: Tx,
  { owner, settle: ends, hold = [], renew: leases, claim, silence, isBrief }: Work,
): Step<Turn> {
  const outlived = outlivedOf(tx)
  yield tx.loadTurn([...ends.map(({ lease }) => lease.taskId), ...leases.map(({ taskId }) => taskId)], outlived)
  tx.endHolds()
  const trimmed = retain(tx, outlived)
  const settled = ends.map((settlement) => settle(tx, settlement))
  for (const { lane, forMs } of hold) if (forMs > 0) holdLane(tx, tx.laneNamed(lane), forMs)
  const renewed = leases.map((lease) => renew(tx, lease))
  const ended = endOverdue(tx, owner, silence)
  yield tx.flush()
  const isForeign = claim !== null && !tx.isCurrent(claim.principal)
  const taken = claim && !isForeign ? yield* claimDue(tx, owner, claim) : NOTHING
  const { lanes, nextInMs } = yield* view(tx, claim, taken.more, isBrief)
  return {
    now: tx.shown(tx.now),
    settled,
    renewed,
    claimed: taken.claimed,
    ended: [...ended, ...taken.ended],
    lanes,
    nextInMs,
    blockedByLimit: taken.blockedByLimit,
    counts: countsOf(tx.state),
    ...(trimmed.length > 0 && { trimmed }),
    ...(isForeign && { isForeign }),
    ...(tx.unreadable > 0 && { unreadable: tx.unreadable }),
  }
}
