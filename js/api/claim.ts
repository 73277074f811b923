/** A request for leases: what a runner asks of a store. */

/** A limit of what a claim may take of a lane. */
export interface Bound {
  /**
   * Its name. In a store for everyone an origin, and the limit is one of all its lanes together: what a claim took of one of them counts for the
   * others. `leastTried` and `untried` go for each lane of it by itself.
   */
  readonly lane: string
  /** At most so many. 0: it is shut. */
  readonly max: number
  /**
   * The next attempt is to show how the lane's server does: of its first `LOOKED_AT` due tasks of the highest priority (of those
   * that are not left to a home) the one with the fewest attempts comes first, and of several the first. Absent: the first.
   */
  readonly leastTried?: true
  /** Retries cannot pay: only those of its first `LOOKED_AT` due tasks of the highest priority that have no attempt counted. */
  readonly untried?: true
}

/**
 * A request for leases. Among due tasks, of lanes that are not held, in this order: higher `priority`, then the lane that was served longest
 * ago (never: first), then due first, then lane by name; within a lane higher `priority`, then due first, then enqueued first. A task
 * past its deadline ends instead, with its `deadlineReason`, one with all its policy's attempts counted 'max_attempts', and the next is looked
 * at; that is no serving. Where more than `SWEEP` lanes come due at one moment, a turn may leave those due later to the next, which
 * `nextInMs` asks for at once. Served is a lane with each lease, those of `enqueue` too; a lane that has no task left, of whatever
 * status, was never served.
 */
export interface Claim {
  readonly limit: number
  readonly leaseMs: number
  /** Most in flight over all processes, and most in one lane. */
  readonly total: number
  readonly perLane: number
  /** 'any': all of the principal. A list names lanes, in a store for everyone too. */
  readonly lanes: readonly { readonly lane: string; readonly max: number }[] | 'any'
  /** With 'any': lanes of which less may be claimed now. */
  readonly bounds?: readonly Bound[]
  /** With 'any': most that may be claimed of each lane that `bounds` does not name; in a store for everyone, of each such origin. @default no limit */
  readonly otherMax?: number | undefined
  /** No say in a store for everyone. */
  readonly principal: string | null
  /** Tasks whose `home` is one of these, and not the owner, are left to it. */
  readonly skipHomes: readonly string[]
  /** Homes whose needs (`homeOf`) the owner has: tasks of other such homes are left alone. Absent: all. */
  readonly supplied?: readonly string[]
  /** Only tasks whose `home` is the owner. */
  readonly ownHomeOnly?: boolean
}
