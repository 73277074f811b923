/** A connection and its prepared statements, kept by their text. */

import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'

export type Value = SQLInputValue

export class Database {
  readonly #connection: DatabaseSync
  readonly #statements = new Map<string, StatementSync>()

  constructor(path: string, options: { readonly readOnly: boolean }) {
    this.#connection = new DatabaseSync(path, options)
  }

  one<T>(sql: string, ...values: readonly Value[]): T | undefined {
    return this.#statement(sql).get(...values) as T | undefined
  }

  all<T>(sql: string, ...values: readonly Value[]): T[] {
    return this.#statement(sql).all(...values) as T[]
  }

  /** How many rows changed. */
  run(sql: string, ...values: readonly Value[]): number {
    return Number(this.#statement(sql).run(...values).changes)
  }

  /** Several statements, not kept. */
  exec(sql: string): void {
    this.#connection.exec(sql)
  }

  /** The number that `PRAGMA name` gives. */
  pragma(name: 'user_version' | 'application_id'): number {
    return this.one<Readonly<Record<string, number>>>(`PRAGMA ${name}`)?.[name] ?? 0
  }

  close(): void {
    this.#statements.clear()
    this.#connection.close()
  }

  #statement(sql: string): StatementSync {
    let statement = this.#statements.get(sql)
    if (!statement) {
      statement = this.#connection.prepare(sql)
      this.#statements.set(sql, statement)
    }
    return statement
  }
}
