/** One database: asked in transactions, one after another; what each has changed is reported when it is done. */

import type { Report, StoreTerms } from '../../api/store.ts'
import { StorageFullError } from '../../api/task-errors.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Connection } from './connection.ts'
import type { Hints } from './hints.ts'
import { LeaseWatch } from './lease-watch.ts'
import { lookAt, mended } from './mend.ts'
import type { Presence } from './presence.ts'
import { reserve, spend } from './quota-reserve.ts'
import { readSnapshot, readState, type Snapshot, StaleSnapshot, StoreClock } from './state.ts'
import { Transaction } from './transaction.ts'

type Durability = 'strict' | 'relaxed'
type Work<T> = (tx: Transaction) => T | Promise<T>

/** Tasks that are too many to be counted with the first write are counted once nothing has been written for so long. */
const QUIET_MS = 1_000

export interface DatabaseParts {
  readonly name: string
  readonly connection: Connection
  readonly hints: Hints
  readonly presence: Presence
  readonly clock: Clock
  readonly terms: StoreTerms
}

interface Looked extends Snapshot {
  /** Tasks that were put aside. */
  readonly unreadable: number
  readonly isMended?: boolean
}

export class Database {
  terms: StoreTerms
  report: Report = () => {}
  readonly #parts: DatabaseParts
  readonly #clock: StoreClock
  readonly #leases: LeaseWatch
  #snapshot: Snapshot | undefined
  #isReserved = false
  /** Tasks that were put aside then, and were not reported yet. */
  #mended = 0
  /** Counters and lanes have been looked at. */
  #isLookedAt = false
  /** The tasks were too many to be counted then. */
  #isUncounted = false
  /** Takes back the count that is planned. */
  #disarm = (): void => {}
  /** Hints that had been heard by then. */
  #changes = 0
  /** The key of the state that was written last: see `replaceState`; and the connection over which. */
  #ownKey: number | undefined
  #ownIn: IDBDatabase | undefined
  /** Which database this is: see `State`. */
  #id: string | undefined
  /** The writes asked for so far: never rejects. */
  #written: Promise<unknown> = Promise.resolve()

  constructor(parts: DatabaseParts) {
    this.#parts = parts
    this.#clock = new StoreClock(parts.clock)
    this.#leases = new LeaseWatch(parts.presence)
    this.terms = parts.terms
  }

  read<T>(work: (tx: IDBTransaction) => T | Promise<T>): Promise<T> {
    this.#parts.hints.resume()
    return this.#parts.connection.read(work)
  }

  /** Runs after the writes that were asked for before: what they leave behind is what this one begins with. */
  write<T>(durability: Durability, work: Work<T>): Promise<T> {
    return this.#next(() => this.#write(durability, work))
  }

  /** `write`, where `owners` may be given leases. */
  writeLeases<T>(durability: Durability, owners: () => readonly string[], work: Work<T>): Promise<T> {
    return this.#next(() => this.#writeLeases(durability, owners, work))
  }

  /** `writeLeases` for a turn, which takes leases back whose tab is gone. */
  writeTurn<T>(durability: Durability, owners: () => readonly string[], work: Work<T>): Promise<T> {
    return this.#next(async () => {
      const orphaned = await this.#leases.orphanedLeases(async () => (await this.read(readState)).lastToken)
      try {
        return await this.#writeLeases(durability, owners, (tx) => {
          tx.orphaned = orphaned
          return work(tx)
        })
      } catch (error) {
        // they were not taken back
        if (orphaned) this.#leases.hearAgain(orphaned)
        throw error
      }
    })
  }

  /** How many tasks were put aside when counters and lanes were looked at; from then on 0. */
  takeMended(): number {
    const mended = this.#mended
    this.#mended = 0
    return mended
  }

  /** Makes a write possible when the quota is full: one that ends or deletes what is held. See `quota-reserve.ts`. */
  async anyway<T>(write: () => Promise<T>): Promise<T> {
    try {
      return await write()
    } catch (error) {
      const { connection } = this.#parts
      if (!(error instanceof StorageFullError) || !(await connection.write('relaxed', spend))) throw error
      return write()
    }
  }

  /** Keeps room to end what is held from now on. Once for each object: a reserve that was spent is replaced by a later page. */
  reserve(): void {
    if (this.#isReserved) return
    this.#isReserved = true
    // where there is no room to keep there is none to be kept
    this.#next(() => this.#parts.connection.write('relaxed', reserve)).catch(() => {})
  }

  /** Plans nothing, until the next write. */
  suspend(): void {
    this.#disarm()
  }

  /** When nothing is being written any more: from then on it remembers nothing. */
  async close(): Promise<void> {
    await this.#written
    this.#isUncounted = false
    this.#disarm()
    this.#snapshot = undefined
  }

  /** Whether a turn may find something to claim, as far as is remembered: also a lease that it takes back itself. */
  get mayBeClaimed(): boolean {
    const state = this.#optimistic?.state
    return !state || state.pending + state.inFlight > 0
  }

  /** The snapshot that is remembered, unless another store object is known to have written since. */
  get #optimistic(): Snapshot | undefined {
    return this.#changes === this.#parts.hints.changes ? this.#snapshot : undefined
  }

  #next<T>(step: () => Promise<T>): Promise<T> {
    this.#parts.hints.resume()
    const written = this.#written.then(step)
    this.#written = written.catch(() => {}) // the caller that asked for it hears of it
    return written
  }

  async #writeLeases<T>(durability: Durability, owners: () => readonly string[], work: Work<T>): Promise<T> {
    const guard = () => this.#leases.guard(owners())
    this.#parts.connection.warm()
    await guard()
    return this.#write(durability, work, guard)
  }

  /** `again`: comes first where what was remembered is not so. */
  async #write<T>(durability: Durability, work: Work<T>, again?: () => Promise<void>): Promise<T> {
    const snapshot = this.#optimistic
    this.#snapshot = undefined
    if (!snapshot) return this.#transact(durability, work)
    try {
      return await this.#transact(durability, work, snapshot)
    } catch (error) {
      if (!(error instanceof StaleSnapshot)) throw error
      await again?.()
      return this.#transact(durability, work)
    }
  }

  async #transact<T>(durability: Durability, work: Work<T>, snapshot?: Snapshot, isThorough = false): Promise<T> {
    const surroundings = { clock: this.#clock, terms: this.terms, isGuarding: this.#leases.isGuarding }
    const { connection, hints } = this.#parts
    let thrown: unknown
    const run = async (
      idb: IDBTransaction,
    ): Promise<{ readonly result: T; readonly tx: Transaction; readonly database: IDBDatabase }> => {
      const { unreadable, isMended, ...begin } = snapshot
        ? { ...snapshot, unreadable: 0 }
        : await this.#look(idb, isThorough)
      const tx = new Transaction(idb, surroundings, begin, snapshot !== undefined)
      // over another connection the database may be another
      if (idb.db === this.#ownIn) tx.ownKey = this.#ownKey
      if (unreadable > 0) tx.touch()
      // what was not seen to be due may be
      if (isMended) tx.hints.push({ kind: 'due' })
      tx.mended = unreadable
      try {
        const result = await work(tx)
        await tx.finish()
        return { result, tx, database: idb.db }
      } catch (error) {
        thrown = error
        throw error
      }
    }
    // told before it is complete: a tab that dies in between would not tell. A tab that looks waits for this transaction
    const { result, tx, database } = await connection
      .write(durability, run, (done) => hints.post(done.tx.hints))
      .catch((error: unknown) => {
        // an error that came of an old snapshot says nothing; one of the storage does
        throw snapshot && (error === thrown || isTaken(error)) ? new StaleSnapshot() : error
      })
    this.#done(tx, database)
    return result
  }

  /** Reads what there is; the first time it is put right, if other code has changed it. */
  async #look(idb: IDBTransaction, isThorough: boolean): Promise<Looked> {
    const snapshot = await readSnapshot(idb)
    if (this.#isLookedAt && !isThorough) return { ...snapshot, unreadable: 0 }
    const now = this.#parts.clock.now()
    const found = await lookAt(idb, snapshot, now, isThorough)
    if (found === 'uncounted') this.#isUncounted = true
    return found === 'wrong'
      ? { ...(await mended(idb, snapshot, now)), isMended: true }
      : { ...snapshot, unreadable: 0 }
  }

  /** Counts the tasks, and mends what is wrong, once nothing has been written for a while: a queue that wrong counters stop writes nothing. */
  #countLater(): void {
    this.#disarm()
    this.#disarm = this.#parts.clock.after(
      QUIET_MS,
      () => {
        this.#isUncounted = false
        this.#next(() => this.#transact('relaxed', () => {}, undefined, true)).catch(() => {
          // the next write tells its caller what is wrong, and plans another count
          this.#isUncounted = true
        })
      },
      true,
    )
  }

  #done(tx: Transaction, database: IDBDatabase): void {
    this.#isLookedAt = true
    this.#mended += tx.mended
    const { state, now, hints } = tx
    this.#ownKey = tx.ownKey
    this.#ownIn = database
    this.#snapshot = tx.snapshot()
    this.#clock.saw(now, state)
    this.#recognize(state.id)
    this.#leases.follow(state)
    this.#parts.hints.tellPage(hints)
    this.#changes = this.#parts.hints.changes
    if (this.#isUncounted) this.#countLater()
    if (tx.asksToPersist) askToPersist()
  }

  #recognize(id: string): void {
    if (this.#id !== undefined && this.#id !== id) {
      this.report(
        'storage_evicted',
        `the browser has cleared the database 'redrive-${this.#parts.name}', and with it the tasks that waited there; ask the user to let this site keep its data (navigator.storage.persist())`,
      )
    }
    this.#id = id
  }
}

/** The optimistic insert collided: the task id, the key or the state version already exists. */
function isTaken(error: unknown): boolean {
  const { cause } = error as { readonly cause?: { readonly name?: unknown } }
  return cause?.name === 'ConstraintError'
}

/** Asks the browser not to clear the database when the disk gets full. */
function askToPersist(): void {
  const asked = Promise.resolve().then(() => globalThis.navigator?.storage?.persist?.())
  asked.catch(() => {}) // a browser that will not be asked keeps it or not
}
