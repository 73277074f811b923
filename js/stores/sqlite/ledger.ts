/** The ledger of a file for everyone. */

import { type NewTask, PLAIN_SCHEMA } from '../../api/records.ts'
import type { TaskRow } from '../sql/rows.ts'
import type { SqlLedger, Transaction } from '../sql/transaction.ts'
import { SHARES, Shares, shareOfPrincipal } from './shares.ts'
import { markTelling, markUntold, OUTLIVED } from './untold.ts'

/** Layout 6, of a file alone: which ends are to be told, and who has how much. */
export const LEDGER: string = `
ALTER TABLE tasks ADD COLUMN tells INTEGER NOT NULL DEFAULT 0;
${SHARES}`

export class FileLedger implements SqlLedger {
  readonly outlived: string = OUTLIVED
  readonly #tx: Transaction
  readonly #shares: Shares

  constructor(tx: Transaction) {
    this.#tx = tx
    this.#shares = new Shares(tx.database)
  }

  count(row: TaskRow, by: 1 | -1): void {
    this.#shares.count(row, by)
  }

  isOverQuota({ principal, body }: NewTask): boolean {
    const quota = this.#tx.terms.quotaOf?.(principal)
    if (!quota) return false
    const { capacity = Number.POSITIVE_INFINITY, capacityBytes = Number.POSITIVE_INFINITY } = quota
    const { held, bytes } = this.#shares.of(shareOfPrincipal(principal))
    return held >= capacity || bytes + (body?.byteLength ?? 0) > capacityBytes
  }

  inserted(row: TaskRow): void {
    if (row.schema > PLAIN_SCHEMA) markTelling(this.#tx, row)
  }

  ended(row: TaskRow): void {
    if (row.schema > PLAIN_SCHEMA) markUntold(this.#tx, row)
  }

  written(): void {
    this.#shares.write()
  }
}
