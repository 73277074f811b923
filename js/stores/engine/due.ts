/** Run now, or later: the command that gives a task that waits another due time. Apart from the others, since pages do without. */

import type { TaskStore } from '../../api/store.ts'
import { checkDue } from '../filters.ts'
import { hint } from './change.ts'
import type { Tx } from './port.ts'
import type { Step } from './step.ts'
import type { Backend } from './store.ts'

type Due = Required<TaskStore>['due']

export const dueOf =
  <D>(backend: Backend<D>): Due =>
  async (taskIds, inMs) => {
    checkDue(inMs)
    return backend.write((tx) => makeDueIn(tx, taskIds, inMs), {})
  }

function* makeDueIn(tx: Tx, taskIds: readonly string[], inMs: number): Step<Awaited<ReturnType<Due>>> {
  yield tx.load(taskIds)
  return taskIds.map((taskId) => {
    const row = tx.row(taskId)
    if (row?.status !== 'PENDING' || row.aside || !tx.show(row)) return 'gone'
    const at = Math.max(tx.now + inMs, row.serverAt)
    if (row.behind !== 1) {
      if (row.dueAt === null || at < row.dueAt) hint(tx, 'due')
      row.dueAt = at
    }
    row.parkedIn = null
    row.turnAt = at
    tx.save(row)
    return 'due'
  })
}
