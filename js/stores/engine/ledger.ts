/**
 * The part of a transaction that only stores for everyone have: which ends are to be told. An interface without code,
 * since pages and Workers carry the commands too: a storage for everyone brings what stands behind it.
 */

import type { Row } from './row.ts'

export interface Ledger {
  /** A task has ended, or has another end. */
  ended(row: Row): void
}
