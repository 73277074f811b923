/** One atomic step of a runner, in the order that the contract gives. */

import type { Step, Turn } from '../../api/store.ts'
import { claimDue } from './claim.ts'
import { dropEmptyLanes } from './lanes.ts'
import { renew, settle } from './settle.ts'
import { endLate, reclaim, retain } from './sweep.ts'
import type { Transaction } from './transaction.ts'
import { lanesShown, nextMoment } from './view.ts'

export function turn(tx: Transaction, { owner, settle: ends, renew: leases, claim }: Step): Turn {
  dropEmptyLanes(tx)
  const trimmed = retain(tx)
  const settled = ends.map((settlement) => settle(tx, settlement))
  const renewed = leases.map((lease) => renew(tx, lease))
  const ended = [...reclaim(tx), ...endLate(tx)]
  tx.flush()
  const taken = claim ? claimDue(tx, owner, claim) : undefined
  tx.flush()
  return {
    now: tx.now,
    settled,
    renewed,
    claimed: taken?.claimed ?? [],
    ended: [...ended, ...(taken?.ended ?? [])],
    lanes: lanesShown(tx, claim),
    nextInMs: taken?.more ? 0 : nextMoment(tx, claim),
    blockedByLimit: taken?.blockedByLimit ?? false,
    ...(trimmed > 0 && { trimmed }),
    ...(tx.unreadable > 0 && { unreadable: tx.unreadable }),
  }
}
