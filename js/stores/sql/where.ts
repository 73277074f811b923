/** The conditions of a filter: those that are given, joined by AND. */

import type { Value } from './database.ts'

export interface Where {
  readonly sql: string
  readonly values: readonly Value[]
}

/** Each condition has one `?`; one whose value is undefined is left out. */
export function where(conditions: Readonly<Record<string, Value | undefined>>, always = 'TRUE'): Where {
  const given = Object.entries(conditions).filter((entry): entry is [string, Value] => entry[1] !== undefined)
  return {
    sql: ['WHERE', [always, ...given.map(([sql]) => sql)].join(' AND ')].join(' '),
    values: given.map(([, value]) => value),
  }
}
