/** The numbers that `stats()` gives, and those of a queue that never had to keep a call. */

import type { CircuitState, Gate } from './task.ts'

export interface OriginStats {
  readonly depth: number
  readonly inFlight: number
  /** OPEN until its time is up, then HALF_OPEN, though no attempt has come since. */
  readonly circuit: CircuitState
  /** When the hold that its server asked for ends, in epoch milliseconds. null: there is none, or it is over. */
  readonly heldUntilAt: number | null
  /** Until when its circuit breaker or its ramp starts no retry, in epoch milliseconds. null: one may start, or the end of an attempt under way decides. */
  readonly shutUntilAt: number | null
  /** Tokens left of its retry budget; Infinity where there is none. */
  readonly retryBudget: number
  /** The first gate that keeps a due retry from starting, as `explain` names it. Absent: none does. */
  readonly gate?: Gate
  /** When that gate opens if nothing changes, in epoch milliseconds. null: no time is known. Absent as `gate` is. */
  readonly gateUntilAt?: number | null
}

export interface QueueStats {
  /** Tasks waiting or in flight; stored ones that cannot be read do neither, see `unreadable`. */
  readonly depth: number
  readonly capacity: number
  readonly inFlight: number
  readonly deadLetters: number
  /** Calls answered with a success at once; they never became a task. */
  readonly firstAttemptSucceeded: number
  readonly succeeded: number
  readonly exhausted: number
  readonly cancelled: number
  /** Every request sent, first attempts included. */
  readonly attempts: number
  /** When the next attempt may start, in epoch milliseconds. null: nothing waits for time, everything is paused, or the host is offline. */
  readonly nextAttemptAt: number | null
  /** Stored tasks that cannot be read, and were put aside: see `unreadable_record`. Absent: none. */
  readonly unreadable?: number
  /**
   * The options that due stored tasks need and this queue lacks, by name: 'sign', 'credentials <origin>', or 'header <name>' for the
   * `idempotency.header` of their keys. The tasks are left to a process that has them; `degraded` says so once. Absent: none, at the last look.
   */
  readonly lacking?: readonly string[]
  /**
   * Since when the store's turns fail, in epoch milliseconds: what is stored is kept, and nothing of it is sent; `degraded` says why.
   * Absent: they do not.
   */
  readonly storeFailingSinceAt?: number
  /** Answers whose Retry-After could not be read; the curve's wait was taken instead. */
  readonly unusableRetryAfter: number
  /** At most 1,000: those with tasks, a hold or a circuit that is not closed come first. Origins with nothing to remember are forgotten. */
  readonly origins: Readonly<Record<string, OriginStats>>
  /** Origins that `origins` has no room for. Absent: none. */
  readonly moreOrigins?: number
}

/** The stats without those that the queue counts by itself. */
export type RunnerStats = Omit<QueueStats, 'capacity' | 'firstAttemptSucceeded' | 'attempts'>

/** The stats that the core knows: tasks that wait or run, by origin. */
export type HeldStats = Pick<
  QueueStats,
  'depth' | 'inFlight' | 'nextAttemptAt' | 'unusableRetryAfter' | 'origins' | 'moreOrigins'
>

/** Before there is a runner. Every page loads it, so it is kept apart from the code that fills it in. */
export const emptyStats: RunnerStats = {
  depth: 0,
  inFlight: 0,
  nextAttemptAt: null,
  unusableRetryAfter: 0,
  origins: {},
  deadLetters: 0,
  succeeded: 0,
  exhausted: 0,
  cancelled: 0,
}
