/** The tasks that a filter lets through, alike in memory and in every store. Apart from the rules, which only stores need. */

import type { RetryPolicy } from '../../api/policy.ts'
import type { TaskStore } from '../../api/store.ts'
import type { ExhaustedReason, Labels, TaskStatus } from '../../api/task.ts'

/** The statuses that a filter of `list` lets through; undefined: all. */
export function statusesOf({
  status,
  active,
}: {
  readonly status?: TaskStatus
  readonly active?: true
}): readonly TaskStatus[] | undefined {
  if (!active) return status && [status]
  return (['PENDING', 'IN_FLIGHT'] as const).filter((live) => status === undefined || status === live)
}

/** Whether a task has all of these tags; undefined: none is asked for. */
export const hasTags = (
  { tags = [] }: { readonly tags?: Labels['tags'] | undefined },
  wanted: readonly string[] = [],
): boolean => wanted.every((tag) => tags.includes(tag))

type ListFilter = Parameters<TaskStore['list']>[0]

/** The statuses that a store has to look among; undefined: all. No task but a dead letter has a reason. */
export const statusesIn = ({ reason, ...which }: ListFilter): readonly TaskStatus[] | undefined =>
  statusesOf(reason === undefined || which.status ? which : { ...which, status: 'EXHAUSTED' })

/** The parts of a filter that tasks are looked at for. */
type Looked = Pick<ListFilter, 'tags' | 'policyId' | 'reason' | 'idempotencyKey'>

/** Whether a task has all of the tags, the key, the policy and the reason that are asked for. */
export const fits = (
  task: {
    readonly tags?: Labels['tags'] | undefined
    readonly policy: RetryPolicy
    readonly idempotencyKey: string | null
    readonly reason?: ExhaustedReason | undefined
  },
  { tags, policyId, reason, idempotencyKey }: Looked,
): boolean =>
  hasTags(task, tags) &&
  (policyId === undefined || task.policy.policyId === policyId) &&
  (reason === undefined || task.reason === reason) &&
  (idempotencyKey === undefined || task.idempotencyKey === idempotencyKey)

interface IdRange {
  readonly above?: string | undefined
  readonly from?: string | undefined
  readonly below?: string | undefined
}

/** The ids that are left of a list after its cursor. One lower and one upper bound, which an index can begin and end with. */
export function rangeOf({ from, to, order }: ListFilter, cursor: string | undefined): IdRange {
  if (cursor === undefined) return { from, below: to }
  if (order === 'falling') return { from, below: to !== undefined && to < cursor ? to : cursor }
  return from !== undefined && from > cursor ? { from, below: to } : { above: cursor, below: to }
}
