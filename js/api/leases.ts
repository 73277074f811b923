/** The words in which a store gives a task to a runner for a while, and in which the runner tells what came of it. */

import type { AttemptLog, ExhaustedReason } from './task.ts'

/** A fencing token: those of a store rise in the order in which leases are given, from 1 and by 1, but where another server of the store has taken over: then it may leave some out. Never an instant. */
export interface Lease {
  readonly taskId: string
  readonly token: number
  readonly forMs: number
}

/** The core's own numbers of a task, given back with its next claim. */
export interface Carry {
  /** Position in the window of spread waits, 0..2^32-1; -1: none yet. */
  readonly phase: number
  readonly previousDelayMs: number
  /** Bits of the core's own. */
  readonly marks: number
}

export interface Settlement {
  readonly lease: Lease
  /** The log of an attempt, or of one that was given back before it left. */
  readonly log: AttemptLog
  /** Time for which the server's answer holds the other tasks of the lane, as it was asked for: the store limits it (see Holds in `store.ts`). */
  readonly holdLaneForMs?: number
  readonly next:
    | { readonly kind: 'succeeded' }
    /** PENDING, due in `delayMs`; `serverMs` of it is what the server asked for. Without `carry`, `previousDelayMs` becomes `delayMs`. */
    | { readonly kind: 'retry'; readonly delayMs: number; readonly serverMs?: number; readonly carry?: Carry }
    /** `marks`: bits that are added to those of the task, for the day on which it goes back. */
    | { readonly kind: 'exhausted'; readonly reason: ExhaustedReason; readonly marks?: number }
    /**
     * PENDING again, due in `delayMs`. `refund`: the attempt was not one (credentials, offline, 401, pause, shutdown) and is no
     * longer counted; at most 20 times a task, later ones count. `offline`: there was no network, so it is given back whatever their number, and is
     * none of them. `park`: not due until `unpark`. Without `carry`, nothing of it changes.
     */
    | {
        readonly kind: 'release'
        readonly delayMs: number
        readonly refund: boolean
        readonly offline?: true
        readonly serverMs?: number
        readonly carry?: Carry
        readonly park?: boolean
      }
}
