/** One atomic step of a runner: what it asks of a store, and what it is answered. The parts are done in the order that `TaskStore.turn` gives. */

import type { Claim } from './claim.ts'
import type { Lease, Settlement } from './leases.ts'
import type { StoredTask } from './records.ts'

export interface Step {
  readonly owner: string
  readonly settle: readonly Settlement[]
  /** Holds that no settlement brings: heard by an attempt that is none of a stored task. */
  readonly hold?: readonly LaneHold[]
  readonly renew: readonly Lease[]
  readonly claim: Claim | null
  /** Absent: the runner knows of none. */
  readonly silence?: Silence
  /** The runner has seen lanes a moment ago: a turn may show none, which costs it less. */
  readonly isBrief?: true
}

/**
 * A time in which the store may have answered no runner, so that none could renew or settle. Leases that ended after `since` and before this step
 * are not taken back where the two are `SILENCE_MS` or more apart: they last for `graceMs` from now, so that their runners, who live, come first.
 */
export interface Silence {
  /** By the store's clock. The runner knows that the store answered, or was not asked, up to then. */
  readonly since: number
  readonly graceMs: number
}

/** A lane, with tasks in the store or without, is held for `forMs` from now, as a settlement's `holdLaneForMs` holds it. */
export interface LaneHold {
  readonly lane: string
  readonly forMs: number
}

export interface Turn {
  /** The store's clock. */
  readonly now: number
  /**
   * One for each `settle`, the first that fits:
   * - 'gone': not here, or unreadable.
   * - 'cancelled': it is CANCELLED already, which is final: its key may be another's. Or its end was asked for, this is no
   *   success, and the lease is still held: it is CANCELLED from now on.
   * - 'repeated': this token was the last to settle this task, or a success for one that has succeeded.
   * - 'stale': another token has the task, or its lease was taken back, and this is no success. Nothing is changed. (A success is 'applied'
   *   whichever token has the task by now, also to a dead letter: S4.)
   * - 'applied'. A lease that ran out and was not taken back yet is still held.
   *
   * Log and hold count with 'applied', and with 'cancelled' where the lease was held.
   */
  readonly settled: readonly ('applied' | 'repeated' | 'stale' | 'cancelled' | 'gone')[]
  /**
   * One for each `renew`: the lease ends `forMs` from now, also one that had run out and was not taken back yet. 'cancelled': it is
   * renewed, and the task's end was asked for: abort and settle. 'lost': another token has the task, or none.
   */
  readonly renewed: readonly ('renewed' | 'lost' | 'cancelled')[]
  readonly claimed: readonly ClaimedTask[]
  /** Ended in this step without a settlement, in the order of its parts: see `status` and `reason`. */
  readonly ended: readonly StoredTask[]
  /**
   * Lanes of the claim's principal (of all, in a store for everyone, or without a claim) that have a task in flight, or one pending that was not put aside, or are held; at most `LANES_SHOWN`, by `nextInMs` (null
   * last), then by name. Where the store has more lanes than that, a store may choose which it shows, those that are due first of all, and of a step that `isBrief` none. Lanes that the claim bounds to 0, or that are paused, are left out of a turn with a claim, and where its `lanes` is a list all that are not on it.
   */
  readonly lanes: readonly LaneView[]
  /**
   * The time until the next moment that calls for a turn; null: there is none. It is the first of: the next due time of a lane of
   * the claim that is neither bounded to 0 nor paused (or the end of its hold, if later), the end of any lease, and the first instant past the
   * deadline of any pending task. It is 0 where more tasks were due than `limit`, and in a
   * store for everyone it may be the moment of a lane that may start nothing, where `SHUT_LOOKED_AT` of them come before the others. A task that is due now does not count if only
   * limits, bounds or homes keep it back; a task that is due later counts, whatever its home. Where it is the token of its origin alone that a
   * task waits for, the moment of that counts, but need not while `total` is reached. Without a claim all lanes
   * count, and a task that is due now gives 0.
   */
  readonly nextInMs: number | null
  /**
   * A task is due that holds, tokens, bounds and homes would let start, and `total`, `perLane`, the `concurrency` of its origin, `perPrincipal` or `perFree` keeps it
   * back, whatever `limit` says. Where `nextInMs` is 0, what these last three keep back need not have been looked at.
   */
  readonly blockedByLimit: boolean
  /** The counters after this step, as `counts` gives them. Absent: the store has to be asked. */
  readonly counts?: Counts
  /** Dead letters that retention deleted in this step, in whatever order. Absent: none. */
  readonly trimmed?: readonly Trimmed[]
  /** Another principal is the current one, so the claim got nothing. */
  readonly isForeign?: boolean
  /** Ends that are to be reported (`TaskStore.untold`), after this step, counted up to `UNTOLD_COUNTED`. Absent: there are none, or the store cannot. */
  readonly untold?: number
  /** Records found in this step that cannot be read, and were put aside (S20). Absent: none, as with `trimmed`. */
  readonly unreadable?: number
}

/** A dead letter that was deleted, and whose it was. */
export interface Trimmed {
  readonly taskId: string
  readonly principal: string | null
}

export interface ClaimedTask {
  readonly task: StoredTask
  readonly lease: Lease
  /** When its own wait was over, whatever held its lane or stood before it. Absent: the store does not say. */
  readonly dueAt?: number
  /** Its body, where reading the task has read it too, as `body` gives it. Absent: `body` is asked. */
  readonly body?: Uint8Array
}

export interface LaneView {
  readonly lane: string
  /** Without those that were put aside. */
  readonly pending: number
  readonly inFlight: number
  /**
   * To its first due time, whatever its home, or to the end of its hold if later, or to its token, or with a claim that of its origin; null: none of
   * its tasks has one.
   */
  readonly nextInMs: number | null
  readonly heldForMs: number
}

/** The counters of a store, kept as they change: see `TaskStore.counts`. */
export interface Counts {
  readonly pending: number
  readonly inFlight: number
  readonly succeeded: number
  readonly exhausted: number
  readonly cancelled: number
  readonly purged: number
  readonly bytes: number
  /** Those of them that were put aside, since they cannot be read. Absent: none. Those of a turn never tell it. */
  readonly unreadable?: number
  /** Those of `pending` that were put aside: all others wait to be sent. Absent, and not in a turn: as `unreadable`. */
  readonly pendingAside?: number
}
