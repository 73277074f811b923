/** A task as a store is given it, and as the store shows it. */

import type { RetryPolicy } from './policy.ts'
import type { AttemptLog, ExhaustedReason, JsonObject, Labels, TaskStatus } from './task.ts'

/** The highest version of `NewTask` that this code reads. A record with a higher one is left alone and counted (S20). */
export const RECORD_SCHEMA = 2
/** The version of a record without `senderData` and `tells`: earlier versions of this code read it too. */
export const PLAIN_SCHEMA = 1

export interface NewTask extends Labels {
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
  /**
   * The options that its own queue had for it, by name: 'credentials <origin>', 'header <name>' if its key goes out in another header than
   * `Idempotency-Key`, 'format sf-string' if its key goes out in quotes, and 'sign', in this order. A process without them leaves it to one that
   * has them; that format every process has. Absent: none.
   */
  readonly needs?: readonly string[]
  /** Resolved, whole: policyId is only its label. */
  readonly policy: RetryPolicy
  /** Least of budget, expiresAt, key lifetime; from the enqueue. Infinity: none. */
  readonly deadlineInMs: number
  /** The one of them that is least. @default 'total_budget' */
  readonly deadlineReason?: DeadlineReason
  /** The time from the call to its `expiresAt`: put back, it ends then, too. Absent: it has none. */
  readonly expiresAfterMs?: number
  /** The time since the call was made. @default 0 */
  readonly ageMs?: number
  readonly dueInMs: number
  /** The part of `dueInMs` that the server asked for. @default 0 */
  readonly serverMs?: number
  /** Attempts begun so far; above 0, the first of them counts as made with the call. */
  readonly attemptNumber: number
  /** Position in the window of spread waits, 0..2^32-1; -1: none yet. */
  readonly phase: number
  readonly previousDelayMs: number
  /** Bits of the core's own, and `MARK_ACCEPTED`. @default 0 */
  readonly marks?: number
  readonly priority: number
  /** One after another, within the principal. */
  readonly orderKey?: string
  /** The process whose caller waits, or that alone has a header of the task; else `homeOf` what the task needs. */
  readonly home: string | null
  /** The caller vouches: may be repeated without a key. */
  readonly idempotent?: boolean
  /** Facts that the sender keeps with the task beside the request, plain JSON. A store gives them back whole, for as long as the row lives, and reads nothing of them. */
  readonly senderData?: JsonObject
  /** Its end is to be reported: once ended it is among the untold, until `told` says so. A store without `untold` keeps the wish, and nothing else comes of it. */
  readonly tells?: true
  /** Stored whatever the quota of its principal, in which it counts. Kept no longer than the call. */
  readonly quotaExempt?: true
  /** The version that `schemaOf` gives. */
  readonly schema: number
  /** The wait that the answer to the call's own attempt asked of every caller: holds the lane if the task is stored, as a settlement's does. */
  readonly holdLaneForMs?: number
  /** The attempts made so far, where there are any. */
  readonly log?: readonly AttemptLog[]
}

/**
 * The bit of `marks` by which a store notes that another call than its first has enqueued the task, too: the leaving of the first one's
 * caller does not end it any more.
 */
export const MARK_ACCEPTED: number = 2 ** 30

export type DeadlineReason = 'total_budget' | 'expired' | 'key_expired'

export interface StoredTask
  extends Omit<
    NewTask,
    | 'body'
    | 'dueInMs'
    | 'serverMs'
    | 'deadlineInMs'
    | 'ageMs'
    | 'log'
    | 'holdLaneForMs'
    | 'quotaExempt'
    | 'marks'
    | 'deadlineReason'
  > {
  readonly status: TaskStatus
  readonly reason?: ExhaustedReason
  readonly createdAt: number
  /** null: in flight, ended, behind others, parked, or put aside. */
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

/** The version of a new record. A process that does not know of `senderData` or `tells` must neither send the task nor end it (S20). */
export const schemaOf = ({ senderData, tells }: Pick<NewTask, 'senderData' | 'tells'>): number =>
  senderData || tells ? RECORD_SCHEMA : PLAIN_SCHEMA

/** A record that cannot be read. `taskId`: '' where its id is no text. */
export interface UnreadableRecord {
  readonly taskId: string
  readonly fields: Readonly<Record<string, unknown>>
}

/** The home of a task that no caller waits for: those that need something stand apart, for claims to pass over. */
export const homeOf = (needs: readonly string[]): string | null =>
  needs.length > 0 ? `${NEEDS}${needs.join(', ')}` : null

const NEEDS = 'needs '
export const isHomeOfNeeds = (home: string | null): boolean => home?.startsWith(NEEDS) === true
/** Whether a process has to be there: its caller waits, or it alone has a header of the task. */
export const isHomeOfProcess = (home: string | null): boolean => home !== null && !isHomeOfNeeds(home)

/** How a lane is called: origins hold no space, and `null` is not the principal ''. */
export function laneName(principal: string | null, origin: string): string {
  return principal === null ? origin : `${origin} ${principal}`
}

/** The principal of a lane, by its name. */
export function principalIn(lane: string): string | null {
  const at = lane.indexOf(' ')
  return at < 0 ? null : lane.slice(at + 1)
}

/** The origin of a lane, by its name. */
export function originIn(lane: string): string {
  const at = lane.indexOf(' ')
  return at < 0 ? lane : lane.slice(0, at)
}
