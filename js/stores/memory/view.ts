/** The state that a turn leaves behind: the lanes, and when to ask again. */

import { type Claim, LANES_SHOWN, type LaneView } from '../../api/store.ts'
import { lateAt } from '../engine/rules.ts'
import { bounds, type Claimed } from './claim.ts'
import { gateOf } from './limits.ts'
import { freeAt, type Lane, type Rows } from './rows.ts'

interface Due {
  /** The first due time. */
  first: number
  /** The first that is still to come. */
  coming: number
}

export interface View {
  readonly lanes: readonly LaneView[]
  readonly nextInMs: number | null
}

export function view(rows: Rows, claim: Claim | null, claimed: Claimed, now: number): View {
  const mostOf = claim ? bounds(rows, claim) : () => Number.POSITIVE_INFINITY
  const due = dueTimes(rows, now)
  const tokenAt = claim ? gateOf(rows, claim).tokenAt : () => Number.NEGATIVE_INFINITY
  let nextAt = claimed.more ? now : (claimed.tokenAt ?? Number.POSITIVE_INFINITY)
  const lanes: LaneView[] = []
  for (const lane of rows.lanes.values()) {
    if (!(mostOf(lane) > 0)) continue
    const { first, coming } = due.get(lane) ?? NOTHING
    const free = freeAt(lane)
    // what is due and still here, unheld, only limits, bounds, tokens or homes keep back: unless there was no claim
    nextAt = Math.min(nextAt, free > now ? Math.max(first, free) : claim ? coming : first)
    if (lane.pending + lane.inFlight === 0 && lane.heldUntil <= now) continue
    lanes.push(viewOf(lane, Math.max(first, free, tokenAt(lane)), now))
  }
  for (const { leaseEndsAt } of rows.of('IN_FLIGHT')) nextAt = Math.min(nextAt, leaseEndsAt)
  for (const row of rows.of('PENDING')) if (!row.unreadable) nextAt = Math.min(nextAt, lateAt(row))
  return { lanes: lanes.sort(soonestFirst).slice(0, LANES_SHOWN), nextInMs: inMs(nextAt, now) }
}

const NOTHING: Due = { first: Number.POSITIVE_INFINITY, coming: Number.POSITIVE_INFINITY }

function dueTimes(rows: Rows, now: number): ReadonlyMap<Lane, Due> {
  const due = new Map<Lane, Due>()
  for (const { lane, dueAt } of rows.of('PENDING')) {
    if (dueAt === null) continue
    const known = due.get(lane) ?? { ...NOTHING }
    known.first = Math.min(known.first, dueAt)
    if (dueAt > now) known.coming = Math.min(known.coming, dueAt)
    due.set(lane, known)
  }
  return due
}

function viewOf({ name, pending, inFlight, heldUntil }: Lane, nextAt: number, now: number): LaneView {
  return { lane: name, pending, inFlight, nextInMs: inMs(nextAt, now), heldForMs: Math.max(0, heldUntil - now) }
}

function inMs(at: number, now: number): number | null {
  return at === Number.POSITIVE_INFINITY ? null : Math.max(0, at - now)
}

function soonestFirst(a: LaneView, b: LaneView): number {
  const [at, bt] = [a.nextInMs ?? Number.MAX_VALUE, b.nextInMs ?? Number.MAX_VALUE]
  return at - bt || (a.lane < b.lane ? -1 : 1)
}
