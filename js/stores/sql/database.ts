/**
 * The interface to an SQLite: Node's own, or that of a Durable Object. All of it is synchronous; a transaction has been begun
 * before a command writes.
 *
 * Parameters are bare `?`: Node 22 miscounts those that have a number.
 */

export type Value = string | number | null

/** The instant in a column; null: there is none, or a row of other code has something else there. */
export const instantIn = (value: unknown): number | null =>
  typeof value === 'number' && !Number.isNaN(value) ? value : null

/** At most as many rows as its parameter says. A bare `LIMIT ?` has SQLite plan the statement anew each time it gets a value. */
export const LIMIT = 'LIMIT CAST(? AS INTEGER)'

export interface Database {
  one<T>(sql: string, ...values: readonly Value[]): T | undefined
  all<T>(sql: string, ...values: readonly Value[]): T[]
  /** More than 0 where rows have changed: how many, or how many writes that were. */
  run(sql: string, ...values: readonly Value[]): number
  /** Runs `work`; what it has written is undone when it throws, and the transaction goes on. */
  apart<T>(work: () => T): T
  /** `task` is a row of `tasks`. Its parts go with `DELETE FROM bodies WHERE task = ?`, however many they are. */
  keepBody(task: number, bytes: Uint8Array): void
  bodyOf(task: number): Uint8Array | undefined
}

/** The conditions of a filter: those that are given, joined by AND. */
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
