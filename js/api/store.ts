/**
 * The contract of a task store, which keeps the tasks of a queue where they outlive the page or the process.
 *
 * A stored task that waits is resident nowhere: **the store owns** its status, due time, attempts, order, dedupe, cancel,
 * deadline, its lane's hold, and the limits over all processes. The core owns verdict, delay and choice of lane. No value
 * is written by both. The store has the only clock: times go in and come out relative to it, `createdAt`, `dueAt` and
 * `deadlineAt` are instants of it.
 *
 * Every method is one atomic step, but for these, which a store may do in parts of at least `SWEEP` tasks (`flush`: 32), each an atomic step: `purge`,
 * `purgeAll`, `flush`, `unpark`, `redrive`, `told`. What others do between two parts may be met by the later one or not. One that rejects may have been done or not: it can be called again, and twice is once
 * (a claim whose answer is lost costs one lease and one attempt). A store that has tried again by itself, in vain, rejects
 * with a `RedriveError` of code 'STORAGE_UNAVAILABLE': new tasks are kept in memory until it answers again. `turn.ts` has the step of a runner. `tests/js/store-contract.ts` holds every store to the
 * rules written here; `memory.ts` is the reference.
 *
 * **Time.** `body`, `find`, `get`, `list`, `attempts`, `counts`, `untold` read no clock and change nothing. Every other method does,
 * `homes` too, and `registry`, `pauses` and `told` may: its `now` is the clock's, or the latest that a step has seen where the clock shows less. Where it shows less
 * by more than `CLOCK_STEP_MS`, `now` is the clock's, and before anything else all that is still to come or to be measured
 * from falls back with it: due times, what servers asked for, leases, holds, deadlines, homes, first-attempt and ended
 * instants. `createdAt` stays. Over are: a lease at its last instant, a wait and a hold too; a deadline one millisecond
 * later, since an attempt may still start at the deadline itself.
 *
 * **Holds.** An answer with `holdLaneForMs` holds its lane for so long, or for `maxLaneHoldMs` from the answer that began the
 * hold if that is less: no renewal passes that end, and none shortens a hold. After a hold no other begins before a lease of the lane
 * was given, or `CHANCE_MS` have passed, in whatever process: so those who waited have their turn (L1). A task waits for its own
 * `serverMs` in full.
 *
 * **Order of tasks.** "Enqueued first" is the order of the calls and, in one call, of the list; a redriven task counts as
 * enqueued anew.
 *
 * **Whose requests** (stores with `principals`). A queue declares its principal as of the moment at which that was said: when the
 * queue was made, or `setPrincipal` called, or its login had ended. It may reach the store much later, and again after an
 * outage; it never replaces a younger declaration, which is the one that the cookies are of. These moments are instants of the
 * wall clock: the store's own time stands still where the clock is set back by less than `CLOCK_STEP_MS`. After a step back a
 * kept declaration may lie in the future of a new one. It counts as made before the new one and gives way, since the clock has not
 * shown its instant since: so a page that is opened after a step is believed. A declaration that was on its way during the step comes
 * with its instant moved back by as much, and with the latest that the clock has shown: all that others declared meanwhile lies between the two.
 *
 * **Unreadable records** (a higher `schema`, or damaged: what `isSoundTask` in `engine/sound.ts` refuses) are never leased, ended, flushed, cancelled, redriven or deleted,
 * but by `purge`, and neither shown by `find`, `get`, `list`, `attempts` nor given a `body`. Those of a higher `schema` keep id, key and
 * their place in their order, which waits for the version that can read them. A damaged one keeps its id alone: a new task may have
 * its key, and the next of its order gets its turn. All are counted as what they are, PENDING. The turn that would claim one, or end it for its
 * deadline, puts it aside instead and counts it in `unreadable`: from then on it has no due time and no deadline, and its lane does not count
 * it any more. No runner of this version will send it, so none waits for it. `enqueue` takes none: where a task of this `schema` could not be
 * read back, it rejects with a RangeError or TypeError that names the field, and stores nothing of the call.
 */

import type { Lease } from './leases.ts'
import type { Broadcast, Hint, Leader, Principals, Report } from './neighbours.ts'
import type { RetryPolicy } from './policy.ts'
import type { NewTask, StoredTask, UnreadableRecord } from './records.ts'
import type { Pauses, Registry } from './registry.ts'
import type { AttemptLog, Durability, ExhaustedReason, TaskStatus } from './task.ts'
import type { TaskFilter } from './task-filter.ts'
import type { Counts, Step, Turn } from './turn.ts'

export { CHANCE_MS, LOOKED_AT, MOST_REFUNDS } from '../core/generated/codes.ts'
export type { Bound, Claim, OriginLimit } from './claim.ts'
export type { Carry, Lease, Settlement } from './leases.ts'
export type { Broadcast, Hint, Leader, NamedAt, Present, Principals, Report } from './neighbours.ts'
export {
  type DeadlineReason,
  homeOf,
  isHomeOfNeeds,
  isHomeOfProcess,
  laneName,
  MARK_ACCEPTED,
  type NewTask,
  originIn,
  PLAIN_SCHEMA,
  RECORD_SCHEMA,
  type StoredTask,
  schemaOf,
  type UnreadableRecord,
} from './records.ts'
export type { Pause, Pauses, Registry, RegistryEntry } from './registry.ts'
export type { TaskFilter } from './task-filter.ts'
export type { ClaimedTask, Counts, LaneHold, LaneView, Silence, Step, Trimmed, Turn } from './turn.ts'

/** Most tasks that one `turn` ends for their deadline, most that its claim ends or puts aside, and most rows that it deletes for their retention. A store may also take back no more leases than this in a turn, and then says `nextInMs` 0. */
export const SWEEP = 256
/** Lanes that may start nothing, among which a turn looks for the next moment of one that is not. */
export const SHUT_LOOKED_AT = 256
/** Most lanes in a `Turn`. */
export const LANES_SHOWN = 64
/** Most tasks that one page of a `list` looks at, but for the `limit` that are on it and one more. */
export const LIST_LOOKED_AT = 1_000
/** Attempts that are kept in the log of a task, the youngest. */
export const LOG_LENGTH = 100
/** Other lines that are kept beside it, the youngest. */
export const NOTES_LENGTH = 50
/** A clock that falls back by more is a step, and the store goes along with it; by less it stands still. */
export const CLOCK_STEP_MS = 60_000
/** A step is held up on its way by less than this; more is a silence of the store. */
export const SILENCE_MS = 1_000

/** Most unreported ends that a turn counts. */
export const UNTOLD_COUNTED = 1_000

/** The weight of a task that has succeeded or was cancelled, which has no body any more. In SQLite it takes about 1,300 bytes, in Redis 2,000. */
export const ENDED_BYTES = 2_048

/** Limits of what may be kept. The queue gives them to its store with `configure`. */
export interface StoreTerms {
  /** Tasks pending, in flight or dead letters. @default 10_000 */
  readonly capacity: number
  /** Their bodies, in bytes. What they leave of it is for tasks that have succeeded or were cancelled, `ENDED_BYTES` for each. @default 50 MiB */
  readonly capacityBytes: number
  /** Longest hold of a lane, from the answer that began it. 0: none is held. @default 60_000 */
  readonly maxLaneHoldMs: number
  readonly retention: {
    readonly terminalMs: number
    readonly maxTerminal: number
    readonly deadLetterMs: number
    /** Infinity: as many as there is room for. */
    readonly maxDeadLetters: number
  }
  /**
   * The part of all that one principal may have, in a store for everyone: others do not ask. It counts over all processes. Asked for each new task.
   * undefined: as much as there is room for.
   */
  readonly quotaOf?: (principal: string | null) => Quota | undefined
}

/** Limits of what one principal may have. */
export interface Quota {
  /** Tasks pending, in flight or dead letters. Absent: no limit of their own, as with the other. */
  readonly capacity?: number
  /** Their bodies, in bytes. */
  readonly capacityBytes?: number
}

/** Lane = principal + origin. Times are relative: the store has the only clock. */
export interface TaskStore {
  /** The faults that a resolved `enqueue` survives. A getter, where the server of a store has to be asked: true from its first answer on. */
  readonly durability: Durability
  /** Producers this store cannot hear are looked for this often; null: every producer can be heard. */
  readonly idleCheckMs: number | null
  /**
   * The time that a runner may be held up unnoticed, as a hidden tab is, whose timers come once a minute. Its
   * leases last an attempt's time limit and this, are not renewed while the attempt keeps its limit, and one that ran out
   * settles nothing but a success. Absent: leases are short, and renewed at a third.
   */
  readonly graceMs?: number

  /**
   * The lanes of all principals stand in one line, and a claim is for all of them: `Claim.principal` has no say, and `bounds` name origins
   * (see `Bound`). Keys, orders, holds and all else stay those of one principal or lane. For a sender of many tenants that has no cookies
   * and looks up the credentials of each task by itself (S16). A store's tasks are stored in one way or the other: opened in the other
   * while it holds any, of whatever status, it rejects with a `RedriveError` of code 'STORAGE_OTHER_LINE'.
   */
  readonly everyone?: true

  /**
   * Sets what may be kept, from now on: the next `enqueue` and the next `turn` go by it. `report`: who hears what the store
   * finds out by itself.
   */
  configure?(terms: StoreTerms, report?: Report): void

  /**
   * Takes tasks, all in one step, each with its own outcome:
   * - 'duplicate': `taskId` is here already, whatever its status and its request, or another task of this principal has this
   *   key and fingerprint. Its id is given. A task keeps its key until it is deleted; one that was cancelled gives it up.
   *   Where that other one is PENDING or IN_FLIGHT, and no process is the `home` of the new one, it gets `MARK_ACCEPTED`: from then on it is
   *   kept for the call that met it, until it has ended. A retry leaves the mark, whatever `carry` says.
   * - 'conflict': that task has this key and another fingerprint (S6). Its id is given.
   * - 'unreadable': a record of a later version has this key. Its id is given, and nothing is stored: whether it is the same request,
   *   and what has become of it, only that version knows.
   * - 'full': with it, more than `capacity` tasks or more than `capacityBytes` would be pending, in flight or dead letters, which
   *   were accepted too and may be sent again (S17). Looked at after the two above; what came before it in the list counts. `of` is
   *   'principal' where the quota of its principal is met, whether the store is full too or not.
   * - 'stored': PENDING, due in `dueInMs`; behind others of its `orderKey` it has no due time until they have ended.
   *   Then due in `dueInMs` from its enqueue, or at once. Others: those of its principal that are pending or in flight.
   *
   * With `lease`, each stored task that may start now (first of its order, lane not held, `dueInMs` 0, fewer than `total` and
   * `perLane` in flight; Infinity where they are not given; with an attempt left and its deadline ahead) is claimed in the
   * same step: attempt counted, token taken. Of tasks that wait already none has to come first. A duplicate by `taskId` that
   * this owner holds gets its lease again, for what is left of it.
   */
  enqueue(
    tasks: readonly NewTask[],
    lease?: { readonly owner: string; readonly leaseMs: number; readonly total?: number; readonly perLane?: number },
  ): Promise<readonly Enqueued[]>

  /**
   * One atomic step of a runner, for all principals but where `claim` names one. In this order:
   * 1. Retention: what is SUCCEEDED or CANCELLED for more than `terminalMs`, the first to have ended first (of those that ended at once:
   *    enqueued first). Where more than `maxTerminal` are left, or more than `capacityBytes` has room for beside the bodies, one by one those of the principal that has most of them, so that no
   *    principal loses what is its own to another's many; of principals that have as many as each other the first by name, none before
   *    any. Then dead letters likewise. Those that are untold are passed over; they count among the many.
   * 2. Settle what ended, then hold lanes, 3. renew what runs, each as listed.
   * 4. Leases that ran out, but for those that a `silence` keeps, or whose owner is known to be gone for good where a store can tell, by rising token. CANCELLED where that was asked for. EXHAUSTED 'outcome_unknown' where nothing
   *    permits another attempt: all counted, past the deadline, or no key, not `idempotent` and a method that is not
   *    either. Else PENDING and due now.
   * 5. Deadlines that have passed, of what is PENDING, parked or behind others too: EXHAUSTED with `deadlineReason`; the
   *    earliest deadline first, then enqueued first.
   * 6. Claim what is due (attempt counted, token taken).
   */
  turn(step: Step): Promise<Turn>

  /**
   * PENDING: ended now, CANCELLED, or EXHAUSTED with `as`. IN_FLIGHT: 'requested'; a success still counts, anything else, a lease that runs out
   * too, makes it CANCELLED (`as` has no say). Ended already, unreadable, or not here: 'gone'. `isCallers`: only since its caller waits no
   * longer. Then one with `MARK_ACCEPTED` stays as it is: 'requested'. Likewise a settlement that would end it as 'wait_exceeded',
   * 'circuit_open' or 'closed' puts it back, due now, and is 'stale'.
   */
  cancel(taskId: string, as?: ExhaustedReason, isCallers?: boolean): Promise<'cancelled' | 'requested' | 'gone'>

  /**
   * Puts dead letters back, PENDING, with key, id and history, attempts and refunds at 0, and not parked; the i-th that goes back
   * is due in i times `spacingMs`, i from 0, behind what its order holds by then. `phase` is -1, `previousDelayMs` and `marks` are 0 as of a
   * task that never failed, but for bit 6 of `marks`, 32, which stays: a redirect has answered its request. `createdAt` and `home` stay. Capacity has no say: they were accepted. The new deadline is the least of its policy's
   * `totalBudgetMs` from now and, with a key and without `acceptDuplicateRisk`, `keyTtlMs` from its first attempt,
   * the first that was ever claimed (none: no such limit), and `expiresAfterMs` from its `createdAt`, or, in a record without that, a deadline
   * that was 'expired' before. `deadlineReason` says which.
   * 'key_expired': the key's has passed. 'untold': its end is to be reported first, and would be lost (`untold`). 'gone': no dead letter.
   * `policies`: a task whose `policyId` is among them takes that one.
   */
  redrive(
    taskIds: readonly string[],
    options: {
      readonly spacingMs: number
      readonly acceptDuplicateRisk: boolean
      readonly policies?: readonly RetryPolicy[]
    },
  ): Promise<readonly ('redriven' | 'key_expired' | 'untold' | 'gone')[]>

  /**
   * Makes tasks that wait for their own curve due now, in one lane or in all. A wait that a server asked for (`serverMs`) is kept,
   * and so are holds, orders and parking. Resolves with the number of tasks that are due earlier than before.
   */
  flush(lane?: string): Promise<number>

  /**
   * Makes the parked tasks that fit the filter due now, but no earlier than a server asked. Resolves with their number. Rejects
   * with a TypeError where a part of the filter is there and undefined. Absent: a parked task is due after its `delayMs`.
   */
  unpark?(filter: { readonly principal?: string | null; readonly lane?: string }): Promise<number>

  /**
   * Makes these PENDING tasks due in `inMs`, whole milliseconds, earlier or later than they were, but no earlier than a server asked, and no longer
   * parked. Behind others of its order a task keeps its place, and is due then once those have ended. 'gone': not here, ended, in flight
   * or unreadable. Rejects with a RangeError or TypeError where `inMs` is no such number. Absent: a task is due when its curve or its caller said.
   */
  due?(taskIds: readonly string[], inMs: number): Promise<readonly ('due' | 'gone')[]>

  /** undefined: there is none. */
  body(taskId: string): Promise<Uint8Array | undefined>
  /** The task that keeps this key: the one with the highest `taskId`, of `principal` where it is given. */
  find(idempotencyKey: string, principal?: string | null): Promise<StoredTask | undefined>
  get(taskId: string): Promise<StoredTask | undefined>
  /**
   * By rising `taskId`, those above `cursor`, or with `order` 'falling' by falling `taskId`, those below it; `cursor` is given while there
   * are more, or may be. A page looks at no more than `LIST_LOOKED_AT` tasks, and with `principal` at none of another principal: so it
   * may hold fewer than `limit`, or none, and the list goes on at its cursor. Only a page without `cursor` is the last. A filter that is
   * undefined is refused, as with `unpark`.
   */
  list(filter: TaskFilter): Promise<{ readonly tasks: readonly StoredTask[]; readonly cursor?: string }>
  /** In the order in which they came, the last 100. A log with neither status nor error was never sent and is not among them. `cursor` is the store's own. */
  attempts(
    taskId: string,
    page: { readonly limit: number; readonly cursor?: string },
  ): Promise<{ readonly attempts: readonly AttemptLog[]; readonly cursor?: string }>
  /**
   * The history of the task, for people who ask, in the order of events: `attempts`, and among them the last 50 of the
   * notes. A note is a log with neither status nor error, as `enqueue` or a settlement has given it; or what the store did
   * of its own: 'redriven' with each redrive; where a lease ran out or was taken back 'lost' (its `marks` then have bit 3, 8: no answer); and where a task ended in
   * another way than the settlement's `log.kind` says, or without a settlement, 'cancelled', or 'exhausted' with
   * `data.reason`. Logs are kept whole, with fields that are not known here. With `most`, a whole number above 0: no more than so many attempts and so
   * many notes, the youngest of each. Absent: `attempts` has to do.
   */
  history?(taskId: string, most?: number): Promise<readonly AttemptLog[]>
  /** The clock by which its tasks become due, in epoch ms: for an instant that a caller names. Absent: the clock of the process is that one. */
  now?(): Promise<number>
  /** Kept as they change, O(1). Rows by status; purged counts those that were deleted, by `purge` or by retention. Their sum is what was ever accepted (S2). `bytes`: bodies of tasks pending, in flight or dead letters. */
  counts(): Promise<Counts>
  /**
   * Records that were put aside, since they cannot be read, as they lie there: for tools that mend or move them. `fields` is
   * in the store's own words and without bodies; other code may have written anything there. Absent: the store cannot show them.
   */
  unreadable?(page: {
    readonly limit: number
    readonly cursor?: string
  }): Promise<{ readonly records: readonly UnreadableRecord[]; readonly cursor?: string }>
  /**
   * The first `limit` of the tasks with `tells` that have ended and whose end was not reported: those that ended first come first, and of those that
   * ended at once those that were enqueued first. However it came: by a settlement, a deadline, a lease that ran out, `cancel`, a late success. `taskIds`: of
   * those of them alone. Absent, as in stores that are not for everyone: the store cannot.
   */
  untold?(limit: number, taskIds?: readonly string[]): Promise<readonly Untold[]>
  /**
   * These ends were reported. A task that has another end by now, or none, or is not here, stays as it is. An end is known by its
   * instant: one that the clock has moved since stays unreported, and is reported once more.
   */
  told?(ends: readonly { readonly taskId: string; readonly endedAt: number }[]): Promise<void>
  /**
   * The part of `counts` that is one principal's, for `stats()` of a queue; may cost as much as its lanes and dead letters. Absent:
   * a queue shows those of all principals.
   */
  countsOf?(principal: string | null): Promise<OwnCounts>
  /**
   * Deletes what fits all that is given, whatever its status. The next of an order gets its turn. Holds of lanes stay. Says how many.
   * Rejects with a TypeError or RangeError, and deletes nothing, where nothing is given, or something as undefined or under a
   * name that there is not: it may have been meant to be less.
   */
  purge(filter: {
    readonly taskId?: string
    readonly principal?: string | null
    readonly status?: TaskStatus
  }): Promise<number>
  /** `purge` of every task. */
  purgeAll(): Promise<number>
  /**
   * Wake-ups from other queues of this store, tabs or processes. Hints only: nothing depends on one arriving. After the step:
   * 'due' where a task became due earlier than it was, or was stored without a lease; 'settled' where one left IN_FLIGHT or ended; 'cancelled' where the end of
   * one in flight was asked for; 'changed', which gives a runner nothing to do, where a lease was given, or, without an id, where ended tasks were deleted. 'principal': the principal of all is another one now.
   */
  subscribe?(listener: (hint: Hint) => void): () => void
  /**
   * Homes: the runners whose callers wait, or that alone have a header of a task. While a home is live, others leave its tasks to it
   * (`skipHomes`): a response can be given only where its caller is. Absent: no other runner uses the store.
   */
  readonly homes?: {
    /** `owner` is a home for the next `forMs`; 0: no longer. */
    holdHome(owner: string, forMs: number): Promise<void>
    /** By name. */
    live(): Promise<readonly string[]>
    /** A home lasts until it is given up or its owner dies, and either is heard as 'due': it is not held anew, nor looked for. */
    readonly areHeard?: boolean
  }
  /** Elects the one runner, of those that share the store, that claims what has no live home. Absent: each of them does. */
  readonly leader?: Leader
  /** Carries messages between the processes of the store. Absent: it cannot. */
  readonly broadcast?: Broadcast
  /** Settings that all processes of a service share. Absent: the store keeps tasks and nothing else. */
  readonly registry?: Registry
  /** Scopes in which no process starts anything. Absent: a queue pauses for itself alone. */
  readonly pauses?: Pauses
  /** The principal that requests are made for now, wherever the store is used: one browser has one set of cookies. Absent: each runner knows by itself. */
  readonly principals?: Principals
  /**
   * Waited for before each turn: resolves once all that has happened by now has been reported, so that attempts that end together are settled
   * by one turn. For a store whose turns hold up the process. Absent: a turn is made at once, and what ends while it is under way goes
   * with the next.
   */
  gather?(): Promise<void>
  /**
   * Releases locks and channels at once: the page is frozen, or thrown away, at any moment from now on. The next call, of
   * whatever method, takes them up again.
   */
  suspend?(): void
  /**
   * Whether another process may have changed something since this was asked last, or has died: a look that costs next to nothing,
   * made every `idleCheckMs` in place of a turn. Absent: a turn looks.
   */
  hasChanged?(): Promise<boolean>
  /** How full the place is in which the store lies, by whatever else lies there. Absent: it has no such place. */
  room?(): Promise<StoreRoom>
  /** Closes files and connections; nothing is lost, and the next call opens them again. */
  close(): Promise<void>
}

/** The disk or the memory of a server in which a store lies. */
export interface StoreRoom {
  readonly of: 'disk' | 'memory'
  readonly usedBytes: number
  /** Absent: there is no limit. */
  readonly limitBytes?: number
  /** Why tasks that were accepted may be lost there, in words for an operator. */
  readonly unsafe?: string
}

/** A task whose end is to be reported, and when it ended. */
export interface Untold {
  readonly task: StoredTask
  /** By the store's clock. */
  readonly endedAt: number
}

/** The part of a store's counters that is one principal's; `pending`: without those that were put aside. */
export interface OwnCounts extends Pick<Counts, 'pending' | 'inFlight' | 'exhausted'> {
  /** Bodies of those that its quota counts. Absent: only stores for everyone keep it. */
  readonly bytes?: number
}

export interface Enqueued {
  readonly taskId: string
  readonly outcome: 'stored' | 'duplicate' | 'conflict' | 'unreadable' | 'full'
  /** With 'full': its principal's quota is met. Absent: the store has no room. */
  readonly of?: 'principal'
  readonly lease?: Lease
}
