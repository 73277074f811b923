/**
 * One transaction and what is changed in it. Rows and lanes are held here, changed in place, and written once each: before
 * an index is asked that they are in, and at the end. Nothing of it counts unless the transaction is complete.
 *
 * Writes are not waited for: requests are done in the order in which they were made, and one that fails aborts everything.
 */

import type { Hint, StoreTerms } from '../../api/store.ts'
import { orderName } from '../engine/rules.ts'
import { shownName, within } from './keys.ts'
import { LaneRows } from './lane-rows.ts'
import { type Lane, type Waiting, waitingOf } from './lanes.ts'
import type { StoreName } from './layout.ts'
import { done } from './request.ts'
import { hasBodyApart, isOurs, type TaskRow } from './rows.ts'
import { type Snapshot, Stale } from './snapshot.ts'
import { readState, replaceState, type State, type StoreClock } from './state.ts'

interface HeldRow {
  readonly row: TaskRow
  /** Not in the database yet. */
  isNew: boolean
  /** As the index has it. */
  was: Waiting | undefined
  isDirty: boolean
  isGone: boolean
}

/** What a transaction takes from the store object that it is of. */
export interface Surroundings {
  readonly clock: StoreClock
  readonly terms: StoreTerms
  /** Whether the leases of this owner are looked after here. */
  readonly isGuarding: (owner: string) => boolean
}

export class Transaction {
  readonly terms: StoreTerms
  readonly isGuarding: (owner: string) => boolean
  /** Counters; whoever changes one saves a row too, or says `touch`. */
  readonly state: State
  /** The store's time. */
  readonly now: number
  readonly lanes: LaneRows
  readonly hints: Hint[] = []
  /** It works on what is remembered: what it stores without having looked may turn out to be here already. */
  readonly isGuess: boolean
  asksToPersist = false
  /** Records put aside in this transaction. */
  unreadable = 0
  readonly #idb: IDBTransaction
  readonly #version: number
  #isSure: boolean
  readonly #rows = new Map<string, HeldRow>()
  /** Of those that have ended: the next of each has its turn. */
  readonly #orders = new Map<string, TaskRow>()
  #wrote: boolean

  constructor(
    idb: IDBTransaction,
    { clock, terms, isGuarding }: Surroundings,
    { state, lanes }: Snapshot,
    isGuess: boolean,
  ) {
    this.#idb = idb
    this.terms = terms
    this.isGuarding = isGuarding
    this.state = { ...state }
    this.lanes = new LaneRows(idb, lanes)
    this.isGuess = isGuess
    this.#isSure = !isGuess
    this.#version = state.version
    this.now = clock.read(this.state)
    this.#wrote = this.state.skewMs !== state.skewMs
  }

  /** Whose requests are made now: those of nobody else may start. */
  isCurrent(principal: string | null): boolean {
    return this.state.principal === undefined || this.state.principal === principal
  }

  /** `at`, by the wall clock. */
  shown(at: number): number {
    return at - this.state.skewMs
  }

  store(name: StoreName): IDBObjectStore {
    return this.#idb.objectStore(name)
  }

  /** Writes `value` under `key`, or deletes what is there. */
  set(name: 'bodies' | 'attempts' | 'meta', key: IDBValidKey, value: unknown): void {
    if (value === undefined) this.store(name).delete(key)
    else this.store(name).put(value, key)
    this.touch()
  }

  /** The state has to be written. */
  touch(): void {
    this.#wrote = true
  }

  async rows(taskIds: readonly string[]): Promise<(TaskRow | undefined)[]> {
    const tasks = this.store('tasks')
    const wanted = taskIds.filter((id) => !this.#rows.has(id))
    this.hold(await Promise.all(wanted.map((id): Promise<TaskRow | undefined> => done(tasks.get(id)))))
    return taskIds.map((id) => this.held(id))
  }

  /** As an index has given them: what has been changed since is as it is now, what was deleted is left out. */
  hold(found: readonly (TaskRow | undefined)[]): TaskRow[] {
    return found.flatMap((row) => {
      if (!row) return []
      if (!this.#rows.has(row.taskId)) this.#holdRow(row, false)
      return this.held(row.taskId) ?? []
    })
  }

  /** One that has been read. */
  held(taskId: string): TaskRow | undefined {
    const held = this.#rows.get(taskId)
    return held?.isGone ? undefined : held?.row
  }

  /** Those that have been changed, and not written since. */
  changed(): TaskRow[] {
    return [...this.#rows.values()].flatMap(({ row, isDirty, isGone }) => (isDirty && !isGone ? row : []))
  }

  insert(row: TaskRow): void {
    this.#holdRow(row, true)
    this.touch()
  }

  save(row: TaskRow): void {
    const held = this.#rows.get(row.taskId)
    if (held) held.isDirty = true
    this.touch()
  }

  /** Deletes it; whoever calls has counted. */
  drop(row: TaskRow): void {
    const held = this.#rows.get(row.taskId)
    if (held) held.isGone = true
    if (isOurs(row)) this.lanes.move(row, held?.was, undefined)
    this.store('tasks').delete(row.taskId)
    if (hasBodyApart(row)) this.store('bodies').delete(row.taskId)
    if (row.logged !== 0 || row.noted) this.store('attempts').delete(within([row.taskId]))
    this.touch()
  }

  /** A record that cannot be read is left where it is, and out of everything that acts. */
  putAside(row: TaskRow): void {
    row.aside = true
    row.dueAt = null
    row.lateAt = null
    this.save(row)
    this.unreadable++
  }

  /** That of a row, to be changed; whoever saves no row of it says `saveLane`. */
  lane(row: Pick<TaskRow, 'lane' | 'principal'>): Lane {
    return this.lanes.of(row)
  }

  saveLane(lane: Lane): void {
    this.lanes.save(lane)
    this.touch()
  }

  /** The first task of this database is in it: once it is complete, the browser is asked to keep it. */
  askToPersist(): void {
    this.asksToPersist = !this.state.persistAsked
    this.state.persistAsked = true
  }

  hint(kind: Hint['kind'], taskId?: string): void {
    if (kind !== 'due') this.hints.push(taskId === undefined ? { kind } : { kind, taskId })
    else if (!this.hints.some((hint) => hint.kind === 'due')) this.hints.push({ kind })
  }

  /** The next of its order has its turn, once everything else is done. */
  passOn(row: TaskRow): void {
    if (row.orderKey !== null) this.#orders.set(orderName(shownName(row.principal), row.orderKey), row)
  }

  /** Everything is written from here on: indexes may be asked. */
  async flush(): Promise<void> {
    await this.flushOrders()
    this.flushRows()
    await this.lanes.flush(this.now)
  }

  /** Of those that have ended the next of each order has its turn. */
  async flushOrders(): Promise<void> {
    if (this.#orders.size === 0) return
    this.flushRows()
    await this.#nextOfOrders()
  }

  /** Rows alone. */
  flushRows(): void {
    const tasks = this.store('tasks')
    for (const held of this.#rows.values()) {
      if (!held.isDirty || held.isGone) continue
      const { row, isNew } = held
      this.lanes.move(row, held.was, waitingOf(row))
      if (isNew) tasks.add(row)
      else tasks.put(row)
      held.was = waitingOf(row)
      held.isNew = false
      held.isDirty = false
    }
  }

  /** In the middle of many rows: those that have been dealt with are written, and not held any more. */
  letGoRows(): void {
    this.flushRows()
    this.#rows.clear()
  }

  /** Throws `Stale` where it works on what is no longer so: to be asked before much is done in vain. */
  async verify(): Promise<void> {
    if (this.#isSure) return
    const { id, version } = await readState(this.#idb)
    if (id !== this.state.id || version !== this.#version) throw new Stale()
    this.#isSure = true
  }

  /** Writes the rest, and makes sure that it has worked on what is so. */
  async finish(): Promise<void> {
    await this.flush()
    if (!this.#wrote) return this.verify()
    this.state.highWater = this.now
    this.state.version = this.#version + 1
    this.state.lanes = this.lanes.together()
    replaceState(this.store('meta'), this.state, this.#version)
  }

  /** Once it is complete: what the next one may begin with. */
  snapshot(): Snapshot {
    return { state: this.state, lanes: this.lanes.all() }
  }

  #holdRow(row: TaskRow, isNew: boolean): void {
    const was = isNew ? undefined : waitingOf(row)
    this.#rows.set(row.taskId, { row, isNew, was, isDirty: isNew, isGone: false })
  }

  /** After one of an order has ended: the first of those behind it gets its own due time, unless another is at the head. */
  async #nextOfOrders(): Promise<void> {
    const orders = [...this.#orders.values()]
    this.#orders.clear()
    const index = this.store('tasks').index('order')
    const heads = await Promise.all(
      orders.map(
        async ({ principal, orderKey }): Promise<TaskRow | undefined> =>
          done(index.get(within([principal, orderKey as string]))),
      ),
    )
    for (const next of this.hold(heads)) {
      if (next.behind !== 1 || next.aside) continue
      next.behind = 0
      if (next.parkedIn === null) next.dueAt = Math.max(next.turnAt, this.now)
      this.save(next)
      this.hint('due')
    }
  }
}
