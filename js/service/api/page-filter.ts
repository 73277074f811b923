/** The part of a store's filter that the query of a page says. */

import type { TaskStore } from 'redrive'
import type { DeadQuery } from './schemas/task.ts'

type ListFilter = Parameters<TaskStore['list']>[0]

/** The first id that a task made at this instant could have: ids are UUIDv7. */
export function firstIdAt(instant: number): string {
  const hex = Math.max(0, Math.floor(instant)).toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-7000-8000-000000000000`
}

/** A part that is undefined would be refused by the store: it is left out. */
export function pageFilter(query: DeadQuery): ListFilter {
  const { origin, idempotencyKey, tags, policyId, reason } = query
  const { createdAfter, createdBefore, order = 'falling', limit = 100, cursor } = query
  return {
    order,
    limit,
    ...(origin !== undefined && { origin }),
    ...(idempotencyKey !== undefined && { idempotencyKey }),
    ...(tags !== undefined && { tags }),
    ...(policyId !== undefined && { policyId }),
    ...(reason !== undefined && { reason }),
    ...(createdAfter !== undefined && { from: firstIdAt(createdAfter) }),
    ...(createdBefore !== undefined && { to: firstIdAt(createdBefore) }),
    ...(cursor !== undefined && { cursor }),
  }
}
