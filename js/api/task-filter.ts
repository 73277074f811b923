/** The tasks that a store is asked to list. */

import type { ExhaustedReason, TaskStatus } from './task.ts'

export interface TaskFilter {
  readonly status?: TaskStatus
  /** PENDING and IN_FLIGHT. */
  readonly active?: true
  /** Those that have all of these. */
  readonly tags?: readonly string[]
  readonly principal?: string | null
  /** Those that were stored with this key, cancelled ones too. */
  readonly idempotencyKey?: string
  readonly origin?: string
  readonly policyId?: string
  /** The reason of a dead letter: no other task has one. */
  readonly reason?: ExhaustedReason
  /** Bounds of `taskId`, which begins with the time of its making (UUIDv7): `from` and above, and below `to`. */
  readonly from?: string
  readonly to?: string
  /** @default 'rising' */
  readonly order?: 'rising' | 'falling'
  readonly limit: number
  readonly cursor?: string
}
