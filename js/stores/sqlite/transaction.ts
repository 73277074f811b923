/** A transaction of a file. One for everyone keeps a ledger beside tasks and lanes. */

import type { StoreTerms } from '../../api/store.ts'
import type { Outlived, Tx } from '../engine/port.ts'
import type { Owned } from '../engine/sweep.ts'
import type { Database } from '../sql/database.ts'
import type { TaskRow } from '../sql/rows.ts'
import { type State, StoreClock } from '../sql/state.ts'
import { ENDED } from '../sql/tables.ts'
import { type LineupOf, Transaction } from '../sql/transaction.ts'
import { FileLedger } from './ledger.ts'
import { shiftTokens } from './tokens.ts'
import { OUTLIVED } from './unreported.ts'

/** Each status that there is, whatever other code has written there, by the first step of an index: by status and principal the tasks of one are found. */
const STATUSES = `WITH RECURSIVE found (status) AS (
    SELECT min(status) FROM tasks INDEXED BY tasks_own
    UNION ALL
    SELECT (SELECT min(status) FROM tasks INDEXED BY tasks_own WHERE status > found.status) FROM found WHERE status IS NOT NULL
  ) SELECT status FROM found WHERE status IS NOT NULL`

export class FileTransaction extends Transaction {
  override readonly ledger: FileLedger | undefined = undefined

  constructor(database: Database, clock: FileClock, terms: StoreTerms, lineupOf: LineupOf) {
    super(database, clock, terms, lineupOf)
    if (!this.lineup.everyone) return
    this.ledger = new FileLedger(this)
    if (clock.shiftedMs !== 0) shiftTokens(database, clock.shiftedMs)
  }

  override oldest(kind: Outlived, most: number): TaskRow[] {
    return super.oldest(kind, most, this.lineup.everyone ? `${ENDED}${OUTLIVED}` : ENDED)
  }

  protected override owned(isLetter: 0 | 1, most: number): Owned<string | null> {
    return this.ledger?.owned(isLetter === 1 ? 'dead' : 'done', most) ?? super.owned(isLetter, most)
  }

  override eachOf(filter: Parameters<Tx['eachOf']>[0], work: (rows: readonly TaskRow[]) => void): undefined {
    const isOwn = filter.principal !== undefined && filter.taskId === undefined && filter.status === undefined
    super.eachOf(filter, work, isOwn ? `status IN (${STATUSES})` : undefined)
  }

  override written(): void {
    super.written()
    this.ledger?.written()
  }
}

/** The clock of a file, which says how far it has fallen back with the transaction that has just begun. */
export class FileClock extends StoreClock {
  shiftedMs = 0

  override read(state: State): ReturnType<StoreClock['read']> {
    const time = super.read(state)
    this.shiftedMs = time.shiftMs
    return time
  }
}
