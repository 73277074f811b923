/** The tasks that a filter lets through, alike in memory and in every store. Apart from the rules, which only stores need. */

import type { Labels, TaskStatus } from '../../api/task.ts'

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
