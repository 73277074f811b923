/**
 * The dead letters that fit a filter, page by page, by rising id. A store finds them by origin, policy and reason; when one ended only its
 * history tells, which is read where it was asked for.
 */

import type { TaskStore } from 'redrive'
import type { StoredTask } from 'redrive/store'
import type { ApiStore } from './context.ts'
import { afterOthers } from './in-slices.ts'
import { firstIdAt } from './page-filter.ts'
import type { DeadFilter } from './schemas/control.ts'
import { endedAtOf } from './show.ts'

export interface DeadPage {
  readonly tasks: readonly StoredTask[]
  /** Absent: this is the last one. */
  readonly cursor?: string
}

/** The dead letters that are meant. */
export interface DeadScope {
  readonly filter: DeadFilter
  /** Absent: those of every tenant. */
  readonly principal?: string | null
}

/** A page of at most `limit`; it may be empty though more follow. */
export async function deadPage(
  store: ApiStore,
  { filter, ...whose }: DeadScope,
  limit: number,
  cursor?: string,
): Promise<DeadPage> {
  const { taskIds } = filter
  const found = taskIds
    ? await pageOfIds(store, taskIds, limit, cursor)
    : await store.list(listFilter(filter, whose, limit, cursor))
  const fitting: StoredTask[] = []
  for (const task of found.tasks)
    if (fits(task, filter, whose) && (await endedWithin(task, filter, store))) fitting.push(task)
  return { tasks: fitting, ...(found.cursor !== undefined && { cursor: found.cursor }) }
}

function listFilter(
  { origin, policyId, reason, endedBefore }: DeadFilter,
  whose: Omit<DeadScope, 'filter'>,
  limit: number,
  cursor: string | undefined,
): Parameters<TaskStore['list']>[0] {
  return {
    status: 'EXHAUSTED',
    limit,
    ...whose,
    ...(origin !== undefined && { origin }),
    ...(policyId !== undefined && { policyId }),
    ...(reason !== undefined && { reason }),
    // none ends before it was made
    ...(endedBefore !== undefined && { to: firstIdAt(endedBefore) }),
    ...(cursor !== undefined && { cursor }),
  }
}

async function pageOfIds(store: ApiStore, taskIds: readonly string[], limit: number, cursor = ''): Promise<DeadPage> {
  const rising = [...new Set(taskIds)].filter((id) => id > cursor).sort()
  const ids = rising.slice(0, limit)
  const last = ids.at(-1)
  const tasks = (await Promise.all(ids.map((id) => store.get(id)))).filter((task) => task !== undefined)
  return { tasks, ...(rising.length > limit && last !== undefined && { cursor: last }) }
}

/** Asked of those that were named, too. */
function fits(task: StoredTask, { origin, policyId, reason }: DeadFilter, whose: Omit<DeadScope, 'filter'>): boolean {
  return (
    task.status === 'EXHAUSTED' &&
    (!('principal' in whose) || task.principal === whose.principal) &&
    (origin === undefined || new URL(task.targetUrl).origin === origin) &&
    (policyId === undefined || task.policy.policyId === policyId) &&
    (reason === undefined || task.reason === reason)
  )
}

async function endedWithin(
  task: StoredTask,
  { endedAfter = Number.NEGATIVE_INFINITY, endedBefore = Number.POSITIVE_INFINITY }: DeadFilter,
  store: ApiStore,
): Promise<boolean> {
  if (endedAfter === Number.NEGATIVE_INFINITY && endedBefore === Number.POSITIVE_INFINITY) return true
  const endedAt = await endedAtOf(task, store)
  return endedAt >= endedAfter && endedAt < endedBefore
}

/** Tasks of a page that are read in one turn of the event loop. */
const PAGE = 64

/** How many there are now. Other requests have their turn after each page. */
export async function countDead(store: ApiStore, scope: DeadScope): Promise<number> {
  const isAll = Object.keys(scope.filter).length === 0 && !('principal' in scope)
  if (isAll) return (await store.counts()).exhausted
  let count = 0
  for (let cursor: string | undefined; ; ) {
    const page = await deadPage(store, scope, PAGE, cursor)
    count += page.tasks.length
    if (page.cursor === undefined) return count
    cursor = page.cursor
    await afterOthers()
  }
}
