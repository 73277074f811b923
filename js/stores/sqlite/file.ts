/**
 * The file of a store: opened at the first use, asked in transactions. Nothing it knows outlives one of them but the
 * prepared statements, since other processes read and write the same file.
 */

import { realpathSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import type { Hint, StoreTerms } from '../../api/store.ts'
import type { Clock } from '../../platform/clock.ts'
import { mend, needsMending } from '../sql/mend.ts'
import { StoreClock } from '../sql/state.ts'
import { Transaction } from '../sql/transaction.ts'
import type { Connection } from './connection.ts'
import { translated } from './errors.ts'
import { openDatabase, refuseNewer } from './open.ts'

type Listener = (hint: Hint) => void

/** Remains of what was deleted stay no longer than this, while the file is in use. */
const ERASE_MS = 60_000

export class StoreFile {
  readonly path: string
  terms: StoreTerms
  readonly #wallClock: Clock
  readonly #clock: StoreClock
  #database: Connection | undefined
  #mended = 0
  /** The log beside the file may hold what has been deleted. */
  #remains = false
  /** A user has asked for a deletion since the file was written anew. */
  #hasCopies = false
  #hasRewritten = false
  #erasedAt = 0
  /** Rises with what other connections write. */
  #version: number | undefined

  constructor(path: string, clock: Clock, terms: StoreTerms) {
    this.path = fileName(path)
    this.#wallClock = clock
    this.#clock = new StoreClock(clock)
    this.terms = terms
  }

  read<T>(work: (database: Connection) => T): T {
    try {
      return work(this.#open())
    } catch (error) {
      throw translated(error, this.path)
    }
  }

  /** One transaction, and then what it changed is told. `durable`: on the disk, not only with the system, when this returns. */
  write<T>(
    work: (tx: Transaction) => T,
    { durable = false, erases = false }: { readonly durable?: boolean; readonly erases?: boolean } = {},
  ): T {
    return this.read((database) => {
      if (durable) database.exec('PRAGMA synchronous = FULL')
      try {
        const { result, hints } = this.#transact(database, work)
        tell(this.path, hints)
        if (this.#remains) this.#erase(database, erases)
        return result
      } finally {
        if (durable) database.exec('PRAGMA synchronous = NORMAL')
      }
    })
  }

  /** Whether another connection has written, or the clock was set back, since this was asked last. */
  hasChanged(): boolean {
    return this.read((database) => {
      const version = database.pragma('data_version')
      const hasChanged = version !== this.#version
      this.#version = version
      return hasChanged || !this.#clock.glance()
    })
  }

  /** Has every store object of this process on this file tell `listener` what it changes; returns what ends that. */
  listen(listener: Listener): () => void {
    return listen(this.path, listener)
  }

  /** How many tasks were put aside when the tables were looked at; from then on 0. */
  takeMended(): number {
    const mended = this.#mended
    this.#mended = 0
    return mended
  }

  close(): void {
    if (this.#database && this.#hasCopies) this.#database.rewrite()
    this.#database?.close()
    this.#database = undefined
    this.#version = undefined
  }

  #transact<T>(database: Connection, work: (tx: Transaction) => T): { result: T; hints: Transaction['hints'] } {
    database.run('BEGIN IMMEDIATE')
    try {
      refuseNewer(database.pragma('user_version'), this.path) // it may have been migrated since it was opened
      const tx = new Transaction(database, this.#clock, this.terms)
      const result = work(tx)
      tx.written()
      database.run('COMMIT')
      this.#clock.saw(tx.now, tx.state)
      if (tx.hasErased) this.#remains = true
      return { result, hints: tx.hints }
    } catch (error) {
      rollBack(database)
      throw error
    }
  }

  /** The tables that other code has changed are put right before anything goes by it. */
  #looked(database: Connection): Connection {
    try {
      const now = this.#wallClock.now()
      if (!needsMending(database, now)) return database
      database.run('BEGIN IMMEDIATE')
      try {
        // another process may have been in the middle of a change, or first
        if (needsMending(database, now)) this.#mended += mend(database, now)
        database.run('COMMIT')
      } catch (error) {
        rollBack(database)
        throw error
      }
      return database
    } catch (error) {
      database.close()
      throw error
    }
  }

  /**
   * Rids the file of what was deleted. The log keeps what was written before: it is cut at once where a user has asked for the
   * deletion, else now and then. SQLite leaves copies of rows that it has moved within a page: after a purge the file is written
   * anew, unless that was done a moment ago or has to wait for another process, when a later turn or `close` does it.
   */
  #erase(database: Connection, atOnce: boolean): void {
    const now = this.#wallClock.monotonic()
    if (atOnce) this.#hasCopies = true
    const isTime = now - this.#erasedAt >= ERASE_MS
    if (!atOnce && !isTime) return
    if (this.#hasCopies && (isTime || !this.#hasRewritten)) {
      this.#hasRewritten = true
      this.#hasCopies = !database.rewrite()
      this.#erasedAt = now
    } else if (isTime) this.#erasedAt = now
    this.#remains = !database.cutLog() || this.#hasCopies
  }

  #open(): Connection {
    this.#database ??= this.#looked(openDatabase(this.path))
    return this.#database
  }
}

function rollBack(database: Connection): void {
  try {
    database.run('ROLLBACK')
  } catch {
    // a full disk and the like have rolled back already; the error that is on its way says what happened
  }
}

const byFile = new Map<string, Set<Listener>>()

/** One name for a file that can be reached by several paths, whether it is there yet or not. */
function fileName(path: string): string {
  const whole = resolve(path)
  try {
    return join(realpathSync(dirname(whole)), basename(whole))
  } catch {
    return whole // opening it will say what is wrong with its folder
  }
}

function listen(file: string, listener: Listener): () => void {
  const own: Listener = (hint) => listener(hint) // twice the same function is two listeners
  const listeners = byFile.get(file) ?? new Set()
  byFile.set(file, listeners.add(own))
  return () => {
    listeners.delete(own)
    if (listeners.size === 0 && byFile.get(file) === listeners) byFile.delete(file)
  }
}

/** Each listener by itself: one that throws does not keep the others from hearing. */
function tell(file: string, hints: readonly Hint[]): void {
  const listeners = byFile.get(file)
  if (!listeners) return
  for (const hint of hints) for (const listener of listeners) queueMicrotask(() => listener(hint))
}
