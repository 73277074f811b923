/**
 * The rows and lanes of one transaction: read once, changed in place, and written once each, before an index is asked that
 * they are in, and at the end. Nothing of it counts unless the transaction is complete.
 *
 * Writes are not waited for: requests are done in the order in which they were made, and one that fails aborts everything.
 */

import { principalIn } from '../../api/records.ts'
import type { Tx } from '../engine/port.ts'
import { isOurs } from '../engine/row.ts'
import { everyName, isName, nameOf, ownName, within } from './keys.ts'
import { type Lane, LaneRows, type Waiting, waitingOf } from './lane-rows.ts'
import type { StoreName } from './layout.ts'
import { hasBodyApart, lateAtOf, putAside, putOut, type TaskRow, usable } from './rows.ts'
import { keyOf, readState, replaceState, type Snapshot, StaleSnapshot, type State, type StoreClock } from './state.ts'
import { done } from './transact.ts'

/** Rows read at once where they are without bound. */
const PIECE = 256

type Work = (rows: readonly TaskRow[]) => void

interface HeldRow {
  readonly row: TaskRow
  /** The row in the database, where `row` stands for it. */
  readonly found: TaskRow
  /** Not in the database yet. */
  isNew: boolean
  /** Where it waits, as the index has it. */
  was: Waiting | undefined
  isDirty: boolean
  isGone: boolean
}

export abstract class HeldRows {
  readonly state: State
  /** The store's time. */
  readonly now: number
  readonly lanes: LaneRows
  /** The snapshot it works on is remembered, and may be stale. */
  readonly isOptimistic: boolean
  readonly #idb: IDBTransaction
  readonly #version: number
  #isSure: boolean
  readonly #rows = new Map<string, HeldRow>()
  /** Tasks that have ended: the next of each order has its turn. */
  readonly #orders = new Map<string, TaskRow>()
  /** Records that were put aside in it. */
  unreadable = 0
  /** The key of the state that this store object has written last. */
  ownKey: number | undefined
  /** Others that were put aside before it began. */
  mended = 0
  #erasedAside = 0
  #wrote: boolean

  constructor(idb: IDBTransaction, clock: StoreClock, { state, lanes }: Snapshot, isOptimistic: boolean) {
    this.#idb = idb
    this.state = { ...state }
    this.lanes = new LaneRows(idb, lanes)
    this.isOptimistic = isOptimistic
    this.#isSure = !isOptimistic
    this.#version = state.version
    this.now = clock.read(this.state)
    this.#wrote = this.state.skewMs !== state.skewMs
  }

  /** Gives the first of an order its turn. */
  protected abstract advance(next: TaskRow): void

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

  async load(taskIds: readonly string[]): Promise<void> {
    const tasks = this.store('tasks')
    const wanted = taskIds.filter((id) => !this.#rows.has(id))
    this.found(await Promise.all(wanted.map((id): Promise<TaskRow | undefined> => done(tasks.get(id)))))
  }

  row(taskId: string): TaskRow | undefined {
    const held = this.#rows.get(taskId)
    return held?.isGone ? undefined : held?.row
  }

  /** Rows as an index has given them: one that has been changed since is as it is now, one that was deleted is left out. */
  found(given: readonly (TaskRow | undefined)[]): TaskRow[] {
    return given.flatMap((row) => {
      if (!row) return []
      if (!this.#rows.has(row.taskId)) this.#holdRow(row, false)
      return this.row(row.taskId) ?? []
    })
  }

  /** Rows that have been changed, and not written since. */
  changed(): TaskRow[] {
    return [...this.#rows.values()].flatMap(({ row, isDirty, isGone }) => (isDirty && !isGone ? row : []))
  }

  protected add(row: TaskRow): void {
    this.#holdRow(row, true)
    this.touch()
  }

  save(row: TaskRow): void {
    const held = this.#rows.get(row.taskId)
    if (held) held.isDirty = true
    this.touch()
  }

  erase(row: TaskRow): void {
    const held = this.#rows.get(row.taskId)
    if (held) held.isGone = true
    if (row.aside) this.#erasedAside++
    if (isOurs(row)) this.lanes.move(row, this.now, held?.was, undefined)
    this.store('tasks').delete(held?.found.taskId ?? row.taskId)
    if (row.isBroken || hasBodyApart(row)) this.store('bodies').delete(row.taskId)
    if (row.isBroken || row.logged !== 0 || row.noted) this.store('attempts').delete(within([row.taskId]))
    this.touch()
  }

  /** Once everything else is done. */
  passOn(row: TaskRow): void {
    if (row.orderKey !== null && isName(row.principal)) this.#orders.set(ownName(row.principal, row.orderKey), row)
  }

  lane(row: Pick<TaskRow, 'lane' | 'principal'>): Lane {
    return this.lanes.of(row)
  }

  laneNamed(name: string): Lane {
    return this.lanes.of({ lane: name, principal: nameOf(principalIn(name)) })
  }

  saveLane(lane: Lane): void {
    this.lanes.save(lane)
    this.touch()
  }

  async flush(): Promise<void> {
    await this.flushOrders()
    this.flushRows()
    await this.lanes.flush(this.now)
  }

  /** Gives the next of each order its turn whose head has ended. */
  async flushOrders(): Promise<void> {
    // one whose next is damaged has another next
    while (this.#orders.size > 0) {
      this.flushRows()
      const orders = [...this.#orders.values()]
      this.#orders.clear()
      const heads = await Promise.all(orders.map((row) => this.headOf(row)))
      for (const next of this.found(heads)) this.advance(next)
    }
  }

  /** The first of an order, as the index has it. */
  protected headOf({ principal, orderKey }: Pick<TaskRow, 'principal' | 'orderKey'>): Promise<TaskRow | undefined> {
    return done(
      this.store('tasks')
        .index('order')
        .get(within([principal, orderKey as string])),
    )
  }

  /** Writes rows alone. */
  flushRows(): void {
    const tasks = this.store('tasks')
    for (const held of this.#rows.values()) {
      if (!held.isDirty || held.isGone) continue
      const { row, isNew } = held
      row.lateAt = lateAtOf(row)
      this.lanes.move(row, this.now, held.was, waitingOf(row))
      if (row.aside) Object.assign(row, putOut(row))
      if (isNew) tasks.add(row)
      else tasks.put(row.isBroken ? putAside(held.found, row) : row)
      held.was = waitingOf(row)
      held.isNew = false
      held.isDirty = false
    }
  }

  /** Throws `StaleSnapshot` where the snapshot is not so any more: to be asked before much is done in vain. */
  async verify(): Promise<void> {
    if (this.#isSure) return
    const { id, version } = await readState(this.#idb)
    if (id !== this.state.id || version !== this.#version) throw new StaleSnapshot()
    this.#isSure = true
  }

  /** Writes the rest, and makes sure that the snapshot was so. */
  async finish(): Promise<void> {
    await this.flush()
    if (!this.#wrote) return this.verify()
    const from = keyOf(this.state)
    // a key that another may write under does not tell whether he has
    if (from !== this.ownKey) await this.verify()
    const aside = (this.state.unreadable ?? 0) + this.unreadable - this.#erasedAside
    if (aside !== (this.state.unreadable ?? 0)) this.state.unreadable = Math.max(0, aside)
    this.state.highWater = this.now
    this.state.wallAt = this.now - this.state.skewMs
    this.state.version = this.#version + 1
    this.state.lanes = this.lanes.together(this.state.lanes)
    replaceState(this.store('meta'), this.state, from, this.ownKey)
    this.ownKey = keyOf(this.state)
  }

  /** Counters and lanes for the next transaction to begin with, once this one is complete. */
  snapshot(): Snapshot {
    return { state: this.state, lanes: this.lanes.all() }
  }

  /** Each lane that has tasks waiting, queue by queue. */
  eachWaiting(lane: string | undefined, work: Work): Promise<void> {
    return this.#walk(
      this.store('tasks').index('due'),
      ({ lane: name, home, rank, dueAt, seq }) => [name, home, rank, dueAt as number, seq],
      work,
      lane,
    )
  }

  async eachParked({ principal, lane }: Parameters<Tx['eachParked']>[0], work: Work): Promise<void> {
    const index = this.store('tasks').index('parked')
    const found: TaskRow[] = await done(index.getAll(lane ?? everyName()))
    const fits = (row: TaskRow): boolean => principal === undefined || row.principal === nameOf(principal)
    work(this.found(found.filter((row) => row.parkedIn !== null && !row.aside && fits(row))))
  }

  async eachOf({ taskId, principal, status }: Parameters<Tx['eachOf']>[0], work: Work): Promise<void> {
    const fits = (row: TaskRow): boolean =>
      (principal === undefined || row.principal === nameOf(principal)) &&
      (status === undefined || row.status === status)
    const workOn = (rows: readonly TaskRow[]): void => work(rows.filter(fits))
    if (taskId === undefined) return this.#walk(this.store('tasks'), (row) => row.taskId, workOn)
    await this.load([taskId])
    const row = this.row(taskId)
    workOn(row ? [row] : [])
  }

  /** Walks along an index, or the tasks themselves, by rising key; with `first`, along the keys that begin with it. */
  async #walk(
    source: IDBObjectStore | IDBIndex,
    keyOf: (row: TaskRow) => IDBValidKey,
    work: Work,
    first?: string,
  ): Promise<void> {
    for (let from: IDBValidKey | undefined; ; ) {
      const found: TaskRow[] = await done(source.getAll(after(from, first), PIECE))
      const last = found.at(-1)
      if (last) from = keyOf(last)
      work(this.found(found))
      // those that have been dealt with are written, and kept no longer
      this.flushRows()
      this.#rows.clear()
      if (found.length < PIECE) return
    }
  }

  #holdRow(found: TaskRow, isNew: boolean): void {
    const was = isNew ? undefined : waitingOf(found)
    const row = isNew ? found : usable(found)
    this.#rows.set(found.taskId, { row, found, isNew, was, isDirty: isNew, isGone: false })
  }
}

const after = (from: IDBValidKey | undefined, first: string | undefined): IDBKeyRange | null => {
  if (first !== undefined) return IDBKeyRange.bound(from ?? [first], [first, []], from !== undefined)
  return from === undefined ? null : IDBKeyRange.lowerBound(from, true)
}
