/** The methods of a queue, as far as they take or give more than a task: receipts, outcomes, pages, dead letters. */

import type { RedriveError } from './errors.ts'
import type { Durability, RetryTask, TaskStatus } from './task.ts'

export interface EnqueueReceipt {
  readonly taskId: string
  readonly idempotencyKey: string | null
  readonly durability: Durability
  readonly deduplicated: boolean
  /**
   * The task is as safe as `durability` says, but nothing of the store is sent at the moment, since its turns fail:
   * see `stats().storeFailingSinceAt`. Absent: it is sent when it is due.
   */
  readonly isStalled?: true
}

/** The body of the 202 that a deferred call is answered with once its task is kept. */
export interface AcceptedBody {
  readonly status: 'queued'
  readonly taskId: string
  readonly traceId: string
  /** Where the task is kept. */
  readonly durability: Durability
}

export interface TaskOutcome {
  readonly task: RetryTask
  readonly responseStatus: number | null
  /** Absent with SUCCEEDED. */
  readonly error?: RedriveError
}

export interface SwitchOptions {
  /** Deletes the tasks of the principal before. Rejects where that fails or the store is not open: the principal is the new one all the same. @default false */
  readonly purge?: boolean
  /**
   * Changes the cookies, as a login does. From the call on and until it has resolved this queue sends nothing: first attempts of
   * calls wait, for their `waitMs` at most (30 s unless given). Queues in other tabs of the store send no task either, whichever principal
   * they name; first attempts of their callers are their page's own. Its own requests go by plain fetch, or with
   * `redrive: false`: any other call of the queue would wait for itself. Where it rejects, the principal stays the one before, calls that were
   * made meanwhile reject with `PRINCIPAL_CHANGED`, and its error is passed on. Until it has ended no other principal may be named here (`PRINCIPAL_CHANGING`).
   * @default nothing: the cookies are the new principal's already, or do not matter
   */
  readonly during?: () => unknown
}

export interface PageOptions {
  /** 1 to 1,000. @default 100 */
  readonly limit?: number
  /** From the page before. */
  readonly cursor?: string
}

/** The principals whose tasks a method is about. */
export interface ScopeOptions {
  /** Those of every principal in the store, not of the current one alone: for tools. @default false */
  readonly allPrincipals?: boolean
}

/** Tasks that fit all that is given. A filter that is given as undefined is refused: it may have been meant to be less than all. */
export interface ListFilter extends PageOptions, ScopeOptions {
  readonly status?: TaskStatus
  /** Those that have not ended: PENDING and IN_FLIGHT, in memory and in the store. @default all */
  readonly active?: true
  /**
   * Those that have all of these tags, or this one. A store has no index of them and looks at every task that fits the rest of the filter,
   * 1,000 in a transaction.
   */
  readonly tags?: string | readonly string[]
  /** Exactly as `new URL(url).origin` has it. */
  readonly origin?: string
}

export interface TaskPage {
  readonly tasks: readonly RetryTask[]
  /** Absent on the last page. */
  readonly cursor?: string
}

/** The tasks that have changed since the last report. */
export interface TaskChange {
  /** Those that are new, have started or ended, wait for another time, or are gone, as far as their ids are known here; each once. */
  readonly taskIds: readonly string[]
  /** Others may have changed as well, of which only that is known. */
  readonly others: boolean
}

export interface SubscribeOptions {
  /**
   * 'queue': the changes that this queue makes, no others. 'store': also those of the store's other tabs and processes. Tabs hear of each
   * other at once. Processes on one SQLite file hear by the look that an idle queue takes anyway, once in `idleCheckMs` (1 s), or with
   * their own next turn. Without a store both are the same.
   * @default 'store'
   */
  readonly scope?: 'queue' | 'store'
}

export interface RedriveAllOptions extends ScopeOptions {
  /** At most this many go back per second. @default all at once; the queue's limits hold anyway */
  readonly perSecond?: number
  readonly acceptDuplicateRisk?: boolean
  /** Stops between two tasks; those already put back stay. */
  readonly signal?: AbortSignal
  readonly onProgress?: (done: number, total: number) => void
}

/** Tasks of the current principal that were given up, kept until they are redriven, purged, or past their retention. */
export interface DeadLetters {
  list(options?: PageOptions & ScopeOptions): Promise<TaskPage>
  /** Puts it back with its key and history, attempts counted anew. Past keyTtlMs it needs acceptDuplicateRisk. */
  redrive(taskId: string, options?: ScopeOptions & { readonly acceptDuplicateRisk?: boolean }): Promise<RetryTask>
  /** Resolves with how many went back; those past keyTtlMs stay unless acceptDuplicateRisk. */
  redriveAll(options?: RedriveAllOptions): Promise<number>
  /** Deletes one; resolves with how many, 0 or 1. Rejects with a TypeError where no id is given. */
  purge(taskId: string, options?: ScopeOptions): Promise<number>
  /** Deletes all; resolves with how many. */
  purgeAll(options?: ScopeOptions): Promise<number>
  /**
   * All dead letters with their attempts as JSON text: ids, URLs as shown, methods, sanitized headers, reasons, attempt
   * logs; never a body or a credential.
   */
  export(options?: ScopeOptions): Promise<string>
}
