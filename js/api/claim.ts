/** A request for leases: what a runner asks of a store. */

/** A limit of what a claim may take of a lane. */
export interface Bound {
  /**
   * Its name. In a store for everyone an origin, and the limit is one of all its lanes together: what a claim took of one of them counts for the
   * others. `leastTried` and `untried` go for each lane of it by itself.
   */
  readonly lane: string
  /** At most so many. 0: it may start none. */
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
 * A limit of what may begin and run at some origins, over all processes, in a store for everyone. Of several that fit an origin the most exact
 * holds, and no other: one that names it, then the longest.
 */
export interface OriginLimit {
  /** An exact origin, or one whose host begins with `*.`: every host below it, at that scheme and port. */
  readonly origins: string
  /**
   * Leases that a claim may give per second, by tokens (GCRA): in any window of W seconds no more than `burst` and W times this, whatever the
   * clock does. From one to the next counted in steps of 1/2048 ms, rounded up. 1 a day to 1,000,000. Absent: as many as there are.
   */
  readonly perSecond?: number
  /** Leases that may be given at once after a rest. 1 to 1,000,000. @default 1 */
  readonly burst?: number
  /** Most in flight. 1 to 1,000,000. Absent: `perLane` alone. */
  readonly concurrency?: number
  /** 'origin': all lanes of an origin together; 'lane': each by itself. @default 'lane' */
  readonly sharedBy?: 'lane' | 'origin'
}

/**
 * A request for leases. Among due tasks, of lanes that are not held, in this order: higher `priority`, then the lane that was served longest
 * ago (never: first), then due first, then lane by name; within a lane higher `priority`, then due first, then enqueued first. A task
 * past its deadline ends instead, with its `deadlineReason`, one with all its policy's attempts counted 'max_attempts', and the next is looked
 * at; that is no serving. Where more than `SWEEP` lanes come due at one moment, a turn may leave those due later to the next, which
 * `nextInMs` asks for at once. Served is a lane with each lease, those of `enqueue` too; a lane that has no task left, of whatever
 * status, was never served.
 *
 * In a store for everyone it is the lane with the earliest turn instead: turns go round principals, and of each principal round its lanes. A
 * principal that had nothing due has missed its turns, and is not given more later; `engine/turns.ts` has the rule.
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
  /**
   * Tasks whose `home` is one of these, and not the owner, are left to it. So are those of homes that are live at the claim, where a store knows
   * that without being asked: one may have come since `homes.live`.
   */
  readonly skipHomes: readonly string[]
  /** Homes whose needs (`homeOf`) the owner has: tasks of other such homes are left alone. Absent: all. */
  readonly supplied?: readonly string[]
  /** Only tasks whose `home` is the owner. */
  readonly ownHomeOnly?: boolean
  /**
   * Limits of origins. No say but in a store for everyone.
   *
   * A lease of a lane that has a rate takes a token, and with it is written down when the next one may be taken, for as long as the store
   * keeps the lane, or the origin that shares it. Until then a lane is held, for every claim and every `enqueue`, but its `heldForMs` does not tell; an origin keeps back what
   * is due in its lanes, for claims with a limit that it shares. A token that was taken stays taken, whatever becomes of the attempt; leases of `enqueue` take none.
   */
  readonly limits?: readonly OriginLimit[]
  /** Most in flight of one principal, over all its lanes and all processes. No say but in a store for everyone. */
  readonly perPrincipal?: number
  /**
   * Leaves places for others, however much one principal takes. No say but in a store for everyone. 1 to 1,000. Absent: none are left.
   *
   * A principal that has a place is given another one only while it has fewer than this many times those that are free beside one: at 4, one
   * alone has 16 of 20. At an origin, where the claim may take so many more, this holds of a lane that has half of `perLane`; and
   * one that has a quarter is not given the last place there.
   *
   * Source: dynamic queue length thresholds (Choudhury and Hahne, IEEE/ACM Transactions on Networking 6(2), 1998).
   */
  readonly perFree?: number
}
