/** The storage of an object, asked in transactions, and those who want to hear of them. */

import type { Hint, StoreTerms } from '../../api/store.ts'
import type { Clock } from '../../platform/clock.ts'
import { mend, needsMending } from '../sql/mend.ts'
import { StoreClock } from '../sql/state.ts'
import { Transaction } from '../sql/transaction.ts'
import { ObjectDatabase, type ObjectStorage } from './database.ts'
import { translated } from './errors.ts'
import { bringUp } from './layout.ts'

type Listener = (hint: Hint) => void

export class ObjectTasks {
  readonly clock: StoreClock
  readonly #wallClock: Clock
  terms: StoreTerms
  readonly #storage: ObjectStorage
  readonly #database: ObjectDatabase
  readonly #wrote: () => void
  readonly #listeners = new Set<Listener>()
  #isUp = false
  #mended = 0

  constructor(storage: ObjectStorage, clock: Clock, terms: StoreTerms, wrote: () => void) {
    this.#wallClock = clock
    this.clock = new StoreClock(clock)
    this.terms = terms
    this.#storage = storage
    this.#database = new ObjectDatabase(storage)
    this.#wrote = wrote
  }

  /** Makes or brings up the tables, if that is not done. */
  open(): void {
    if (!this.#isUp) {
      bringUp(this.#database)
      const now = this.#wallClock.now()
      if (needsMending(this.#database, now)) this.#mended += this.#database.apart(() => mend(this.#database, now))
    }
    this.#isUp = true
  }

  read<T>(work: (database: ObjectDatabase) => T): T {
    try {
      this.open()
      return work(this.#database)
    } catch (error) {
      this.#isUp = false // the storage may have been emptied: the next one looks
      throw error
    }
  }

  /** One transaction, and then what it changed is reported, before anything is awaited. */
  write<T>(work: (tx: Transaction) => T): T {
    const { tx, result } = this.read((database) =>
      database.apart(() => {
        const tx = new Transaction(database, this.clock, this.terms)
        const result = work(tx)
        tx.written()
        return { tx, result }
      }),
    )
    this.clock.saw(tx.now, tx.state)
    if (tx.wrote) this.#wrote()
    for (const hint of tx.hints) for (const listener of this.#listeners) queueMicrotask(() => listener(hint))
    return result
  }

  /** How many tasks were put aside when the tables were looked at; from then on 0. */
  takeMended(): number {
    const mended = this.#mended
    this.#mended = 0
    return mended
  }

  /** Until everything written so far survives the object. */
  async sync(): Promise<void> {
    try {
      await this.#storage.sync()
    } catch (error) {
      throw translated(error)
    }
  }

  listen(listener: Listener): () => void {
    const own: Listener = (hint) => listener(hint) // twice the same function is two listeners
    this.#listeners.add(own)
    return () => this.#listeners.delete(own)
  }
}

/** Ends every lease: the next turn takes the tasks back. */
export function lapse(tx: Transaction): void {
  tx.run("UPDATE tasks SET leaseUntil = ? WHERE status = 'IN_FLIGHT' AND leaseUntil > ?", tx.now, tx.now)
}
