/**
 * The part of a transaction that only stores for everyone have: who has how much, and which ends are to be reported. An interface without
 * code, since pages and Workers carry the commands too: a storage for everyone brings what stands behind it.
 */

import type { Claim } from '../../api/claim.ts'
import type { NewTask } from '../../api/records.ts'
import type { Enqueued } from '../../api/store.ts'
import type { Lane, Row } from './row.ts'

export interface Ledger {
  /** Counts `by` tasks like this one more, or fewer. */
  count(row: Row, by: 1 | -1): void
  /** The answer to a new task that is more than its principal may have; undefined: it is not. */
  refusal(task: NewTask): Enqueued | undefined
  /** The tag of a lane that was given a lease (see `turns.ts`). */
  tagAfter(lane: Lane): number
  /** Whether the line has gone past a lane that comes first in it. It has another turn then, which is still to come. */
  isLate(lane: Lane, rank: number): boolean
  /** A task has ended, or has another end. */
  ended(row: Row): void
  /** Whether the end of a dead letter is still to be reported. */
  isUnreported(row: Row): boolean
  /** Answers what a claim has to ask about lanes; undefined: nothing, since it has no limits, and no lane was put away for those of others. */
  gate(owner: string, claim: Claim): Gate | undefined
}

/** The limits of one claim, of origins and principals. */
export interface Gate {
  /** Whether a lane, or its origin, has to wait for a token. */
  lacksToken(lane: Lane): boolean
  /** Whether its origin or its principal has as much in flight as it may. */
  isFull(lane: Lane): boolean
  /**
   * Whether the origin or the principal of a lane that stands in line keeps it back, for as long as the claim lasts. It is then put where it
   * does not stand in the way of others any more.
   */
  parks(lane: Lane): boolean
  /** A lease of the lane was given. */
  took(lane: Lane): void
  /** Whether a limit keeps back what is due in a lane that was put away. */
  isBlocked(): boolean
  /** So many were put away that the claim looks no farther along the line: what is left of it is the next one's, at once. */
  readonly isTired: boolean
}
