/** Giving leases to what is due, one after another, each time to the task that comes first by then. */

import { originIn } from '../../api/records.ts'
import { type Claim, type ClaimedTask, LOOKED_AT, SWEEP, type Turn } from '../../api/store.ts'
import { takesHome } from '../engine/homes.ts'
import { isReadable, refusal } from '../engine/rules.ts'
import { gateOf } from './limits.ts'
import { show } from './reads.ts'
import { freeAt, type Lane, type Row, type Rows } from './rows.ts'
import { type Found, markUnreadable } from './settle.ts'

export interface Claimed {
  readonly claimed: Turn['claimed']
  /** More was due than `limit`. */
  readonly more: boolean
  readonly blockedByLimit: boolean
  /** When the first token comes that alone keeps back what is due. */
  readonly tokenAt?: number
}

/** How many may be claimed of a lane, before any was. */
export function bounds(rows: Rows, claim: Claim): (lane: Lane) => number {
  const { lanes, principal, otherMax = Number.POSITIVE_INFINITY } = claim
  const listed = lanes === 'any' ? (claim.bounds ?? []) : lanes
  const most = new Map(listed.map(({ lane, max }) => [lane, max]))
  const otherwise = lanes === 'any' ? otherMax : 0
  const nameOf = limitName(rows, claim)
  const boundOf = (lane: Lane): number => {
    // S16: whatever is asked for, only what is the principal's own
    const isOther = !rows.everyone && lane.principal !== principal
    return isOther || rows.isPaused(lane) ? 0 : (most.get(nameOf(lane)) ?? otherwise)
  }
  // each lease asks about all that waits: once of a lane is enough
  const known = new Map<Lane, number>()
  return (lane) => {
    const bound = known.get(lane) ?? boundOf(lane)
    known.set(lane, bound)
    return bound
  }
}

/** The name by which limits of a claim go: those of all lanes of an origin together, in a store for everyone. */
const limitName = ({ everyone }: Rows, { lanes }: Claim) => {
  return ({ name }: Lane): string => (everyone && lanes === 'any' ? originIn(name) : name)
}

export function claimDue(rows: Rows, claim: Claim, owner: string, found: Found, now: number): Claimed {
  const mostOf = bounds(rows, claim)
  const nameOf = limitName(rows, claim)
  const taken = new Map<string, number>()
  const takes = takesHome(owner, claim)
  const gate = gateOf(rows, claim)
  const leftOf = (lane: Lane): number => mostOf(lane) - (taken.get(nameOf(lane)) ?? 0)
  const isWanted = (row: Row): boolean =>
    row.dueAt !== null && row.dueAt <= now && freeAt(row.lane) <= now && leftOf(row.lane) > 0 && takes(row.given.home)
  const mayRun = ({ lane }: Row) => lane.inFlight < claim.perLane && gate.hasRoom(lane, leftOf(lane))
  const hasToken = ({ lane }: Row) => gate.tokenAt(lane) <= now
  const mayStart = (row: Row) => hasToken(row) && rows.counts.inFlight < claim.total && mayRun(row)

  const wanted = () => {
    const able = [...rows.of('PENDING')].filter(isWanted)
    const others = leftBehind(rows, able, claim)
    return able.filter((row) => !others.has(row))
  }

  const claimed: ClaimedTask[] = []
  for (let spoilt = 0; claimed.length < claim.limit && spoilt < SWEEP; ) {
    const row = firstOf(wanted(), mayStart)
    if (!row) break
    if (rows.tags?.isLate(row.lane, row.given.priority)) {
      spoilt++
      continue
    }
    const reason = refusal(row, row.policy, now)
    if (!isReadable(row.given)) markUnreadable(rows, row, found)
    else if (reason) {
      rows.endUnasked(row, 'EXHAUSTED', reason, now)
      found.ended.push(show(row))
    } else {
      rows.start(row, owner, claim.leaseMs, now)
      gate.took(row.lane, now)
      taken.set(nameOf(row.lane), (taken.get(nameOf(row.lane)) ?? 0) + 1)
      const lease = { taskId: row.taskId, token: row.token, forMs: claim.leaseMs }
      claimed.push({ task: show(row), lease, dueAt: row.wantedAt })
      continue
    }
    spoilt++
  }
  let more = false
  let blockedByLimit = false
  let tokenAt = Number.POSITIVE_INFINITY
  for (const row of wanted()) {
    if (mayStart(row)) more = true
    else if (hasToken(row)) blockedByLimit = true
    else if (mayRun(row)) tokenAt = Math.min(tokenAt, gate.tokenAt(row.lane))
  }
  return { claimed, more, blockedByLimit, tokenAt }
}

/** Where a lane's least tried tasks come first: all that it has but the next of these, of the first of the most urgent. */
function leftBehind({ everyone }: Rows, able: readonly Row[], { bounds = [] }: Claim): ReadonlySet<Row> {
  const others = new Set<Row>()
  if (!bounds.some(({ leastTried, untried }) => leastTried || untried)) return others
  for (const lane of new Set(able.map((row) => row.lane))) {
    const name = everyone ? originIn(lane.name) : lane.name
    const bound = bounds.find((each) => each.lane === name)
    if (!bound?.leastTried && !bound?.untried) continue
    const { untried } = bound
    const here = able.filter((row) => row.lane === lane)
    const first = firstOf(here, () => true)
    const urgent = here.filter(({ given }) => given.priority === first?.given.priority)
    const inOrder = urgent.sort((a, b) => (comesBefore(a, b) ? -1 : 1)).slice(0, LOOKED_AT)
    const [least] = inOrder.sort((a, b) => a.attemptNumber - b.attemptNumber)
    const chosen = untried && least?.attemptNumber !== 0 ? undefined : least
    for (const row of here) if (row !== chosen) others.add(row)
  }
  return others
}

function firstOf(pending: Iterable<Row>, fits: (row: Row) => boolean): Row | undefined {
  let first: Row | undefined
  for (const row of pending) if ((!first || comesBefore(row, first)) && fits(row)) first = row
  return first
}

/** By the order that `Claim` is documented with. Both are due. */
function comesBefore(a: Row, b: Row): boolean {
  const byLane = b.given.priority - a.given.priority || a.lane.served - b.lane.served || due(a) - due(b)
  if (byLane !== 0) return byLane < 0
  if (a.lane !== b.lane) return a.lane.name < b.lane.name
  return a.seq < b.seq
}

const due = ({ dueAt }: Row): number => dueAt ?? Number.POSITIVE_INFINITY
