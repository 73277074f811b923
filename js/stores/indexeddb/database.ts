/** One database: asked in transactions, one after another, and then what each has changed is told. */

import { StorageFullError } from '../../api/errors.ts'
import type { Report, StoreTerms } from '../../api/store.ts'
import type { Clock } from '../../platform/clock.ts'
import { drop, stow } from './ballast.ts'
import type { Connection } from './connection.ts'
import { Guards } from './guards.ts'
import type { Hub } from './hub.ts'
import type { Orphans, Presence } from './presence.ts'
import { readSnapshot, type Snapshot, Stale } from './snapshot.ts'
import { readState, StoreClock } from './state.ts'
import { Transaction } from './transaction.ts'

type Durability = 'strict' | 'relaxed'
type Work<T> = (tx: Transaction) => T | Promise<T>

export interface DatabaseParts {
  readonly name: string
  readonly connection: Connection
  readonly hub: Hub
  readonly presence: Presence
  readonly clock: Clock
  readonly terms: StoreTerms
}

export class Database {
  terms: StoreTerms
  report: Report = () => {}
  readonly #parts: DatabaseParts
  readonly #clock: StoreClock
  readonly #guards: Guards
  #snapshot: Snapshot | undefined
  #isStowed = false
  /** Hints that had been heard by then. */
  #changes = 0
  /** Which database this is: see `State`. */
  #id: string | undefined
  /** The writes asked for so far: never rejects. */
  #written: Promise<unknown> = Promise.resolve()

  constructor(parts: DatabaseParts) {
    this.#parts = parts
    this.#clock = new StoreClock(parts.clock)
    this.#guards = new Guards(parts.presence)
    this.terms = parts.terms
  }

  read<T>(work: (tx: IDBTransaction) => Promise<T>): Promise<T> {
    this.#parts.hub.wake()
    return this.#parts.connection.read(work)
  }

  /** After those that were asked for before: what they leave behind is what this one begins with. */
  write<T>(durability: Durability, work: Work<T>): Promise<T> {
    return this.#next(() => this.#write(durability, work))
  }

  /** As `write`, where `owners` may be given leases. */
  writeLeases<T>(durability: Durability, owners: () => readonly string[], work: Work<T>): Promise<T> {
    return this.#next(() => this.#writeLeases(durability, owners, work))
  }

  /** As `writeLeases`. `work` hears whose leases nobody looks after any more, and takes them back. */
  takeBack<T>(
    durability: Durability,
    owners: () => readonly string[],
    work: (tx: Transaction, orphans: Orphans | undefined) => T | Promise<T>,
  ): Promise<T> {
    return this.#next(async () => {
      const orphans = await this.#guards.orphans(async () => (await this.read(readState)).lastToken)
      try {
        return await this.#writeLeases(durability, owners, (tx) => work(tx, orphans))
      } catch (error) {
        // nobody took them back
        if (orphans) this.#guards.hearAgain(orphans)
        throw error
      }
    })
  }

  /** What has to be possible when the quota is full: ends and deletes what is held. See `ballast.ts`. */
  async anyway<T>(write: () => Promise<T>): Promise<T> {
    try {
      return await write()
    } catch (error) {
      const { connection } = this.#parts
      if (!(error instanceof StorageFullError) || !(await connection.write('relaxed', drop))) throw error
      return write()
    }
  }

  /** Something is held from now on: room is kept to let it go. Once for each object: what was thrown overboard is replaced by a later page. */
  stow(): void {
    if (this.#isStowed) return
    this.#isStowed = true
    // where there is no room to keep there is none to be kept
    this.#next(() => this.#parts.connection.write('relaxed', stow)).catch(() => {})
  }

  /** When nothing is being written any more: from then on it remembers nothing. */
  async close(): Promise<void> {
    await this.#written
    this.#snapshot = undefined
  }

  /** Whether a turn may find something to claim, as far as is remembered: also a lease that it takes back itself. */
  get mayBeClaimed(): boolean {
    const state = this.#guess?.state
    return !state || state.pending + state.inFlight > 0
  }

  /** What is remembered, unless it is known that somebody else has written since. */
  get #guess(): Snapshot | undefined {
    return this.#changes === this.#parts.hub.changes ? this.#snapshot : undefined
  }

  #next<T>(step: () => Promise<T>): Promise<T> {
    this.#parts.hub.wake()
    const written = this.#written.then(step)
    this.#written = written.catch(() => {}) // whoever asked for it hears of it
    return written
  }

  async #writeLeases<T>(durability: Durability, owners: () => readonly string[], work: Work<T>): Promise<T> {
    const guard = () => this.#guards.take(owners())
    this.#parts.connection.warm()
    await guard()
    return this.#write(durability, work, guard)
  }

  /** `again`: comes first where what was remembered is not so. */
  async #write<T>(durability: Durability, work: Work<T>, again?: () => Promise<void>): Promise<T> {
    const guess = this.#guess
    this.#snapshot = undefined
    if (!guess) return this.#transact(durability, work)
    try {
      return await this.#transact(durability, work, guess)
    } catch (error) {
      if (!(error instanceof Stale)) throw error
      await again?.()
      return this.#transact(durability, work)
    }
  }

  async #transact<T>(durability: Durability, work: Work<T>, guess?: Snapshot): Promise<T> {
    const surroundings = { clock: this.#clock, terms: this.terms, isGuarding: this.#guards.isGuarding }
    const { connection, hub } = this.#parts
    let thrown: unknown
    const run = async (idb: IDBTransaction): Promise<{ readonly result: T; readonly tx: Transaction }> => {
      const tx = new Transaction(idb, surroundings, guess ?? (await readSnapshot(idb)), guess !== undefined)
      try {
        const result = await work(tx)
        await tx.finish()
        return { result, tx }
      } catch (error) {
        thrown = error
        throw error
      }
    }
    // told before it is complete: a tab that dies in between would not tell. Whoever looks waits for this transaction
    const { result, tx } = await connection
      .write(durability, run, (done) => hub.post(done.tx.hints))
      .catch((error: unknown) => {
        // whatever came of working on what may no longer be so says nothing; what the storage says does
        throw guess && (error === thrown || isTaken(error)) ? new Stale() : error
      })
    this.#done(tx)
    return result
  }

  #done(tx: Transaction): void {
    const { state, now, hints } = tx
    this.#snapshot = tx.snapshot()
    this.#clock.saw(now, state)
    this.#recognize(state.id)
    this.#guards.follow(state)
    this.#parts.hub.tellPage(hints)
    this.#changes = this.#parts.hub.changes
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

/** What was taken to be new is here already: a task, a key, a state. */
function isTaken(error: unknown): boolean {
  const { cause } = error as { readonly cause?: { readonly name?: unknown } }
  return cause?.name === 'ConstraintError'
}

/** Not to be cleared when the disk gets full. */
function askToPersist(): void {
  const asked = Promise.resolve().then(() => globalThis.navigator?.storage?.persist?.())
  asked.catch(() => {}) // a browser that will not be asked keeps it or not
}
