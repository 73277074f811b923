/** /pauses and /flush: what operators do to lanes, those of one origin, of one tenant, of both or of all. */

import { createHash } from 'node:crypto'
import { laneName, type Pause } from 'redrive/store'
import type { ApiStore } from '../context.ts'
import { type Exchange, NO_CONTENT, ok, type Reply } from '../exchange.ts'
import { afterOthers } from '../in-slices.ts'
import { Problem } from '../problem.ts'
import type { PauseIn, ScopeIn } from '../schemas/control.ts'
import { ownIn } from '../tokens.ts'

/** The lanes that a body names, for who asks. */
function scopeOf({ body, caller }: Exchange<unknown, ScopeIn>): Pick<Pause, 'origin' | 'principal'> {
  return { ...(body.origin !== undefined && { origin: body.origin }), ...ownIn(caller, body.tenant) }
}

/** The most of one tenant, and of those that are for all tenants: each turn of a store holds its lanes against them all. */
const MOST_PAUSES = 100

/** The pause on its way to each store: what is counted is written before the next counts. */
const putting = new WeakMap<ApiStore, Promise<unknown>>()

export async function pause(exchange: Exchange<unknown, PauseIn>): Promise<Reply> {
  const { store, clock } = exchange.context
  const { reason } = exchange.body
  const scope = scopeOf(exchange)
  // one scope has one pause: asked for twice, as after a lost answer, it is lifted once
  const digest = createHash('sha256').update(
    JSON.stringify([scope.origin ?? null, 'principal' in scope, scope.principal ?? null]),
  )
  const id = `pause-${digest.digest('hex').slice(0, 16)}`
  const made: Pause = { id, ...scope, ...(reason !== undefined && { reason }), at: clock.now() }
  const put = (putting.get(store) ?? Promise.resolve()).then(() => putPause(made, store))
  // its caller hears of a failure; the next one begins all the same
  putting.set(
    store,
    put.catch(() => {}),
  )
  const isNew = await put
  return { status: isNew ? 201 : 200, json: showPause(made), headers: { location: `/pauses/${id}` } }
}

/** Whether it is a new one. Throws 'pauses-full' where that would be one more than its tenant may have. */
async function putPause(pause: Pause, { pauses }: ApiStore): Promise<boolean> {
  const all = await pauses.list()
  const isNew = !all.some(({ id }) => id === pause.id)
  const own = all.filter(({ principal }) => principal === pause.principal)
  if (isNew && own.length >= MOST_PAUSES) {
    throw new Problem('pauses-full', `${own.length} pauses are there already: lift one, or pause a larger scope`)
  }
  await pauses.put(pause)
  return isNew
}

function showPause({ id, origin, reason, at, ...scope }: Pause): object {
  return {
    pauseId: id,
    ...(origin !== undefined && { origin }),
    ...('principal' in scope && { tenant: scope.principal }),
    ...(reason !== undefined && { reason }),
    at,
  }
}

/** Pauses of everything, or of an origin for all, are the operator's: a tenant does not see them. */
async function seenPauses({ caller, context }: Exchange): Promise<readonly Pause[]> {
  const pauses = await context.store.pauses.list()
  return caller.seesAll ? pauses : pauses.filter((each) => 'principal' in each && each.principal === caller.tenant)
}

export async function listPauses(exchange: Exchange): Promise<Reply> {
  return ok({ pauses: (await seenPauses(exchange)).map(showPause) })
}

export async function lift(exchange: Exchange): Promise<Reply> {
  const id = exchange.params.pauseId ?? ''
  const isSeen = (await seenPauses(exchange)).some((each) => each.id === id)
  if (!isSeen || !(await exchange.context.store.pauses.lift(id))) {
    throw new Problem('not-found', `there is no pause '${id}'`)
  }
  return NO_CONTENT
}

/** Tasks of a page, which are read in one step, and most pages: beyond that lanes may be missed, and flushing again finds them. */
const PAGE = 32
const MOST_PAGES = 32_000

export async function flush(exchange: Exchange<unknown, ScopeIn>): Promise<Reply> {
  const { context } = exchange
  const { origin, ...whose } = scopeOf(exchange)
  // everything: also what a breaker keeps back is tried
  if (origin === undefined && !('principal' in whose)) return ok({ due: await context.queue.flush() })
  const { principal = null } = whose
  const isOne = origin !== undefined && 'principal' in whose
  const lanes = isOne
    ? [laneName(principal, origin)]
    : await liveLanes(exchange, { ...(origin !== undefined && { origin }), ...whose })
  let due = 0
  for (const lane of lanes) {
    due += await context.store.flush(lane)
    await afterOthers()
  }
  return ok({ due })
}

async function liveLanes(
  { context }: Exchange,
  filter: Pick<Pause, 'origin' | 'principal'>,
): Promise<Iterable<string>> {
  const lanes = new Set<string>()
  let cursor: string | undefined
  for (let pages = 0; pages < MOST_PAGES; pages++) {
    const page = await context.store.list({
      ...filter,
      status: 'PENDING',
      limit: PAGE,
      ...(cursor !== undefined && { cursor }),
    })
    for (const { lane } of page.tasks) lanes.add(lane)
    if (page.cursor === undefined) break
    cursor = page.cursor
    await afterOthers()
  }
  return lanes
}
