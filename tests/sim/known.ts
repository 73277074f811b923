/** A task and a lane as the book has them. */

import type { TaskStatus } from '../../js/api/task.ts'

export type { Principal } from './scenario.ts'

export interface Known {
  readonly taskId: string
  readonly intent: string
  readonly principal: string | null
  readonly lane: string
  readonly origin: string
  readonly key: string | null
  readonly fingerprint: string
  readonly orderKey: string | undefined
  readonly policyId: string
  /** Who waits for it. */
  readonly home: string | null
  maxAttempts: number
  seq: number
  status: TaskStatus | 'PURGED'
  /** Counted and not given back. */
  attempts: number
  refunds: number
  token: number
  /** Process that has the lease, and until when. */
  holder: string
  leaseUntil: number
  /** In time that really passed: when the lease was last given or renewed. */
  leasedAt: number
  leaseMs: number
  cancelRequested: boolean
  parked: boolean
  redriven: boolean
  /** Not before. */
  dueAt: number
  /** The same in time that really passed, as a timer that was armed for it has it; and when that was set. */
  dueElapsed: number
  setAt: number
  /** Nor, whatever people order, before. */
  floorAt: number
  settledBy: number
}

export interface LaneHold {
  heldUntil: number
  /** In time that really passed: until when it was to be held, and when that was said. */
  untilElapsed: number
  setAt: number
  /** No renewal passes this, nor in time that really passed the other. */
  endsBy: number
  endsByElapsed: number
  /** It was held, and nothing was claimed there since: the next hold may be refused. */
  owesChance: boolean
}

export type Order = Pick<Known, 'principal' | 'orderKey'>

export function sameOrder(a: Order, b: Order): boolean {
  return a.orderKey !== undefined && a.orderKey === b.orderKey && a.principal === b.principal
}
