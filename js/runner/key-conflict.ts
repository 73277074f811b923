/** Refuses a call whose key is that of another task, and says which of the usual slips it was. */

import { RedriveError } from '../api/errors.ts'
import { IdempotencyConflictError } from '../api/task-errors.ts'

/** `other`: the task that has the key, in words. `isElsewhere`: it goes to another URL. */
export function keyConflict(
  { method, origin }: { readonly method: string; readonly origin: string },
  other: string,
  isElsewhere: boolean,
): IdempotencyConflictError {
  const [whose, remedy] = isElsewhere
    ? ['a request to another URL', 'a key names one request: use one key for each receiver']
    : ['another request', 'use a new key for a new request']
  const what = `${method} ${origin}: its idempotency key belongs to ${whose}, ${other}`
  return new IdempotencyConflictError(`${what}; ${remedy}; this one is not kept`)
}

/** Whether two URLs name two receivers. Their queries do not count: a stored URL may have lost a part of its own. */
export const areElsewhere = (one: string, other: string): boolean => pathOf(one) !== pathOf(other)

const pathOf = (url: string): string | undefined => url.split(/[?#]/, 1)[0]

/** Refuses a call whose key belongs to a task of a later version: to say that it is that task would be a guess. */
export function keyUnreadable(
  { method, origin }: { readonly method: string; readonly origin: string },
  taskId: string,
): RedriveError {
  const remedy = 'use that version, or purge the task'
  return new RedriveError(
    'KEY_UNREADABLE',
    `${method} ${origin}: its idempotency key belongs to task ${taskId}, which a later version has stored; ${remedy}`,
  )
}
