/**
 * The connection to one database. Browsers take it away when they please: another tab wants a newer layout, the user
 * clears the site's data, the storage process ends. A caller here hears of none of that: the database is opened
 * again, and its work is done again from its start, because nothing of it can have been half done.
 */

import { type Clock, systemClock } from '../../platform/clock.ts'
import { Lost, unavailable } from './failures.ts'
import { type Layout, Opening } from './open.ts'
import { PageFreeze } from './page-freeze.ts'
import { type TransactionTerms, transact } from './transact.ts'

export type { Layout } from './open.ts'

/** Runs of one piece of work, in all. */
const MOST_RUNS = 3

export interface ConnectionOptions {
  /** The database's. */
  readonly name: string
  readonly layout: Layout
  /** Every transaction is over all of them. */
  readonly stores: readonly string[]
  /** @default globalThis.indexedDB, looked up at each open */
  readonly factory?: IDBFactory
  /** Bounds the waiting by real time, whatever the queue's own clock says. @default systemClock */
  readonly timer?: Clock
}

/** The work of a transaction. It awaits nothing but requests of its own, and may run several times: see `Connection.write`. */
export type Work<T> = (tx: IDBTransaction) => T | Promise<T>

export class Connection {
  readonly #options: ConnectionOptions
  readonly #timer: Clock
  #database: IDBDatabase | undefined
  /** While there is no database: the wait for it, or why there is none, as long as the browser owes its answer. */
  #waiting: Promise<IDBDatabase> | undefined
  /** The open that the browser has not answered yet. */
  #opening: Opening | undefined
  #writing = 0
  readonly #page = new PageFreeze()

  constructor(options: ConnectionOptions) {
    this.#options = options
    this.#timer = options.timer ?? systemClock
  }

  /** A write transaction is under way, or waits for the database to be opened. */
  get isWriting(): boolean {
    return this.#writing > 0
  }

  /**
   * Runs `work` in one readwrite transaction over all stores; resolves with its result once the transaction is complete.
   * A throw in `work` aborts it and is thrown on as it is. Where the connection is lost, all of `work` runs again, at most
   * 3 times: it must keep nothing from a run before. What a lost run did may have been stored all the same.
   *
   * Rejects with `STORAGE_UNAVAILABLE` where the database cannot be opened or is lost again and again, `STORAGE_NEWER`
   * where a later version has written it, `StorageFullError` where the browser gives no more room.
   *
   * `asked` is called as soon as the engine has all that was asked of it: it may still refuse.
   */
  async write<T>(durability: 'strict' | 'relaxed', work: Work<T>, asked?: (result: T) => void): Promise<T> {
    this.#writing++
    try {
      return await this.#run('readwrite', durability, work, asked)
    } finally {
      this.#writing--
    }
  }

  /** Runs `work` in one readonly transaction, as `write` does in a readwrite one. */
  read<T>(work: Work<T>): Promise<T> {
    return this.#run('readonly', 'relaxed', work)
  }

  /** Opens it for a call that comes in a moment. */
  warm(): void {
    if (!this.#database) this.#open().catch(() => {}) // the call that uses it hears of it
  }

  /** Nothing is lost: what is under way ends, and the next call opens it again. */
  close(): void {
    this.#waiting = undefined // an answer that is not waited for is closed when it comes
    this.#database?.close()
    this.#database = undefined
    this.#page.stop()
  }

  async #run<T>(
    mode: TransactionTerms['mode'],
    durability: TransactionTerms['durability'],
    work: Work<T>,
    asked?: (result: T) => void,
  ): Promise<T> {
    const { name, stores } = this.#options
    let cause: unknown
    let database: IDBDatabase | undefined
    for (let runs = 0; runs < MOST_RUNS; runs++) {
      database = undefined
      try {
        database = this.#database ?? (await this.#open())
        while (this.#page.thawed) await this.#page.thawed
        const frozen = this.#page.signal
        return await transact(database, { stores, mode, durability, frozen }, work, this.#timer, asked)
      } catch (error) {
        if (!(error instanceof Lost)) throw error
        cause = error.cause
        if (database && this.#database === database) this.close()
      }
    }
    // Chromium's word for site data that is blocked is the one for a storage process that has ended
    const advice = database
      ? `its connection was lost ${MOST_RUNS} times in a row; reload the page`
      : `the browser refused to open it ${MOST_RUNS} times in a row (${String(cause)}); allow site data for this page, or restart the browser`
    throw unavailable(name, advice, cause)
  }

  #open(): Promise<IDBDatabase> {
    const { factory, name, layout } = this.#options
    this.#opening ??= this.#ask(new Opening(factory, name, layout))
    this.#waiting ??= this.#opening.within(this.#timer)
    return this.#waiting
  }

  /** Takes the answer, whenever it comes. */
  #ask(opening: Opening): Opening {
    const answered = (database?: IDBDatabase): void => {
      const isWanted = this.#waiting !== undefined
      this.#opening = undefined
      this.#waiting = undefined
      if (database && isWanted) this.#keep(database)
      else database?.close()
    }
    opening.opened.then(answered, () => answered())
    return opening
  }

  #keep(database: IDBDatabase): void {
    this.#database = database
    this.#page.watch()
    const forget = (): void => {
      if (this.#database === database) this.#database = undefined
    }
    // others may upgrade it, or delete it: the next call finds out what became of it
    database.onversionchange = () => {
      database.close()
      forget()
    }
    database.onclose = forget
  }
}
