/**
 * The port to the side that keeps tasks in a store. The runner, its admission and its managers know no more of that side
 * than this; `durable/` implements it, as a chunk of its own that only durable queues load.
 */

import type { PageOptions, TaskOutcome, TaskPage } from '../api/methods.ts'
import type { RunnerStats } from '../api/stats.ts'
import type { TaskStore, UnreadableRecord } from '../api/store.ts'
import type { AttemptLog, Decision, Durability, ExhaustedReason, RetryTask } from '../api/task.ts'
import type { Finished } from '../call/attempt.ts'
import type { Call } from '../call/call.ts'
import type { RepeatAnswer } from '../call/transport.ts'
import type { Clock } from '../platform/clock.ts'
import type { HeldLease } from '../tasks/course.ts'
import type * as Words from '../tasks/explain.ts'
import type { Ruling } from '../tasks/ruling.ts'
import type { Task } from '../tasks/task.ts'
import type { TaskScope } from './task-scope.ts'

/** The words for the decisions about tasks: a chunk of its own, that comes with the first of them. */
export type WordsModule = typeof Words

/** The side that keeps tasks in a store. Without one the runner works alone. */
export interface StoredSide {
  /** When the store has something to do next; Infinity: nothing that time alone would bring. */
  readonly wakeAt: number
  /** The faults that its tasks survive. */
  readonly durability: Durability
  readonly loop: {
    /** A claim is under way: what it brings must fit, so nothing else is started. */
    readonly isClaiming: boolean
    /** The page was put away: nothing is claimed until it is back. */
    readonly isSuspended: boolean
    /** Tasks of the current principal that wait or run in the store, as of its last turn. */
    readonly depth: number
    /** Settlements that the store has not answered yet. */
    readonly settling: number
    /** The runner has become able to start more than it could. */
    roomMade(): void
  }
  readonly guard: {
    /** Whether an attempt whose hooks took a while may still be sent. */
    confirm(task: Task): Promise<boolean>
  }
  readonly callers: {
    /** Ends the tasks that `isOf` names and whose callers wait here for an answer, unless one of their attempts runs. */
    endWaits(isOf: (task: Task) => boolean, reason: ExhaustedReason): void
    /** The queue is about to close: ends tasks whose callers wait here for a retry, and answers those callers. */
    endWaiting(): void
  }
  readonly settler: {
    /** Writes down how the attempt of a leased task ended. */
    settle(task: Task, ruling: Ruling): void
  }
  readonly counts: {
    /** Dead letters in the store, of all principals: they share its room. */
    readonly deadLetters: number
  }
  /** Does what is due in the store by now. */
  tick(now: number): void
  /** Tells the store until when a server has asked a lane to wait; not past now: it has asked for nothing new. */
  holdLane(principal: string | null, origin: string, until: number): void
  /** Whether another process may have the task of a lease by now: it was lost, or is over. */
  isLost(lease: HeldLease, now: number): boolean
  /** Lets tasks go that wait for credentials: those of an origin, or all. */
  resume(origin: string | undefined): void
  /** Makes waiting tasks due, those of a lane or all; resolves with their number. */
  flush(lane?: string): Promise<number>
  /** Takes up what the store has of the principal that is there now; resolves once that is known. */
  switchPrincipal(): Promise<void>
  /** Another page has named a principal: asks the store. Where it does not answer `isOwn` says whether what is in memory may go on. */
  principalNamed(isOwn: boolean): void
  /** Adds the store's numbers to those of the tasks in memory; `all`: of every principal. */
  stats(here: RunnerStats, all: boolean): RunnerStats
  /** Answers every caller with what there is, or else `error`. Nothing can be decided here any more. */
  stop(error: unknown): void
  /** Gives back what runs, then stops. Never rejects, and waits for a store that hangs 2 s at most (L5). */
  close(): Promise<void>
}

/** When a call's task is over, and how long its caller waits for it. */
export interface Terms {
  readonly createdAt: number
  readonly expiresAt: number
  readonly waitUntil: number
}

/** A record that cannot be read, as far as it may be shown. */
export type Aside = UnreadableRecord

/** A call that has become a task. */
export interface Kept {
  readonly taskId: string
  readonly key: string | null
  readonly durability: Durability
  readonly deduplicated: boolean
  /** Nothing of the store is sent now: see `EnqueueReceipt`. */
  readonly isStalled?: true
}

/** The answer of a call that is taken care of, on its way: in an object, since a bare promise would be awaited. */
export interface EarlyAnswer {
  readonly answer: Promise<unknown>
  /** The task that it became. Absent: it joined another, or became none. */
  readonly task?: Task | undefined
}

/** A call that comes to be kept while its caller waits. */
export interface Arrival {
  readonly call: Call
  /** The caller's own attempt, made or given back unsent. */
  readonly own: Finished<RepeatAnswer>
  readonly terms: Terms
  /** The core is asked about that attempt first: the call may be over already. */
  readonly asks: boolean
  /** False: it is stored to be on the safe side, and sent all the same where that fails (S18). */
  readonly mustWait: boolean
}

/** Turns calls into tasks. A call for which it gives undefined is left to the next place, or ends as plain fetch would. */
export interface Place {
  /** Takes a call whose caller waits. */
  take(arrival: Arrival): Promise<EarlyAnswer | undefined> | EarlyAnswer | undefined
  /** Settles a task that has no place yet, whose caller's attempt has succeeded. */
  settleOwn(task: Task, call: Call, ended: Finished<RepeatAnswer>): void
  /** Takes a call that no caller waits for. */
  enqueue(call: Call, terms: Terms): Promise<Kept | undefined> | Kept | undefined
}

/**
 * The place in the store; where it gives undefined, `degraded` has said why. Rejects for one that may not be stored and must: of an order,
 * or enqueued in a queue that allows no memory.
 */
export interface StoredPlace extends Omit<Place, 'take'> {
  /** null: it is to be sent at once, though it is of an order, since its key is that of a task which has ended. */
  take(arrival: Arrival): Promise<EarlyAnswer | undefined | null>
  /** Whether calls like this one are stored: all in the background and those of an order, others by their method. */
  takes(call: Call, isHandedOver: boolean): boolean
  /** Looks at a call that it takes and that is about to be sent: tells what would keep it out of the store if it failed. Never throws. */
  reportStorability(call: Call): void
}

/** The filter of a list, as stores have it. */
export type StoredFilter = Pick<Parameters<TaskStore['list']>[0], 'status' | 'active' | 'tags' | 'origin'>

/** Answers questions about tasks in a store, and carries out orders to them. `of`: those of others are as if they were not there. */
export interface StoredManager {
  get(taskId: string, of: TaskScope): Promise<RetryTask | undefined>
  attempts(
    taskId: string,
    page: PageOptions,
    of: TaskScope,
  ): Promise<{ readonly attempts: readonly AttemptLog[]; readonly cursor?: string }>
  explain(taskId: string, of: TaskScope, words: WordsModule): Promise<readonly Decision[]>
  list(filter: StoredFilter, page: PageOptions, of: TaskScope): Promise<TaskPage>
  result(taskId: string, of: TaskScope): Promise<TaskOutcome>
  cancel(taskId: string, of: TaskScope): Promise<'cancelled' | 'requested' | 'gone'>
  /** Cancels what waits; resolves with how many. */
  clear(of: TaskScope): Promise<number>
  redrive(taskId: string, acceptDuplicateRisk: boolean, of: TaskScope): Promise<RetryTask>
  /** Resolves with how many were put back. */
  redriveSome(taskIds: readonly string[], acceptDuplicateRisk: boolean): Promise<number>
  deadIds(of: TaskScope): Promise<readonly string[]>
  dead(of: TaskScope): AsyncIterable<RetryTask & { readonly attempts: readonly AttemptLog[] }>
  /** Records that cannot be read, without any of their text. */
  unreadable(): AsyncIterable<Aside>
  /** Deletes one dead letter, or all. */
  purgeDead(taskId: string | undefined, of: TaskScope): Promise<number>
  /** Deletes everything of a principal; what is in flight is aborted. */
  purge(principal: string | null): Promise<number>
}

/** The chunk with a page's own store. */
export interface PageStoreModule {
  indexedDbStore(options: { readonly name: string; readonly clock: Clock }): TaskStore
}
