/**
 * Checks whose tasks a store is asked for, and what it is to delete. A filter that was left undefined by mistake must not mean all tasks, and neither must one whose
 * name is misspelt.
 */

import type { TaskStore } from '../api/store.ts'
import { follow, ms, object, oneOf, or, type Rule, text } from '../options/check.ts'

type PurgeFilter = Parameters<TaskStore['purge']>[0]

const RULES: Readonly<Record<keyof PurgeFilter, Rule>> = {
  taskId: text,
  principal: or(null, text),
  status: oneOf('PENDING', 'IN_FLIGHT', 'SUCCEEDED', 'EXHAUSTED', 'CANCELLED'),
}

/** Throws a TypeError where a part of a filter is there and undefined. */
export function checkGiven<F extends object>(what: string, filter: F, ...names: readonly (keyof F & string)[]): void {
  const left = names.find((name) => name in filter && filter[name] === undefined)
  if (left) throw new TypeError(`${what}.${left}: expected a value, got undefined; leave it out to have those of all`)
}

const LISTED = [
  ...(['status', 'active', 'tags', 'principal', 'idempotencyKey', 'origin'] as const),
  ...(['policyId', 'reason', 'from', 'to', 'order'] as const),
]

/** Throws where a part of a filter of `list` is there and undefined, or its order is none that there is. */
export function checkList(filter: Parameters<TaskStore['list']>[0]): void {
  checkGiven('list', filter, ...LISTED)
  if (filter.order) follow('list.order', filter.order, oneOf('rising', 'falling'))
}

/** Throws where a task cannot be due in so long. */
export const checkDue = (inMs: number): void => follow('due.inMs', inMs, ms())

/**
 * A copy of the filter, to go by: a property that is asked for twice may be two things. Throws a TypeError or RangeError, and
 * names what deletes everything, where the filter is empty or not sound.
 */
export function checkPurge(what: string, filter: PurgeFilter): PurgeFilter {
  follow(what, filter, {
    ...object,
    expected: "a filter such as { status: 'EXHAUSTED' }; purgeAll() deletes everything",
  })
  const given = Object.entries(filter)
  if (given.length === 0) throw new TypeError(`${what}: the filter names nothing; purgeAll() deletes everything`)
  for (const [name, value] of given) {
    const rule = new Map(Object.entries(RULES)).get(name)
    if (!rule) throw new TypeError(`${what}.${name}: no such filter; there are ${Object.keys(RULES).join(', ')}`)
    follow(`${what}.${name}`, value, rule)
  }
  return Object.fromEntries(given)
}
