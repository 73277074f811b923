/**
 * The contract of a task store: who implements it keeps the tasks of a queue where they outlive the page or the process.
 *
 * A stored task that waits is resident nowhere: **the store owns** its status, due time, attempts, order, dedupe, cancel,
 * deadline, its lane's hold, and the limits over all processes. The core owns verdict, delay and choice of lane. No value
 * is written by both. The store has the only clock: times go in and come out relative to it, `createdAt`, `dueAt` and
 * `deadlineAt` are instants of it.
 *
 * Every method is one atomic step. One that rejects may have been done or not: it can be called again, and twice is once
 * (a claim whose answer is lost costs one lease and one attempt). `tests/js/store-contract.ts` holds every store to the
 * rules written here; `memory.ts` is the reference.
 */

import type { RetryPolicy } from '../policy.ts'
import type { AttemptLog, Durability, ExhaustedReason, TaskStatus } from '../types.ts'

/** The version of `NewTask` that this code writes. A record with a higher one is left alone and counted (S20). */
export const RECORD_SCHEMA = 1

/** Most tasks that one `turn` ends for their deadline, and most rows that it deletes for their retention. */
export const SWEEP = 256
/** Most lanes in a `Turn`. */
export const LANES_SHOWN = 64
/** Attempts given back per task, for whatever cause; later ones count. */
export const MOST_REFUNDS = 20
/** Attempts that are kept in the log of a task, the youngest. */
export const LOG_LENGTH = 100
/** A clock that falls back by more is a step, and the store goes along with it; by less it stands still. */
export const CLOCK_STEP_MS = 60_000

/** What may be kept. The queue tells its store with `configure`. */
export interface StoreTerms {
  /** Tasks pending or in flight. @default 10_000 */
  readonly capacity: number
  /** Their bodies, in bytes. @default 50 MiB */
  readonly capacityBytes: number
  readonly retention: {
    readonly terminalMs: number
    readonly maxTerminal: number
    readonly deadLetterMs: number
    readonly maxDeadLetters: number
  }
}

/** Lane = principal + origin. Times are relative: the store has the only clock. */
export interface TaskStore {
  /** What a resolved `enqueue` survives. */
  readonly durability: Durability
  /** Producers this store cannot hear are looked for this often; null: every producer can be heard. */
  readonly idleCheckMs: number | null

  /** Sets what may be kept, from now on. What is there already stays. */
  configure?(terms: StoreTerms): void

  /**
   * Takes tasks, all in one step, each with its own outcome:
   * - 'duplicate': `taskId` is here already, or another task of this principal has this key and fingerprint. Its id is given.
   *   A task keeps its key until it is purged; one that was cancelled gives it up.
   * - 'conflict': that task has this key and another fingerprint (S6). Its id is given.
   * - 'full': `capacity` or `capacityBytes` would be passed (S17). Looked at after the two above.
   * - 'stored': PENDING, due in `dueInMs`; behind others of its `orderKey` it has no due time until they have ended.
   *   Then due in `dueInMs` from its enqueue, or at once.
   *
   * With `lease`, each stored task that may start now (first of its order, lane not held, `dueInMs` 0, fewer than `total` and
   * `perLane` in flight; Infinity where they are not given) is claimed in the same step: attempt counted, token taken. A
   * duplicate by `taskId` that this owner holds gets its lease again.
   */
  enqueue(
    tasks: readonly NewTask[],
    lease?: { readonly owner: string; readonly leaseMs: number; readonly total?: number; readonly perLane?: number },
  ): Promise<readonly Enqueued[]>

  /**
   * One atomic step of a runner. In this order: retention; settle what ended; renew what runs; end or take back tasks
   * whose lease ran out; end tasks past their deadline; claim what is due (attempt counted, token taken).
   */
  turn(step: Step): Promise<Turn>

  /**
   * PENDING: ended now, CANCELLED, or EXHAUSTED with `as`. IN_FLIGHT: 'requested'; a success still counts, anything else, a lease that runs out
   * too, makes it CANCELLED (`as` has no say). Ended already, or not here: 'gone'.
   */
  cancel(taskId: string, as?: ExhaustedReason): Promise<'cancelled' | 'requested' | 'gone'>

  /**
   * Puts dead letters back, PENDING, with key, id and history, attempts and refunds at 0, and not parked; the i-th that goes back
   * is due in i times `spacingMs`. Capacity has no say: they were accepted. The new deadline is the least of its policy's
   * `totalBudgetMs` from now and, with a key and without `acceptDuplicateRisk`, `keyTtlMs` from its first attempt. 'key_expired': the latter has passed. 'gone': no dead letter.
   * `policies`: a task whose `policyId` is among them takes that one.
   */
  redrive(
    taskIds: readonly string[],
    options: {
      readonly spacingMs: number
      readonly acceptDuplicateRisk: boolean
      readonly policies?: readonly RetryPolicy[]
    },
  ): Promise<readonly ('redriven' | 'key_expired' | 'gone')[]>

  /** Makes what waits for its own curve due now, in a lane or in all; what a server asked for (`serverMs`), holds, orders and parking still hold. Says how many. */
  flush(lane?: string): Promise<number>

  /** Makes parked tasks due, those of a lane or all of a principal, no earlier than a server asked. Says how many. */
  unpark(filter: { readonly principal?: string | null; readonly lane?: string }): Promise<number>

  /** Claims never read bodies. undefined: there is none. */
  body(taskId: string): Promise<Uint8Array | undefined>
  /** The task that keeps this key: the youngest, of `principal` where it is given. */
  find(idempotencyKey: string, principal?: string | null): Promise<StoredTask | undefined>
  get(taskId: string): Promise<StoredTask | undefined>
  /** By rising `taskId`, those above `cursor`; `cursor` is given while there are more. */
  list(filter: {
    readonly status?: TaskStatus
    readonly principal?: string | null
    readonly origin?: string
    readonly limit: number
    readonly cursor?: string
  }): Promise<{ readonly tasks: readonly StoredTask[]; readonly cursor?: string }>
  /** Oldest first, the last 100. A log with neither status nor error was never sent and is not kept. */
  attempts(
    taskId: string,
    page: { readonly limit: number; readonly cursor?: string },
  ): Promise<{ readonly attempts: readonly AttemptLog[]; readonly cursor?: string }>
  /** Kept as they change, O(1). Rows by status; purged counts those that were deleted, by `purge` or by retention. Their sum is what was ever accepted (S2). `bytes`: bodies of tasks pending or in flight. */
  counts(): Promise<{
    readonly pending: number
    readonly inFlight: number
    readonly succeeded: number
    readonly exhausted: number
    readonly cancelled: number
    readonly purged: number
    readonly bytes: number
  }>
  /** Deletes what fits all that is given, whatever its status: everything if nothing is. The next of an order gets its turn. Says how many. */
  purge(filter: {
    readonly taskId?: string
    readonly principal?: string | null
    readonly status?: TaskStatus
  }): Promise<number>
  /** Wake-ups from other queues of this store, tabs or processes. Hints only: nothing depends on one arriving. */
  subscribe?(
    listener: (hint: { readonly kind: 'due' | 'settled' | 'cancelled'; readonly taskId?: string }) => void,
  ): () => void
  /**
   * Runners whose callers wait. While a home is live, others leave its tasks to it (`skipHomes`): a response can be
   * given only where its caller is. Absent: nobody else uses the store.
   */
  readonly homes?: {
    /** `owner` is a home for the next `forMs`; 0: no longer. */
    hold(owner: string, forMs: number): Promise<void>
    live(): Promise<readonly string[]>
  }
  /** Lets go of files and connections; nothing is lost, and the next call opens them again. */
  close(): Promise<void>
}

export interface Enqueued {
  readonly taskId: string
  readonly outcome: 'stored' | 'duplicate' | 'conflict' | 'full'
  readonly lease?: Lease
}

export interface Step {
  readonly owner: string
  readonly settle: readonly Settlement[]
  readonly renew: readonly Lease[]
  readonly claim: Claim | null
}

export interface Turn {
  /** The store's clock. */
  readonly now: number
  /**
   * One for each `settle`:
   * - 'applied'.
   * - 'repeated': this token has settled this task already, or a success for one that has succeeded.
   * - 'stale': another token has the task, or its lease was taken back, and this is no success. Nothing is changed. (A success is 'applied'
   *   whoever has the task by now, also to a dead letter: S4.)
   * - 'cancelled': it was cancelled; with the lease still held it is CANCELLED from now on.
   * - 'gone': not here.
   */
  readonly settled: readonly ('applied' | 'repeated' | 'stale' | 'cancelled' | 'gone')[]
  /** One for each `renew`. 'cancelled': renewed, and its end was asked for: abort and settle. 'lost': another has it, or nobody. */
  readonly renewed: readonly ('renewed' | 'lost' | 'cancelled')[]
  readonly claimed: readonly { readonly task: StoredTask; readonly lease: Lease }[]
  /** Ended in this step without a settlement: see `status` and `reason`. */
  readonly ended: readonly StoredTask[]
  /** The 64 that come first: by `nextInMs` (null last), then by name. Of the claim's principal, without those bounded to 0. */
  readonly lanes: readonly LaneView[]
  /**
   * When to ask again: the least, from now, of the next due time of an unbounded lane of the claim (or the end of its hold, if
   * later), the end of a lease, and the deadline of a pending task; 0 where more was due than `limit`. What only limits, bounds or homes
   * keep back has no say. null: no such moment. Without a claim, all lanes count.
   */
  readonly nextInMs: number | null
  /** Something was due and only `total` or `perLane` kept it back. */
  readonly blockedByLimit: boolean
  /** Dead letters that retention deleted in this step. */
  readonly trimmed?: number
  /** Records found in this step that cannot be read, and were put aside (S20). */
  readonly unreadable?: number
}

export interface LaneView {
  readonly lane: string
  readonly pending: number
  readonly inFlight: number
  readonly nextInMs: number | null
  readonly heldForMs: number
}

/**
 * What to claim. Among due tasks, of lanes that are not held, in this order: higher `priority`, then the lane that was served longest
 * ago (never: first), then due first, then lane by name; within a lane higher `priority`, then due first, then enqueued first. A task
 * past its deadline, or with all its policy's attempts counted, is ended instead, and the next is looked at.
 */
export interface Claim {
  readonly limit: number
  readonly leaseMs: number
  /** Most in flight over all processes, and most in one lane. */
  readonly total: number
  readonly perLane: number
  /** 'any': all of the principal. */
  readonly lanes: readonly { readonly lane: string; readonly max: number }[] | 'any'
  /** With 'any': lanes of which at most `max` may be claimed now. */
  readonly bounds?: readonly { readonly lane: string; readonly max: number }[]
  readonly principal: string | null
  /** Tasks whose `home` is one of these, and not the owner, are left to it. */
  readonly skipHomes: readonly string[]
}

/** A fencing token: tokens of a store only rise. Never an instant. */
export interface Lease {
  readonly taskId: string
  readonly token: number
  readonly forMs: number
}

/** What the core wants back with the next claim. */
export interface Carry {
  /** Position in the window of spread waits, 0..2^32-1; -1: none yet. */
  readonly phase: number
  readonly previousDelayMs: number
  /** Bits of the core's own. */
  readonly marks: number
}

export interface Settlement {
  readonly lease: Lease
  readonly log: AttemptLog
  /** The server asked everybody to wait so long. */
  readonly holdLaneForMs?: number
  readonly next:
    | { readonly kind: 'succeeded' }
    /** PENDING, due in `delayMs`; `serverMs` of it is what the server asked for. Without `carry`, `previousDelayMs` becomes `delayMs`. */
    | { readonly kind: 'retry'; readonly delayMs: number; readonly serverMs?: number; readonly carry?: Carry }
    | { readonly kind: 'exhausted'; readonly reason: ExhaustedReason }
    /** PENDING again. `refund`: the attempt was not one (credentials, offline, 401, pause, shutdown); at most 20 times a task. `park`: not due until `unpark`. */
    | {
        readonly kind: 'release'
        readonly delayMs: number
        readonly refund: boolean
        readonly serverMs?: number
        readonly carry?: Carry
        readonly park?: boolean
      }
}

export interface NewTask {
  /** UUIDv7. */
  readonly taskId: string
  readonly idempotencyKey: string | null
  readonly fingerprint: string
  readonly method: string
  /** Absolute, and as it may be stored. */
  readonly targetUrl: string
  /** Sanitized. */
  readonly headers: Readonly<Record<string, string>>
  readonly withheldHeaders: readonly string[]
  readonly requestInit: {
    readonly credentials?: string
    readonly mode?: string
    readonly cache?: string
    readonly redirect?: string
    readonly referrerPolicy?: string
    readonly integrity?: string
  }
  readonly body?: Uint8Array
  readonly lane: string
  readonly principal: string | null
  /** Resolved, whole: policyId is only its label. */
  readonly policy: RetryPolicy
  /** Least of budget, expiresAt, key lifetime; from the enqueue. Infinity: none. */
  readonly deadlineInMs: number
  /** Which of them that is. @default 'total_budget' */
  readonly deadlineReason?: DeadlineReason
  /** How long ago the call was made. @default 0 */
  readonly ageMs?: number
  readonly dueInMs: number
  /** Of `dueInMs`, what the server asked for. @default 0 */
  readonly serverMs?: number
  /** Attempts begun so far; above 0, the first of them counts as made with the call. */
  readonly attemptNumber: number
  /** Position in the window of spread waits, 0..2^32-1; -1: none yet. */
  readonly phase: number
  readonly previousDelayMs: number
  /** Bits of the core's own. @default 0 */
  readonly marks?: number
  readonly priority: number
  /** One after another, within the principal. */
  readonly orderKey?: string
  readonly home: string | null
  /** The caller vouches: may be repeated without a key. */
  readonly idempotent?: boolean
  readonly schema: number
  /** The attempts made so far, where there are any. */
  readonly log?: readonly AttemptLog[]
}

export type DeadlineReason = 'total_budget' | 'expired' | 'key_expired'

export interface StoredTask
  extends Omit<
    NewTask,
    'body' | 'dueInMs' | 'serverMs' | 'deadlineInMs' | 'ageMs' | 'log' | 'marks' | 'deadlineReason'
  > {
  readonly status: TaskStatus
  readonly reason?: ExhaustedReason
  readonly createdAt: number
  /** null: in flight, ended, behind others, or parked. */
  readonly dueAt: number | null
  /** Infinity: none. */
  readonly deadlineAt: number
  readonly deadlineReason: DeadlineReason
  readonly refunds: number
  readonly marks: number
  /** Waits for `unpark`. */
  readonly parked: boolean
  /** 0 once the task has succeeded or was cancelled: its headers are empty then too, and its body is gone. */
  readonly bodyBytes: number
}

/** How a lane is called: origins hold no space, and `null` is not the principal ''. */
export function laneName(principal: string | null, origin: string): string {
  return principal === null ? origin : `${origin} ${principal}`
}
