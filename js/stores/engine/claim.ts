/**
 * Claiming what is due. Only lanes that are ready are looked at, and of each only the first tasks: a held lane with fifty
 * thousand due tasks costs nothing.
 */

import type { StoredTask } from '../../api/records.ts'
import { type Claim, SWEEP, type Turn } from '../../api/store.ts'
import { endUnasked, markUnreadable, startLease } from './change.ts'
import type { Heads, Tx } from './port.ts'
import type { Lane } from './row.ts'
import { refusal } from './rules.ts'
import { type Step, together } from './step.ts'
import { collect } from './sweep.ts'

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

/** Nothing more is claimed once the owner is not here: its leases would be looked after by no process. */
export function* claimDue(tx: Tx, owner: string, claim: Claim): Step<Claimed> {
  const claimed: Turn['claimed'][number][] = []
  const ended: StoredTask[] = []
  const taken = new Map<string, number>()
  let candidates = yield* candidatesOf(tx, owner, claim, taken)
  const open = ({ heads, left, lane }: Candidate): boolean => !!heads.first && left > 0 && lane.inFlight < claim.perLane
  for (let spoilt = 0; claimed.length < claim.limit && tx.state.inFlight < claim.total && spoilt < SWEEP; ) {
    if (!tx.isHere()) break
    const first = candidates.filter(open).reduce<Candidate | undefined>(earlier, undefined)
    const row = first?.heads.row()
    if (!first || !row) break
    const task = tx.show(row)
    const reason = task && refusal(row, task.policy, tx.now)
    if (!task || reason) spoilt++
    if (!task) markUnreadable(tx, row)
    else if (reason) {
      endUnasked(tx, row, reason)
      collect(tx, ended, row)
    } else {
      const lease = startLease(tx, row, owner, claim.leaseMs)
      first.left--
      taken.set(row.lane, (taken.get(row.lane) ?? 0) + 1)
      claimed.push({ task: tx.show(row) ?? task, lease })
    }
    if (row.endedAt !== null && row.orderKey !== null) {
      yield tx.flush() // the next of its order, in whatever lane, may be due now
      candidates = yield* candidatesOf(tx, owner, claim, taken)
    } else yield first.heads.next()
  }
  const waiting = candidates.filter(({ heads, left }) => heads.first && left > 0)
  const isFull = tx.state.inFlight >= claim.total
  return {
    claimed,
    ended,
    blockedByLimit: waiting.some(({ lane }) => isFull || lane.inFlight >= claim.perLane),
    more: !isFull && waiting.some(({ lane }) => lane.inFlight < claim.perLane),
  }
}

function* candidatesOf(tx: Tx, owner: string, claim: Claim, taken: ReadonlyMap<string, number>): Step<Candidate[]> {
  const mostOf = boundsOf(claim)
  const candidates = tx.readyLanes(claim).flatMap((lane) => {
    const left = mostOf(lane.name) - (taken.get(lane.name) ?? 0)
    return left > 0 ? [{ lane, left, heads: tx.heads(lane, owner, claim) }] : []
  })
  const each = Math.ceil(claim.limit / Math.max(1, candidates.length))
  yield together(
    candidates.map(({ heads, left, lane }) => heads.read(1 + Math.min(each, left, claim.perLane - lane.inFlight))),
  )
  return candidates
}

/** Most that may be claimed from a lane, by name; lanes that are not named are unbounded with 'any', and out of it otherwise. */
export function boundsOf({ lanes, bounds = [] }: Claim): (lane: string) => number {
  const named = new Map((lanes === 'any' ? bounds : lanes).map(({ lane, max }) => [lane, max]))
  const otherwise = lanes === 'any' ? Number.POSITIVE_INFINITY : 0
  return (lane) => named.get(lane) ?? otherwise
}

/** Higher priority, then the lane served longest ago, then due first, then by name. */
function earlier(best: Candidate | undefined, other: Candidate): Candidate {
  const [a, b] = [best?.heads.first, other.heads.first]
  if (!best || !a || !b) return best ?? other
  const order = a.rank - b.rank || best.lane.served - other.lane.served || (a.dueAt ?? 0) - (b.dueAt ?? 0)
  return order > 0 || (order === 0 && other.lane.name < best.lane.name) ? other : best
}
