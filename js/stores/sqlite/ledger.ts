/** The ledger of a file for everyone. */

import { PLAIN_SCHEMA } from '../../api/records.ts'
import type { TaskRow } from '../sql/rows.ts'
import type { SqlLedger, Transaction } from '../sql/transaction.ts'
import { markTelling, markUntold, OUTLIVED } from './untold.ts'

/** Layout 6, of a file alone: which ends are to be told. */
export const LEDGER: string = `
ALTER TABLE tasks ADD COLUMN tells INTEGER NOT NULL DEFAULT 0;
`

export class FileLedger implements SqlLedger {
  readonly outlived: string = OUTLIVED
  readonly #tx: Transaction

  constructor(tx: Transaction) {
    this.#tx = tx
  }

  inserted(row: TaskRow): void {
    if (row.schema > PLAIN_SCHEMA) markTelling(this.#tx, row)
  }

  ended(row: TaskRow): void {
    if (row.schema > PLAIN_SCHEMA) markUntold(this.#tx, row)
  }
}
