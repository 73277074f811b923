/** What a turn tells besides its work: the lanes that come first, and when to ask again. Writes what is not written yet. */

import { type Claim, LANES_SHOWN, type LaneView } from '../../api/store.ts'
import { lateAt } from '../engine/rules.ts'
import { boundsOf, isOpen } from './claim.ts'
import { isShown, type Lane, readyAt, soonestDue } from './lanes.ts'
import { done } from './request.ts'
import type { Transaction } from './transaction.ts'

export interface View {
  readonly lanes: readonly LaneView[]
  readonly nextInMs: number | null
}

export async function view(tx: Transaction, claim: Claim | null): Promise<View> {
  const bounds = claim ? boundsOf(claim) : new Map<string, number>()
  const lanes = tx.lanes.filter((lane) => isShown(lane, tx.now) && (!claim || isOpen(lane, claim, bounds)))
  const tasks = tx.store('tasks')
  await tx.flushOrders()
  tx.flushRows()
  // asked in one go; what is not known of a lane yet can only be later
  const [, lease, deadline, ...coming] = await Promise.all([
    tx.flush(),
    tx.state.inFlight === 0 ? undefined : firstOf(tasks.index('lease')),
    tx.state.pending === 0 ? undefined : firstOf(tasks.index('late')),
    ...lanes.map((lane) => (claim && readyAt(lane) <= tx.now ? soonestDue(tasks, lane, tx.now) : null)),
  ])
  const leaseAt = (lease as number | undefined) ?? Number.POSITIVE_INFINITY
  const deadlineAt = (deadline as readonly number[] | undefined)?.[0] ?? Number.POSITIVE_INFINITY
  // what is due now and was not claimed is kept back by something else
  const ready = lanes.map((lane, i) => {
    const at = readyAt(lane)
    return claim && at <= tx.now ? (coming[i] ?? Number.POSITIVE_INFINITY) : at
  })
  const next = Math.min(leaseAt, lateAt({ deadlineAt }), ...ready)
  return {
    lanes: lanes
      .map((lane) => viewOf(tx, lane))
      .sort(soonestFirst)
      .slice(0, LANES_SHOWN),
    nextInMs: next === Number.POSITIVE_INFINITY ? null : Math.max(0, next - tx.now),
  }
}

async function firstOf(index: IDBIndex): Promise<IDBValidKey | undefined> {
  return (await done(index.openKeyCursor()))?.key
}

function viewOf(tx: Transaction, lane: Lane): LaneView {
  const { name, pending, inFlight, heldUntil } = lane
  const at = readyAt(lane)
  return {
    lane: name,
    pending,
    inFlight,
    nextInMs: at === Number.POSITIVE_INFINITY ? null : Math.max(0, at - tx.now),
    heldForMs: Math.max(0, (heldUntil ?? tx.now) - tx.now),
  }
}

function soonestFirst(a: LaneView, b: LaneView): number {
  const [first, second] = [a.nextInMs ?? Number.MAX_VALUE, b.nextInMs ?? Number.MAX_VALUE]
  return first - second || (a.lane < b.lane ? -1 : 1)
}
