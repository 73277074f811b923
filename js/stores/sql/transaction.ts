/**
 * One transaction and what is changed in it. Counters and lanes that it touches are held here until `flush` writes
 * them, once each; nothing is remembered beyond the transaction, since other processes write the same file.
 */

import type { StoreTerms } from '../../api/store.ts'
import type { Database, Value } from './database.ts'
import { type Lane, readLane, writeLane } from './lanes.ts'
import { insertRow, type TaskRow, updateRow } from './rows.ts'
import { readState, type State, type StoreClock, shiftInstants, writeState } from './state.ts'

export interface Hint {
  readonly kind: 'due' | 'settled' | 'cancelled'
  readonly taskId?: string
}

export class Transaction {
  readonly database: Database
  readonly terms: StoreTerms
  readonly now: number
  #state: State
  #hints: Hint[] = []
  #unreadable = 0
  #wrote = false
  readonly #lanes = new Map<string, Lane>()

  constructor(database: Database, clock: StoreClock, terms: StoreTerms) {
    this.database = database
    this.terms = terms
    this.#state = readState(database)
    const { now, stepMs } = clock.read(this.#state)
    this.now = now
    if (stepMs === 0) return
    shiftInstants(database, stepMs)
    this.#state.clockSteps++
    this.#wrote = true
  }

  /** Counters; whoever changes one saves a row too. */
  get state(): State {
    return this.#state
  }

  get wrote(): boolean {
    return this.#wrote
  }

  get hints(): readonly Hint[] {
    return this.#hints
  }

  /** Records put aside in this transaction. */
  get unreadable(): number {
    return this.#unreadable
  }

  run(sql: string, ...values: readonly Value[]): number {
    const changed = this.database.run(sql, ...values)
    if (changed > 0) this.#wrote = true
    return changed
  }

  insert(row: TaskRow): void {
    insertRow(this.database, row)
    this.#wrote = true
    this.lane(row).dirty = true
  }

  save(row: TaskRow): void {
    updateRow(this.database, row)
    this.#wrote = true
    this.lane(row).dirty = true
  }

  /** A record that cannot be read is left where it is, and out of everything that acts. */
  putAside(row: TaskRow): void {
    row.aside = 1
    row.dueAt = null
    this.save(row)
    this.#unreadable++
  }

  lane({ lane: name, principal }: { readonly lane: string; readonly principal: string | null }): Lane {
    let lane = this.#lanes.get(name)
    if (!lane) {
      lane = readLane(this.database, name, principal)
      this.#lanes.set(name, lane)
    }
    return lane
  }

  hint(kind: Hint['kind'], taskId?: string): void {
    if (kind !== 'due') this.#hints.push(taskId === undefined ? { kind } : { kind, taskId })
    else if (!this.#hints.some((hint) => hint.kind === 'due')) this.#hints.push({ kind })
  }

  /** Everything is in the file from here on: queries over lanes may follow. */
  flush(): void {
    for (const lane of this.#lanes.values()) {
      if (lane.dirty) writeLane(this, lane)
    }
    this.#lanes.clear()
    if (!this.#wrote) return
    this.#state.highWater = this.now
    writeState(this.database, this.#state)
  }

  /** Runs `work`; what it has done is undone when it throws, and the rest of the transaction goes on. */
  apart<T>(work: () => T): T {
    this.flush()
    const hints = this.#hints.length
    const unreadable = this.#unreadable
    try {
      return this.database.apart(() => {
        const result = work()
        this.flush()
        return result
      })
    } catch (error) {
      this.#lanes.clear()
      this.#state = readState(this.database)
      this.#hints = this.#hints.slice(0, hints)
      this.#unreadable = unreadable
      throw error
    }
  }
}
