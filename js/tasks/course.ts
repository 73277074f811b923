/**
 * The part of a task that it has once something has come of it: a caller, an attempt, a lease, an end. Of tasks that
 * wait, there may be a million, and they share one that says that nothing has.
 */

import type { TaskOutcome } from '../api/methods.ts'
import type { StoredTask } from '../api/store.ts'
import type { ExhaustedReason, Labels } from '../api/task.ts'
import type { Finished } from '../call/attempt.ts'
import type { Call } from '../call/call.ts'
import type { RepeatAnswer } from '../call/transport.ts'
import type { HistoryEntry } from './history.ts'

/** A caller that waits for the answer. */
export interface Waiter {
  resolve(value: unknown): void
  reject(error: unknown): void
  /** The call of one who joined. */
  readonly call?: Call
  /** Gives one who joined its own answer, else `error`. */
  end?(error?: unknown): void
}

/** The parts of a request that may be seen, as the core says; made once for all to whom the task is shown. */
export interface Shown {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly withheld: readonly string[]
}

/** A store's lease, as the process that has it keeps it. */
export interface HeldLease {
  readonly token: number
  readonly forMs: number
  /** End of the lease on the queue's clock, counted from before the claim. */
  endsAt: number
  renewAt: number
  /** The request has left: the server may have it. */
  isSent?: boolean
  /** Given back, the task waits for its missing credentials. */
  parks?: boolean
  /** The reason why the task ends, where the core is not asked. */
  reason?: ExhaustedReason
  /** Error that the task ends with, if the store agrees that it is this runner's to end. */
  damage?: unknown
  /** Another process may have the task by now: only a success is worth telling. */
  lost?: boolean
}

/** The parts of a call that an ended task is still known by. */
export type Kept = Pick<Call, 'method' | 'url' | 'origin' | 'principal' | 'key' | 'fingerprint' | 'sender'> & {
  readonly policy: { readonly policyId: string }
  readonly options: Labels
}

const NONE: readonly Waiter[] = []

export class Course {
  /** Where the task itself does not tell. */
  createdAt: number | undefined
  attemptNumber = 0
  attempt: { abort(reason?: unknown): void } | undefined
  overlay: Headers | null = null
  last: Pick<Finished<RepeatAnswer>, 'answer' | 'error' | 'status'> | undefined
  lastStatus = 0
  /** One line, or several. */
  lines: HistoryEntry | readonly HistoryEntry[] | undefined
  waiter: Waiter | undefined
  waitUntil: number | undefined
  joined: readonly Waiter[] = NONE
  unlink: (() => void) | undefined
  outcome: { readonly promise: Promise<TaskOutcome>; readonly resolve: (outcome: TaskOutcome) => void } | undefined
  shown: Shown | undefined
  target: string | undefined
  record: StoredTask | undefined
  lease: HeldLease | undefined
  reason: ExhaustedReason | undefined
  endedAt = 0
  kept: Kept | undefined
}
