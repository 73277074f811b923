/** GET /stats: how many tasks there are, and the lanes that come soonest. */

import type { OriginStats } from 'redrive'
import { pausedBy, principalIn } from 'redrive/internal'
import { originIn } from 'redrive/store'
import type { ApiContext } from '../context.ts'
import { type Exchange, ok, type Reply } from '../exchange.ts'
import { afterOthers } from '../in-slices.ts'
import { ownOf } from '../tokens.ts'

const SHOWN = 64
/** Live tasks that are looked at, at most: in all, and in one step. */
const LOOKED_AT = 1_000
const AT_ONCE = 32

interface Lane {
  readonly lane: string
  pending: number
  inFlight: number
  nextAttemptAt: number | null
}

interface Lanes {
  readonly lanes: readonly Lane[]
  readonly isMore: boolean
}

export async function stats(exchange: Exchange): Promise<Reply> {
  const { context } = exchange
  const { store, queue } = context
  const { capacity, origins } = queue.stats({ allPrincipals: true })
  const [counts, { lanes, isMore }, isPaused] = await Promise.all([
    countsOf(exchange),
    lanesOf(exchange),
    store.pauses.list().then(pausedBy),
  ])
  return ok({
    ...counts,
    capacity,
    durability: store.durability,
    lanes: lanes.slice(0, SHOWN).map((lane) => showLane(lane, origins[originIn(lane.lane)], isPaused, context)),
    moreLanes: isMore || lanes.length > SHOWN,
  })
}

async function countsOf({ caller, context }: Exchange): Promise<object> {
  const { store } = context
  if (caller.seesAll || !store.countsOf) {
    const { bytes, pending, inFlight, succeeded, exhausted, cancelled, purged } = await store.counts()
    return { counts: { pending, inFlight, succeeded, exhausted, cancelled, purged }, bytes }
  }
  const { pending, inFlight, exhausted } = await store.countsOf(caller.tenant)
  return { counts: { pending, inFlight, exhausted } }
}

async function lanesOf({ caller, context }: Exchange): Promise<Lanes> {
  const byName = new Map<string, Lane>()
  let cursor: string | undefined
  for (let left = LOOKED_AT; left > 0; ) {
    const limit = Math.min(AT_ONCE, left)
    const from = cursor === undefined ? {} : { cursor }
    const { tasks, cursor: next } = await context.store.list({ ...ownOf(caller), active: true, limit, ...from })
    for (const { lane, status, dueAt } of tasks) {
      const known = byName.get(lane) ?? { lane, pending: 0, inFlight: 0, nextAttemptAt: null }
      byName.set(lane, known)
      if (status === 'IN_FLIGHT') known.inFlight++
      else known.pending++
      if (dueAt !== null) known.nextAttemptAt = Math.min(soonest(known), dueAt)
    }
    cursor = next
    if (cursor === undefined || tasks.length === 0) break
    left -= limit
    await afterOthers()
  }
  const lanes = [...byName.values()].sort((a, b) => soonest(a) - soonest(b) || (a.lane < b.lane ? -1 : 1))
  return { lanes, isMore: cursor !== undefined }
}

/** Far beyond any instant: a difference of infinities is no number. */
const soonest = ({ nextAttemptAt }: Lane): number => nextAttemptAt ?? Number.MAX_SAFE_INTEGER

function showLane(
  { lane, ...rest }: Lane,
  origin: OriginStats | undefined,
  isPaused: ReturnType<typeof pausedBy>,
  { heldUntil }: ApiContext,
): object {
  const { circuit = 'CLOSED', retryBudget = Infinity, gate = null, gateUntilAt = null } = origin ?? {}
  return {
    origin: originIn(lane),
    tenant: principalIn(lane),
    ...rest,
    // what a server asks of one tenant is nothing to another
    heldUntilAt: heldUntil?.(lane) ?? null,
    circuit,
    retryBudget: Number.isFinite(retryBudget) ? retryBudget : null,
    gate,
    gateUntilAt,
    paused: isPaused(lane),
  }
}
