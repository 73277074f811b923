/** Parts of a request that are stored and read as one: how it is sent again, what its caller knows it by, what its sender keeps. */

import type { NewTask } from '../../api/records.ts'

export const PARTS = [
  'withheldHeaders',
  'requestInit',
  'policy',
  'idempotent',
  'meta',
  'tags',
  'needs',
  'senderData',
  'tells',
  'expiresAfterMs',
] as const

export type Parts = Pick<NewTask, (typeof PARTS)[number]>

/** Those of a task, or of other code's value, in an object of their own. One that is absent stays so. */
export function partsOf(given: Partial<Parts>): Parts {
  const parts: Partial<Record<keyof Parts, unknown>> = {}
  for (const name of PARTS) if (given[name] !== undefined) parts[name] = given[name]
  return parts as Parts
}

/** One text of them. */
export const recordOf = (given: Parts): string => JSON.stringify(partsOf(given))
