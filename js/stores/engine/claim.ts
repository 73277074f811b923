/**
 * Claiming what is due. Lanes are looked at in the order in which they are served, and no more of them than tasks may be
 * claimed; of each only the first tasks. Ten thousand lanes that wait, are held or have no room cost nothing.
 */

import type { StoredTask } from '../../api/records.ts'
import { type Claim, type ClaimedTask, SWEEP, type Turn } from '../../api/store.ts'
import { endUnasked, markUnreadable, startLease } from './change.ts'
import type { Gate } from './ledger.ts'
import { boundsOf, limitName, limitsOf } from './lineup.ts'
import type { Heads, Ready, Tx } from './port.ts'
import { inTurn, type Lane, type LanePlace } from './row.ts'
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

export { boundsOf, mostTriedIn } from './lineup.ts'

export const NOTHING: Claimed = { claimed: [], ended: [], blockedByLimit: false, more: false }

/** Lanes without room that are looked at at once: whether any of them keeps back what is due. */
const FEW = 8

/** A lane that may be claimed from. */
interface Candidate {
  readonly lane: Lane
  readonly heads: Heads
  readonly share: Share
}

/** Tasks that may still be claimed from a lane, or from all lanes of an origin together. */
interface Share {
  left: number
}

/** Nothing more is claimed once the owner is not here: its leases would be looked after by no process. */
export function* claimDue(tx: Tx, owner: string, claim: Claim): Step<Claimed> {
  const claimed: ClaimedTask[] = []
  const ended: StoredTask[] = []
  const line = new Line(tx, owner, claim)
  yield* line.start()
  for (let spoilt = 0; claimed.length < claim.limit && tx.state.inFlight < claim.total && spoilt < SWEEP; ) {
    if (!tx.isHere()) break
    const first = yield* line.first()
    const row = first?.heads.row()
    if (!first || !row) break
    const task = tx.show(row)
    if (task && !tx.lineup?.everyone && task.principal !== claim.principal) {
      // its lane says whose it is, and the lane's row says something else (S16)
      first.share.left = 0
      continue
    }
    if (tx.ledger?.isLate(first.lane, row.rank)) {
      spoilt++
      continue
    }
    const reason = task && refusal(row, task.policy, tx.now)
    if (!task || reason) spoilt++
    if (!task) markUnreadable(tx, row)
    else if (reason) {
      endUnasked(tx, row, reason)
      collect(tx, ended, row)
    } else {
      const lease = startLease(tx, row, owner, claim.leaseMs)
      line.took(first)
      // what a lease changes of it; to read the row once more would cost as much as the first time
      const { status, attemptNumber, dueAt } = row
      const body = tx.bodyAtHand?.(row)
      claimed.push({
        task: { ...task, status, attemptNumber, dueAt },
        lease,
        dueAt: tx.shown(row.turnAt),
        ...(body && { body }),
      })
    }
    if ((row.endedAt !== null || row.aside) && row.orderKey !== null) {
      yield tx.flush() // the next of its order, in whatever lane, may be due now
      yield* line.start()
    } else yield first.heads.next()
  }
  return { claimed, ended, ...(yield* line.rest()) }
}

/** Lanes that may be claimed from, of which as many are known as have to be. */
class Line {
  readonly #tx: Tx
  readonly #owner: string
  readonly #claim: Claim
  /** By the name that limits go by, of those that were looked at. */
  readonly #shares = new Map<string, Share>()
  readonly #gate: Gate | undefined
  readonly #mostOf: (lane: string) => number
  readonly #limitOf: (name: string) => number
  readonly #nameOf: (lane: string) => string
  readonly #candidates = new Map<string, Candidate>()
  #asked = 0
  /** The place of the last that is known; those behind it come no earlier. `undefined`: all are known. */
  #last: LanePlace | undefined

  constructor(tx: Tx, owner: string, claim: Claim) {
    this.#tx = tx
    this.#owner = owner
    this.#claim = claim
    this.#gate = tx.ledger?.gate(owner, claim)
    this.#mostOf = boundsOf(claim, tx.lineup)
    this.#limitOf = limitsOf(claim)
    this.#nameOf = limitName(claim, tx.lineup)
  }

  /** Looks at the lanes anew. */
  *start(): Step<void> {
    this.#candidates.clear()
    yield this.#tx.lookAtLanes(this.#claim)
    // each is served once before any is served twice: one more than may be claimed tells whether there is more
    yield* this.#know(Math.min(this.#claim.limit, SWEEP) + 1)
  }

  /** The lane whose turn it is. */
  *first(): Step<Candidate | undefined> {
    for (;;) {
      let first: Candidate | undefined
      for (const each of this.#waiting()) {
        if (this.#hasRoom(each) && (!first || inTurn(placeOf(each), placeOf(first)) < 0)) first = each
      }
      if (!this.#last || (first && inTurn(placeOf(first), this.#last) <= 0)) return first
      if (this.#gate?.isTired) return undefined
      yield* this.#know(2 * this.#asked)
    }
  }

  /** One was leased. */
  took({ lane, share }: Candidate): void {
    share.left--
    this.#gate?.took(lane)
  }

  /** Says what was due and was not claimed. */
  *rest(): Step<Pick<Claimed, 'blockedByLimit' | 'more'>> {
    const isFull = this.#tx.state.inFlight >= this.#claim.total
    const isOpen = (): boolean => this.#waiting().some((lane) => isFull || this.#hasRoom(lane))
    while (this.#last && !this.#gate?.isTired && !isOpen()) yield* this.#know(2 * this.#asked)
    const blocked = isFull ? isOpen() : this.#waiting().some((lane) => !this.#hasRoom(lane))
    const isBlocked = blocked || (yield* this.#isAnyFull()) || this.#gate?.isBlocked() === true
    return { blockedByLimit: isBlocked, more: !isFull && isOpen() }
  }

  /** Whether a lane without room has something due that the claim could take. */
  *#isAnyFull(): Step<boolean> {
    if (this.#tx.state.inFlight < this.#claim.perLane) return false
    for (let count = FEW; ; count *= 2) {
      const ready = this.#tx.readyLanes(this.#owner, this.#open(), true, count)
      const found = this.#newOf(ready)
      yield together(found.map(({ heads }) => heads.read(1)))
      if (found.some(this.#waits)) return true
      if (ready.length < count) return false
    }
  }

  *#know(count: number): Step<void> {
    const { limit, perLane } = this.#claim
    const ready = this.#tx.readyLanes(this.#owner, this.#open(), false, count)
    this.#asked = count
    const found = this.#newOf(ready)
    const last = ready.length < count ? undefined : ready.at(-1)
    this.#last = last && { name: last.lane.name, served: last.lane.served, rank: last.rank, dueAt: last.dueAt }
    for (const each of found) this.#candidates.set(each.lane.name, each)
    const each = Math.ceil(limit / Math.max(1, found.length))
    yield together(
      found.map(({ heads, share, lane }) => heads.read(1 + Math.min(each, share.left, perLane - lane.inFlight))),
    )
  }

  /** The claim, without the origins that have given all they may: one may have thousands of lanes, none of which is looked at any more. */
  #open(): Claim {
    const claim = this.#claim
    if (!this.#tx.lineup?.everyone || claim.lanes !== 'any') return claim
    const spent = [...this.#shares].flatMap(([lane, { left }]) => (left > 0 ? [] : [{ lane, max: 0 }]))
    return spent.length === 0 ? claim : { ...claim, bounds: [...(claim.bounds ?? []), ...spent] }
  }

  /** Those that are no candidates yet. */
  #newOf(ready: readonly Ready[]): Candidate[] {
    return ready.flatMap(({ lane }) => {
      const share = this.#shareOf(lane.name)
      const isOut = share.left <= 0 || this.#mostOf(lane.name) <= 0 || this.#candidates.has(lane.name)
      if (isOut || this.#gate?.parks(lane)) return []
      return [{ lane, share, heads: this.#tx.heads(lane, this.#owner, this.#claim) }]
    })
  }

  #shareOf(lane: string): Share {
    const name = this.#nameOf(lane)
    const share = this.#shares.get(name) ?? { left: this.#limitOf(name) }
    this.#shares.set(name, share)
    return share
  }

  #waiting(): Candidate[] {
    return [...this.#candidates.values()].filter(this.#waits)
  }

  readonly #waits = ({ heads, share, lane }: Candidate): boolean =>
    heads.first !== undefined && share.left > 0 && !this.#gate?.lacksToken(lane)

  readonly #hasRoom = ({ lane }: Candidate): boolean => lane.inFlight < this.#claim.perLane && !this.#gate?.isFull(lane)
}

const placeOf = ({ lane: { name, served }, heads: { first } }: Candidate): LanePlace => ({
  name,
  served,
  rank: first?.rank ?? 0,
  dueAt: first?.dueAt ?? 0,
})
