/** What comes next in the database, asked for in one go with the writing of what is not written yet. */

import type { Claim } from '../../api/store.ts'
import { boundsOf } from '../engine/claim.ts'
import type { Moments } from '../engine/port.ts'
import { readyAt } from '../engine/row.ts'
import type { HeldRows } from './held-rows.ts'
import { nameOf } from './keys.ts'
import { isShown, type Lane, soonestDue } from './lane-rows.ts'
import { done } from './transact.ts'

const FOREVER = Number.POSITIVE_INFINITY

export async function loadMoments(tx: HeldRows, claim: Claim | null): Promise<Moments> {
  const { now, state } = tx
  const mostOf = claim && boundsOf(claim)
  const isOpen = (lane: Lane): boolean =>
    !mostOf || (lane.principal === nameOf(claim.principal) && mostOf(lane.name) > 0)
  const lanes = tx.lanes.filter((lane) => isShown(lane, now) && isOpen(lane))
  const tasks = tx.store('tasks')
  await tx.flushOrders()
  tx.flushRows()
  // what is not known of a lane yet can only be later
  const [, lease, deadline, ...coming] = await Promise.all([
    tx.flush(),
    state.inFlight === 0 ? undefined : firstOf(tasks.index('lease')),
    state.pending === 0 ? undefined : firstOf(tasks.index('late')),
    ...lanes.map((lane) => (claim && readyAt(lane) <= now ? soonestDue(tasks, lane, now) : null)),
  ])
  // what is due now and was not claimed is kept back by something else
  const ready = lanes.map((lane, i) => (claim && readyAt(lane) <= now ? (coming[i] ?? FOREVER) : readyAt(lane)))
  return {
    lanes,
    leaseAt: (lease as number | undefined) ?? FOREVER,
    deadlineAt: (deadline as readonly number[] | undefined)?.[0] ?? FOREVER,
    readyAt: Math.min(...ready),
  }
}

async function firstOf(index: IDBIndex): Promise<IDBValidKey | undefined> {
  return (await done(index.openKeyCursor()))?.key
}
