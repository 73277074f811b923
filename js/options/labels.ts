/**
 * Reads the words that a caller gives a task to be known by: `meta` and `tags`. They are copied when the call is made, so that a later
 * change of the caller's own objects is none of the task's.
 */

import type { Labels } from '../api/task.ts'
import { frozenCopy } from '../platform/json.ts'

/** Given by a caller, whose `meta` may be of an interface, which is no record of strings to the compiler. */
interface Given extends Pick<Labels, 'tags'> {
  readonly meta?: object
}

/** Frozen copies of what was given. */
export function labelsOf({ meta, tags }: Given): Labels | undefined {
  // a text has no values: its letters would be sound tags
  const labels = { meta, tags: tags && [...new Set(tags.values())] }
  return meta || tags ? (frozenCopy(labels) as Labels) : undefined
}
