/**
 * The interface between the commands of the contract and a kind of storage. The commands are written once, in this folder;
 * a storage brings one transaction in these words, and its own way to answer questions that change nothing.
 *
 * Methods whose answer is a `Wait` may have to ask the database, and are yielded (see `step.ts`). All others answer at once:
 * from what was loaded before, or from a database that never makes a command wait. Rows and lanes are changed in place;
 * `save` and `saveLane` say that they were. Two questions for one task give one row, or the row as it was saved last.
 */

import type { NewTask, StoredTask } from '../../api/records.ts'
import type { Claim, Hint, StoreTerms, TaskStore } from '../../api/store.ts'
import type { AttemptLog, TaskStatus } from '../../api/task.ts'
import type { Ledger } from './ledger.ts'
import type { Lineup } from './lineup.ts'
import type { Counter, Lane, Place, Row } from './row.ts'
import type { Wait } from './step.ts'

export interface Counters extends Record<Counter, number> {
  lastSeq: number
  lastToken: number
  lastServed: number
}

/** One transaction. */
export interface Tx {
  /** The store's time. */
  readonly now: number
  readonly terms: StoreTerms
  /** Absent: a line for each principal, and nothing is paused. */
  readonly lineup?: Lineup
  /** Absent: the store is not for everyone. */
  readonly ledger?: Ledger | undefined
  /** Counters; a command that changes one saves a row or a lane too. */
  readonly state: Counters
  /** Reported to listeners once the transaction is done. */
  readonly hints: Hint[]
  /** Records that were put aside in it. */
  unreadable: number

  /** `at`, an instant of the store, as it leaves the store. */
  shown(at: number): number
  /** The row as it leaves the store; `undefined`: it cannot be read. */
  show(row: Row): StoredTask | undefined
  /** Whether requests are made for this principal now. */
  isCurrent(principal: string | null): boolean
  /** Whether the owner of a turn can still look after leases. */
  isHere(): boolean

  /** Loads tasks, for `row`. */
  load(taskIds: readonly string[]): Wait
  /** Loads tasks as `load` does, and for `joinOrder` whether their orders have others that are pending or in flight. */
  loadOrders(taskIds: readonly string[]): Wait
  /** Loads what may be here of new tasks already, for `row`, `keeperOf` and `joinOrder`. */
  loadNew(tasks: readonly NewTask[]): Wait
  row(taskId: string): Row | undefined
  /** The task that keeps the key of a new one. A damaged one keeps none. */
  keeperOf(task: NewTask): Row | undefined
  /** Puts a row that is about to be pending into its order. Says whether others of it are pending or in flight; damaged ones do not count. */
  joinOrder(row: Row): boolean
  /**
   * After a task of an order has ended, or was put aside as damaged: gives the first of the others its own due time, unless one is
   * at the head. Those that are damaged themselves are put aside.
   */
  passOn(row: Row): void

  /** A row for a new task, made of `newRow`. */
  rowOf(task: NewTask, place: Place): Row
  insert(row: Row, body: Uint8Array | undefined): void
  /** The body of a task that is claimed, where it costs less now than the runner's question for it would. */
  bodyAtHand?(row: Row): Uint8Array | undefined
  save(row: Row): void
  /** Deletes the row with its body and its logs. */
  erase(row: Row): void
  /** Empties the headers and deletes the body of a task that will not be sent again. */
  strip(row: Row): void
  setPolicy(row: Row, policy: NewTask['policy']): void
  /** Adds a line to the history of a task, which keeps the youngest lines. */
  keepLog(row: Row, log: AttemptLog): void
  /** The row's `owner` gets a lease (1), or loses it (-1). */
  leaseChanged(row: Row, by: 1 | -1): void
  lane(of: Pick<Row, 'lane'>): Lane
  laneNamed(name: string): Lane
  saveLane(lane: Lane): void

  /** Loads what a turn starts with: tasks by id, those past their retention, leases and deadlines. */
  loadTurn(taskIds: readonly string[], outlived: readonly Outlived[]): Wait
  /** Rows of `kind`, one of those given to `loadTurn`, to be deleted. */
  oldest(kind: Outlived, most: number): readonly Row[]
  /** Drops holds of which nothing has to be known any more, and lanes that have nothing else. */
  endHolds(): void
  /** Tasks whose lease ran out, or whose owner is known to be gone and is not `alive`, by rising token. */
  lapsed(alive: string): readonly Row[]
  /** Whether the owner of a lapsed lease is known to be gone, and is not `alive`. */
  isGone(row: Row, alive: string): boolean
  /** At most `SWEEP` pending tasks past their deadline, the earliest first. */
  late(): readonly Row[]

  /** Writes what has changed, so that due tasks can be asked for. */
  flush(): Wait
  /** Finds the claim's lanes whose first task has come due since a claim has last looked: before `readyLanes`, and after `flush`. */
  lookAtLanes(claim: Claim): Wait
  /**
   * The first `count` of the claim's lanes that may start a task, in the order of claims, as far as is known without reading a
   * task. Fewer: there are no others. `isFull`: those that have no room beneath `perLane`, in any order, instead of those that have.
   */
  readyLanes(owner: string, claim: Claim, isFull: boolean, count: number): readonly Ready[]
  heads(lane: Lane, owner: string, claim: Claim): Heads
  /** Writes what has changed, and loads `moments`. */
  loadMoments(claim: Claim | null): Wait
  moments(claim: Claim | null): Moments

  /** Calls `work` with all tasks that have a due time, of one lane or of all, some at a time. */
  eachWaiting(lane: string | undefined, work: Work): Wait
  eachParked(filter: Parameters<NonNullable<TaskStore['unpark']>>[0], work: Work): Wait
  eachOf(filter: Parameters<TaskStore['purge']>[0], work: Work): Wait
}

type Work = (rows: readonly Row[]) => void

/** Ended tasks of some statuses that may be deleted: those that ended before `before`, and, if those are fewer than `surplus`, as many more of the principals that have most. See `TaskStore.turn`. */
export interface Outlived {
  readonly statuses: readonly TaskStatus[]
  readonly before: number
  readonly surplus: number
}

/** A lane that may start a task. Its first task has no lower rank than this, and is due no earlier. */
export interface Ready extends Pick<Row, 'rank'> {
  readonly lane: Lane
  readonly dueAt: number
}

/** The due tasks of one lane that a claim may take, in the order in which it takes them. */
export interface Heads {
  /** Where the next one stands, which is all that the choice among lanes needs; `undefined`: none is due. */
  readonly first: Pick<Row, 'rank' | 'dueAt'> | undefined
  /** The next one itself. */
  row(): Row | undefined
  /** Loads the first `count`. */
  read(count: number): Wait
  /** Goes on to the next, after `first` has been dealt with. */
  next(): Wait
}

/** The next moments of a store; Infinity: there is none. */
export interface Moments {
  /** At least those lanes of the claim that a turn shows. */
  readonly lanes: readonly Lane[]
  /** When the first lease ends. */
  readonly leaseAt: number
  /** The first deadline of a pending task. */
  readonly deadlineAt: number
  /** When the claim next finds something; without a claim, when the first task of any lane is due. */
  readonly readyAt: number
}
