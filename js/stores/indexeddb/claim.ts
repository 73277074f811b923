/**
 * Claiming what is due. Only lanes that are ready are looked at, and of each only the first tasks of its queues: a held
 * lane with fifty thousand due tasks costs nothing.
 */

import { type Claim, type StoredTask, SWEEP, type Turn } from '../../api/store.ts'
import { refusal } from '../engine/rules.ts'
import { endUntold, takeLease } from './change.ts'
import { Heads } from './heads.ts'
import { nameOf } from './keys.ts'
import { type Lane, readyAt } from './lanes.ts'
import { storedTask } from './rows.ts'
import { collect } from './sweep.ts'
import type { Transaction } from './transaction.ts'

export interface Claimed {
  readonly claimed: Turn['claimed']
  readonly ended: readonly StoredTask[]
  readonly blockedByLimit: boolean
  /** More was due than `limit`. */
  readonly more: boolean
}

export const NOTHING: Claimed = { claimed: [], ended: [], blockedByLimit: false, more: false }

/** A lane that may be claimed from. */
interface Candidate {
  readonly lane: Lane
  readonly heads: Heads
  /** Tasks that may still be claimed from it. */
  left: number
}

/** `isHere`: nothing is claimed once it is not, since its leases would be looked after by nobody. */
export async function claimDue(tx: Transaction, owner: string, claim: Claim, isHere: () => boolean): Promise<Claimed> {
  const claimed: Turn['claimed'][number][] = []
  const ended: StoredTask[] = []
  const taken = new Map<string, number>()
  let candidates = await candidatesOf(tx, owner, claim, taken)
  const open = ({ heads, left, lane }: Candidate): boolean => !!heads.first && left > 0 && lane.inFlight < claim.perLane
  for (let spoilt = 0; claimed.length < claim.limit && tx.state.inFlight < claim.total && spoilt < SWEEP; ) {
    if (!isHere()) break
    const first = candidates.filter(open).reduce<Candidate | undefined>(earlier, undefined)
    const row = first?.heads.first
    if (!first || !row) break
    const task = storedTask(row, tx.state.skewMs)
    const reason = task && refusal(row, row.policy, tx.now)
    if (!task || reason) spoilt++
    if (!task) tx.putAside(row)
    else if (reason) {
      endUntold(tx, row, reason)
      collect(tx, ended, row)
    } else {
      const lease = takeLease(tx, row, owner, claim.leaseMs)
      first.left--
      taken.set(row.lane, (taken.get(row.lane) ?? 0) + 1)
      claimed.push({ task: storedTask(row, tx.state.skewMs) ?? task, lease })
    }
    if (row.endedAt !== null && row.orderKey !== null) {
      await tx.flush() // the next of its order, in whatever lane, may be due now
      candidates = await candidatesOf(tx, owner, claim, taken)
    } else await first.heads.next()
  }
  const waiting = candidates.filter(({ heads, left }) => heads.first && left > 0)
  const full = tx.state.inFlight >= claim.total
  return {
    claimed,
    ended,
    blockedByLimit: waiting.some(({ lane }) => full || lane.inFlight >= claim.perLane),
    more: !full && waiting.some(({ lane }) => lane.inFlight < claim.perLane),
  }
}

async function candidatesOf(
  tx: Transaction,
  owner: string,
  claim: Claim,
  taken: ReadonlyMap<string, number>,
): Promise<Candidate[]> {
  const bounds = boundsOf(claim)
  const ready = tx.lanes.filter((lane) => isOpen(lane, claim, bounds) && readyAt(lane) <= tx.now)
  const candidates = ready.flatMap((lane) => {
    const left = (bounds.get(lane.name) ?? Number.POSITIVE_INFINITY) - (taken.get(lane.name) ?? 0)
    return left > 0 ? [{ lane, left, heads: new Heads(tx, lane, owner, claim) }] : []
  })
  const each = Math.ceil(claim.limit / Math.max(1, candidates.length))
  await Promise.all(
    candidates.map(({ heads, left, lane }) => heads.read(1 + Math.min(each, left, claim.perLane - lane.inFlight))),
  )
  return candidates
}

/** Of the principal, named where the claim has a list, and not shut. */
export function isOpen(lane: Lane, { principal, lanes }: Claim, bounds: ReadonlyMap<string, number>): boolean {
  return lane.principal === nameOf(principal) && (bounds.get(lane.name) ?? (lanes === 'any' ? 1 : 0)) > 0
}

/** Most that may be claimed from a lane; lanes that are not named are unbounded with 'any', and out of it otherwise. */
export function boundsOf({ lanes, bounds = [] }: Claim): ReadonlyMap<string, number> {
  return new Map((lanes === 'any' ? bounds : lanes).map(({ lane, max }) => [lane, max]))
}

/** Higher priority, then the lane served longest ago, then due first, then by name. */
function earlier(best: Candidate | undefined, other: Candidate): Candidate {
  const [a, b] = [best?.heads.first, other.heads.first]
  if (!best || !a || !b) return best ?? other
  const order = a.rank - b.rank || best.lane.served - other.lane.served || (a.dueAt ?? 0) - (b.dueAt ?? 0)
  return order > 0 || (order === 0 && other.lane.name < best.lane.name) ? other : best
}
