/** GET /stats: how many tasks there are, and the lanes that come soonest. */

import type { OriginStats } from 'redrive'
import { pausedBy, principalIn } from 'redrive/internal'
import { originIn, type StoredTask } from 'redrive/store'
import { type Exchange, ok, type Reply } from '../exchange.ts'
import { ownOf } from '../tokens.ts'

const SHOWN = 64
/** Live tasks that are looked at, at most. */
const LOOKED_AT = 1_000

interface Lane {
  readonly lane: string
  readonly pending: number
  readonly inFlight: number
  readonly nextAttemptAt: number | null
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
    lanes: lanes.slice(0, SHOWN).map((lane) => showLane(lane, origins[originIn(lane.lane)], isPaused)),
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
  const page = await context.store.list({ ...ownOf(caller), active: true, limit: LOOKED_AT })
  const byName = new Map<string, StoredTask[]>()
  for (const task of page.tasks) {
    const tasks = byName.get(task.lane)
    if (tasks) tasks.push(task)
    else byName.set(task.lane, [task])
  }
  const lanes = [...byName].map(([lane, tasks]) => gathered(lane, tasks))
  lanes.sort((a, b) => soonest(a) - soonest(b) || (a.lane < b.lane ? -1 : 1))
  return { lanes, isMore: page.cursor !== undefined }
}

/** Far beyond any instant: a difference of infinities is no number. */
const soonest = ({ nextAttemptAt }: Lane): number => nextAttemptAt ?? Number.MAX_SAFE_INTEGER

function gathered(lane: string, tasks: readonly StoredTask[]): Lane {
  const inFlight = tasks.filter(({ status }) => status === 'IN_FLIGHT').length
  const next = Math.min(...tasks.map(({ dueAt }) => dueAt ?? Infinity))
  const nextAttemptAt = next === Infinity ? null : next
  return { lane, pending: tasks.length - inFlight, inFlight, nextAttemptAt }
}

function showLane(
  { lane, ...rest }: Lane,
  origin: OriginStats | undefined,
  isPaused: ReturnType<typeof pausedBy>,
): object {
  const {
    heldUntilAt = null,
    circuit = 'CLOSED',
    retryBudget = Infinity,
    gate = null,
    gateUntilAt = null,
  } = origin ?? {}
  return {
    origin: originIn(lane),
    tenant: principalIn(lane),
    ...rest,
    heldUntilAt,
    circuit,
    retryBudget: Number.isFinite(retryBudget) ? retryBudget : null,
    gate,
    gateUntilAt,
    paused: isPaused(lane),
  }
}
