/**
 * Gives the tasks of an earlier layout the checksums that a new one has from the start: from then on a row without is one that
 * was damaged, for SQLite reads a column as null where the head of a row is cut short.
 */

import { sumOfBytes, sumOfRequest } from '../engine/sums.ts'
import type { Database } from './database.ts'
import { tasksFrom } from './rows.ts'

const PIECE = 256

/** In the transaction that brings up the layout. */
export function addSums(database: Database): void {
  let last = 0
  for (let rows = tasksFrom(database, last, PIECE); rows.length > 0; rows = tasksFrom(database, last, PIECE)) {
    for (const row of rows) {
      last = row.row
      // that cannot be read anyhow
      if (row.isBroken) continue
      const body = database.bodyOf(row.row)
      const bodySum = body ? sumOfBytes(body) : null
      const requestSum = sumOfRequest({ ...row, bodySum }, [row.headers, row.record])
      database.run('UPDATE tasks SET bodySum = ?, requestSum = ? WHERE row = ?', bodySum, requestSum, row.row)
    }
  }
}
