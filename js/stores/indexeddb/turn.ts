/** One atomic step of a runner, in the order that the contract gives. */

import type { Step, Turn } from '../../api/store.ts'
import { countsOf } from '../engine/turn.ts'
import { claimDue, NOTHING } from './claim.ts'
import type { Orphans } from './presence.ts'
import { renew, settle } from './settle.ts'
import { endHolds, endOverdue, findOverdue, retain } from './sweep.ts'
import type { Transaction } from './transaction.ts'
import { view } from './view.ts'

export async function turn(
  tx: Transaction,
  { owner, settle: ends, renew: leases, claim }: Step,
  orphans: Orphans | undefined,
  isHere: () => boolean,
): Promise<Turn> {
  const named = [...ends.map(({ lease }) => lease.taskId), ...leases.map(({ taskId }) => taskId)]
  const [trimmed, overdue] = await Promise.all([retain(tx), findOverdue(tx, orphans), tx.verify(), tx.rows(named)])
  endHolds(tx)
  const settled = ends.map((settlement) => settle(tx, settlement))
  const renewed = leases.map((lease) => renew(tx, lease))
  const ended = endOverdue(tx, owner, overdue, orphans)
  await tx.flush()
  const isForeign = claim !== null && !tx.isCurrent(claim.principal)
  const taken = claim && !isForeign ? await claimDue(tx, owner, claim, isHere) : NOTHING
  const { lanes, nextInMs } = await view(tx, claim)
  return {
    now: tx.shown(tx.now),
    settled,
    renewed,
    claimed: taken.claimed,
    ended: [...ended, ...taken.ended],
    lanes,
    nextInMs: taken.more ? 0 : nextInMs,
    blockedByLimit: taken.blockedByLimit,
    counts: countsOf(tx.state),
    ...(trimmed > 0 && { trimmed }),
    ...(isForeign && { isForeign }),
    ...(tx.unreadable > 0 && { unreadable: tx.unreadable }),
  }
}
