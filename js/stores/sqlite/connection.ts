/** A connection to the file, and its prepared statements, kept by their text. */

import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import type { Database } from '../sql/database.ts'

export class Connection implements Database {
  readonly #connection: DatabaseSync
  readonly #statements = new Map<string, StatementSync>()

  constructor(path: string, options: { readonly readOnly: boolean }) {
    this.#connection = new DatabaseSync(path, options)
  }

  one<T>(sql: string, ...values: readonly SQLInputValue[]): T | undefined {
    return this.#statement(sql).get(...values) as T | undefined
  }

  all<T>(sql: string, ...values: readonly SQLInputValue[]): T[] {
    return this.#statement(sql).all(...values) as T[]
  }

  /** How many rows changed. */
  run(sql: string, ...values: readonly SQLInputValue[]): number {
    return Number(this.#statement(sql).run(...values).changes)
  }

  apart<T>(work: () => T): T {
    this.exec('SAVEPOINT apart')
    try {
      const result = work()
      this.exec('RELEASE apart')
      return result
    } catch (error) {
      this.exec('ROLLBACK TO apart; RELEASE apart')
      throw error
    }
  }

  keepBody(task: number, bytes: Uint8Array): void {
    this.run('INSERT INTO bodies (task, bytes) VALUES (?, ?)', task, bytes)
  }

  bodyOf(task: number): Uint8Array | undefined {
    return this.one<{ readonly bytes: Uint8Array }>('SELECT bytes FROM bodies WHERE task = ?', task)?.bytes
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
