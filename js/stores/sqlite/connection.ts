/** A connection to the file, and its prepared statements, kept by their text. */

import { statSync } from 'node:fs'
import process from 'node:process'
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import { RedriveError } from '../../api/errors.ts'
import type { Database } from '../sql/database.ts'
import { LogSync } from './log-sync.ts'

const OLDEST = '22.13'
// an import of what is not there would end in words about the loader
const sqlite = process.getBuiltinModule?.('node:sqlite')
if (!sqlite) {
  const message = `redrive/sqlite: this is Node ${process.versions.node}, whose SQLite is missing; it needs Node ${OLDEST} or later`
  throw new RedriveError('STORAGE_UNAVAILABLE', message)
}

/** How long a statement waits for another process's transaction, while all else of this process stands still. See `line.ts`. */
export const BUSY_TIMEOUT_MS = 4

/** A quarter of what is kept for a full disk (`disk-reserve.ts`): the rest is for the steps themselves. */
const MOST_UNSETTLED = 2 ** 18

export class Connection implements Database {
  readonly #connection: DatabaseSync
  readonly #statements = new Map<string, StatementSync>()
  readonly #log: LogSync

  /** `defensive` false: `PRAGMA writable_schema` has an effect, which later versions of Node refuse otherwise. */
  constructor(path: string, options: { readonly readOnly: boolean; readonly defensive?: false }) {
    this.#connection = new sqlite.DatabaseSync(path, options)
    this.#log = new LogSync(path)
  }

  one<T>(sql: string, ...values: readonly SQLInputValue[]): T | undefined {
    return this.#asked(sql, (statement) => statement.get(...values)) as T | undefined
  }

  all<T>(sql: string, ...values: readonly SQLInputValue[]): T[] {
    return this.#asked(sql, (statement) => statement.all(...values)) as T[]
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
      try {
        this.exec('ROLLBACK TO apart; RELEASE apart')
      } catch {
        // a full disk has ended the whole transaction: that is what is to be told
      }
      throw error
    }
  }

  keepBody(task: number, bytes: Uint8Array): void {
    this.run('INSERT OR REPLACE INTO bodies (task, bytes) VALUES (?, ?)', task, bytes)
  }

  bodyOf(task: number): Uint8Array | undefined {
    return this.one<{ readonly bytes: Uint8Array }>('SELECT bytes FROM bodies WHERE task = ?', task)?.bytes
  }

  /** Several statements, not kept. */
  exec(sql: string): void {
    this.#connection.exec(sql)
  }

  /** Writes the log into the file and empties it; false: another process is in the middle of reading. */
  cutLog(): boolean {
    return this.#atOnce(() => this.one<{ readonly busy: number }>('PRAGMA wal_checkpoint(TRUNCATE)')?.busy === 0)
  }

  /** Writes the log into the file, to be written over from its start and never cut from now on; false: not done, for want of room or for another process. */
  reuseLog(): boolean {
    return this.#atOnce(() => {
      this.exec('PRAGMA journal_size_limit = -1')
      return this.one<{ readonly busy: number }>('PRAGMA wal_checkpoint(RESTART)')?.busy === 0
    })
  }

  /** Writes the log into the file where much of it has no place there yet: what that takes is not to be wanting when the disk is full. */
  settleLog(path: string): void {
    const missing = this.pragma('page_count') * this.pragma('page_size') - statSync(path).size
    if (missing > MOST_UNSETTLED) this.#atOnce(() => this.one('PRAGMA wal_checkpoint(PASSIVE)') !== undefined)
  }

  /**
   * Says how large the log gets, in pages. A large one is written over, since a file that grows again and again is what the disk is
   * waited for longest; a small one is cut where it is done with.
   */
  keepLog(pages: number, isSmall: boolean): void {
    this.exec(`PRAGMA wal_autocheckpoint = ${pages}; PRAGMA journal_size_limit = ${isSmall ? 0 : -1}`)
  }

  /** Whether a `COMMIT` from now on waits until the disk has it, and all else of the process with it. */
  waitForDisk(waits: boolean): void {
    this.exec(`PRAGMA synchronous = ${waits ? 'FULL' : 'NORMAL'}`)
  }

  /** Resolves once the disk has all that has been committed, by whatever connection. `atOnce`: the process stands still meanwhile. */
  synced(atOnce: boolean): Promise<void> {
    return this.#log.synced(atOnce)
  }

  /** Writes the file anew, with nothing but what is in it; false: another process is in the middle of something. */
  rewrite(): boolean {
    return this.#atOnce(() => {
      this.exec('VACUUM')
      return true
    })
  }

  /** Other processes are not waited for: this one would stand still. */
  #atOnce(work: () => boolean): boolean {
    this.exec('PRAGMA busy_timeout = 0')
    try {
      return work()
    } catch {
      return false
    } finally {
      this.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`)
    }
  }

  /** The number that `PRAGMA name` gives. */
  pragma(
    name: 'user_version' | 'application_id' | 'data_version' | 'page_count' | 'page_size' | 'freelist_count',
  ): number {
    return this.one<Readonly<Record<string, number>>>(`PRAGMA ${name}`)?.[name] ?? 0
  }

  close(): void {
    this.#statements.clear()
    // first: on Windows SQLite cannot well delete a log that is open
    this.#log.close()
    this.#connection.close()
  }

  /** Node throws where a whole number is beyond what a double holds exactly: one such row is not to hide the others. */
  #asked(sql: string, ask: (statement: StatementSync) => unknown): unknown {
    const statement = this.#statement(sql)
    try {
      return ask(statement)
    } catch (error) {
      if ((error as { readonly code?: unknown }).code !== 'ERR_OUT_OF_RANGE') throw error
    }
    statement.setReadBigInts(true)
    try {
      const answer = ask(statement)
      return Array.isArray(answer) ? answer.map(withNumbers) : withNumbers(answer)
    } finally {
      statement.setReadBigInts(false)
    }
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

/** The columns of a row; a number that no double holds exactly is NaN, which is in no range. */
function withNumbers(row: unknown): unknown {
  const columns = Object.entries(row as Readonly<Record<string, unknown>>)
  const numbers = columns.map(([name, value]) => [name, typeof value === 'bigint' ? exactly(value) : value])
  return Object.fromEntries(numbers)
}

const exactly = (value: bigint): number => {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : Number.NaN
}

export function rollBack(database: Connection): void {
  try {
    database.run('ROLLBACK')
  } catch {
    // a full disk and the like have rolled back already; the error that is on its way says what happened
  }
}
