/** Ends that are to be told, in a store for everyone, and those that were. */

import type { Untold } from '../../api/store.ts'
import { show } from './reads.ts'
import type { Row, Rows } from './rows.ts'

export const showEnd = (row: Row): Untold => ({ task: show(row), endedAt: row.endedAt })

export function markTold(rows: Rows, ends: readonly { readonly taskId: string; readonly endedAt: number }[]): void {
  for (const { taskId, endedAt } of ends) {
    const row = rows.get(taskId)
    if (row?.endedAt === endedAt) row.told = true
  }
}
