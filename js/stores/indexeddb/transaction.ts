/**
 * One transaction, as the commands see it. What they will ask for is loaded in few requests that go out together; from then
 * on it answers at once.
 */

import type { NewTask, StoredTask } from '../../api/records.ts'
import { type Claim, type Hint, LOG_LENGTH, NOTES_LENGTH, type StoreTerms } from '../../api/store.ts'
import type { AttemptLog } from '../../api/task.ts'
import { advance } from '../engine/change.ts'
import type { Moments, Outlived, Tx } from '../engine/port.ts'
import { isHeld, type Place, readyAt } from '../engine/row.ts'
import { wasSent } from '../engine/rules.ts'
import type { Wait } from '../engine/step.ts'
import { DueHeads } from './due-heads.ts'
import { HeldRows } from './held-rows.ts'
import { nameOf } from './keys.ts'
import type { Lane } from './lane-rows.ts'
import { loadMoments } from './moments.ts'
import { Overdue } from './overdue.ts'
import type { OrphanedLeases } from './presence.ts'
import { hasBodyApart, isSmall, rowOf, storedTask, type TaskRow } from './rows.ts'
import type { Snapshot, StoreClock } from './state.ts'
import { Taken } from './taken.ts'
import { eachOf, eachParked, eachWaiting } from './walk.ts'

/** What a transaction takes from the store object that it is of. */
export interface Surroundings {
  readonly clock: StoreClock
  readonly terms: StoreTerms
  /** Whether the leases of this owner are looked after here. */
  readonly isGuarding: (owner: string) => boolean
}

type Work = (rows: readonly TaskRow[]) => void

export class Transaction extends HeldRows implements Tx {
  readonly terms: StoreTerms
  readonly hints: Hint[] = []
  unreadable = 0
  asksToPersist = false
  /** New tasks were looked up; where not, they were stored as if neither they nor their keys were here. */
  hasLooked = true
  /** Leases that a turn takes back before they are over. */
  orphaned: OrphanedLeases | undefined
  isHere: () => boolean = () => true
  readonly #isGuarding: Surroundings['isGuarding']
  readonly #taken: Taken
  #overdue: Overdue | undefined
  #moments: Moments | undefined

  constructor(
    idb: IDBTransaction,
    { clock, terms, isGuarding }: Surroundings,
    snapshot: Snapshot,
    isOptimistic: boolean,
  ) {
    super(idb, clock, snapshot, isOptimistic)
    this.terms = terms
    this.#isGuarding = isGuarding
    this.#taken = new Taken(this.store('tasks'))
  }

  protected advance(next: TaskRow): void {
    advance(this, next)
  }

  shown(at: number): number {
    return at - this.state.skewMs
  }

  show(row: TaskRow): StoredTask | undefined {
    return storedTask(row, this.state.skewMs)
  }

  isCurrent(principal: string | null): boolean {
    return this.state.principal === undefined || this.state.principal === principal
  }

  async loadOrders(taskIds: readonly string[]): Promise<void> {
    await this.load(taskIds)
    const rows = taskIds.flatMap((id) => this.row(id) ?? [])
    await Promise.all(rows.map((row) => this.#taken.loadOrder(row)))
  }

  /** An optimistic transaction stores new tasks unseen: the database refuses those that are here, or whose keys are. */
  loadNew(tasks: readonly NewTask[]): Wait {
    this.hasLooked = !this.isOptimistic || tasks.some(({ orderKey }) => orderKey !== undefined)
    if (!this.hasLooked) return undefined
    return Promise.all([this.load(tasks.map(({ taskId }) => taskId)), this.#taken.loadNew(tasks)])
  }

  keeperOf(task: NewTask): TaskRow | undefined {
    return task.idempotencyKey === null ? undefined : this.#taken.keeperOf(task)
  }

  joinOrder(row: TaskRow): boolean {
    return this.#taken.addToOrder(row)
  }

  rowOf(task: NewTask, place: Place): TaskRow {
    return rowOf(task, place)
  }

  insert(row: TaskRow, body: Uint8Array | undefined): void {
    // the browser is asked to keep the database once the first task is in it
    this.asksToPersist ||= !this.state.persistAsked
    this.state.persistAsked = true
    this.#taken.addKey(row)
    this.add(row)
    if (body && !isSmall(body)) this.set('bodies', row.taskId, body)
  }

  strip(row: TaskRow): void {
    if (row.status === 'CANCELLED') row.keptKey = null
    row.headers = {}
    if (hasBodyApart(row)) this.set('bodies', row.taskId, undefined)
    row.body = null
    row.bodyBytes = 0
  }

  setPolicy(row: TaskRow, policy: NewTask['policy']): void {
    row.policy = policy
  }

  keepLog(row: TaskRow, log: AttemptLog): void {
    const { taskId } = row
    if (wasSent(log)) {
      this.set('attempts', [taskId, ++row.logged], log)
      if (row.logged > LOG_LENGTH) this.set('attempts', [taskId, row.logged - LOG_LENGTH], undefined)
      return
    }
    row.noted = (row.noted ?? 0) + 1
    this.set('attempts', [taskId, -row.noted], { ...log, after: row.logged })
    if (row.noted > NOTES_LENGTH) this.set('attempts', [taskId, NOTES_LENGTH - row.noted], undefined)
  }

  /** Counts guarded leases by owner. */
  leaseChanged(row: TaskRow, by: 1 | -1): void {
    const { owner } = row
    if (owner === null) return
    if (by > 0) row.guarded = this.#isGuarding(owner)
    if (row.guarded) {
      const { [owner]: known = 0, ...others } = this.state.guards
      this.state.guards = known + by > 0 ? { ...others, [owner]: known + by } : others
    }
    if (by < 0) row.guarded = false
  }

  loadTurn(taskIds: readonly string[], outlived: readonly Outlived[]): Wait {
    this.#overdue = new Overdue(this, this.orphaned)
    return Promise.all([this.#overdue.load(outlived), this.verify(), this.load(taskIds)])
  }

  oldest(kind: Outlived, most: number): TaskRow[] {
    return this.#overdue?.oldest(kind, most) ?? []
  }

  endHolds(): void {
    const { now } = this
    for (const lane of this.lanes.filter((each) => each.heldUntil !== null && !isHeld(each, now))) this.saveLane(lane)
  }

  lapsed(alive: string): TaskRow[] {
    return this.#overdue?.lapsed(alive) ?? []
  }

  late(): TaskRow[] {
    return this.#overdue?.late() ?? []
  }

  readyLanes({ principal }: Claim): Lane[] {
    return this.lanes.filter((lane) => lane.principal === nameOf(principal) && readyAt(lane) <= this.now)
  }

  heads(lane: Lane, owner: string, claim: Claim): DueHeads {
    return new DueHeads(this, lane, owner, claim)
  }

  async loadMoments(claim: Claim | null): Promise<void> {
    this.#moments = await loadMoments(this, claim)
  }

  moments(): Moments {
    return this.#moments as Moments // it has been loaded
  }

  eachWaiting(lane: string | undefined, work: Work): Promise<void> {
    return eachWaiting(this, lane, work)
  }

  eachParked(filter: Parameters<Tx['eachParked']>[0], work: Work): Promise<void> {
    return eachParked(this, filter, work)
  }

  eachOf(filter: Parameters<Tx['eachOf']>[0], work: Work): Promise<void> {
    return eachOf(this, filter, work)
  }
}
