/** Ends that are to be reported, in a store for everyone, and those that were. */

import type { Untold } from '../../api/store.ts'
import { show } from './reads.ts'
import { isLive, type Row, type Rows } from './rows.ts'

/** Whether its end is to be reported, in a store for everyone. */
export const isUnreported = (row: Row): boolean => row.given.tells === true && !isLive(row) && !row.reported

/** Those that ended first come first. */
export function unreportedOf(rows: Rows, taskIds?: readonly string[]): Row[] {
  const among = taskIds ? [...new Set(taskIds)].flatMap((taskId) => rows.get(taskId) ?? []) : [...rows.all()]
  const found = rows.everyone ? among.filter(isUnreported) : []
  return found.sort((a, b) => a.endedAt - b.endedAt || a.seq - b.seq)
}

export const showEnd = (row: Row): Untold => ({ task: show(row), endedAt: row.endedAt })

export function markReported(rows: Rows, ends: readonly { readonly taskId: string; readonly endedAt: number }[]): void {
  for (const { taskId, endedAt } of ends) {
    const row = rows.get(taskId)
    if (row?.endedAt === endedAt) row.reported = true
  }
}
