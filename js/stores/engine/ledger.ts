/**
 * The part of a transaction that only stores for everyone have: who has how much, and which ends are to be told. An interface without
 * code, since pages and Workers carry the commands too: a storage for everyone brings what stands behind it.
 */

import type { NewTask } from '../../api/records.ts'
import type { Row } from './row.ts'

export interface Ledger {
  /** Counts `by` tasks like this one more, or fewer. */
  count(row: Row, by: 1 | -1): void
  /** Whether a new task is more than its principal may have. */
  isOverQuota(task: NewTask): boolean
  /** A task has ended, or has another end. */
  ended(row: Row): void
}
