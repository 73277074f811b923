/** Ends that are to be reported, in a file for everyone: a mark of each task, and an index of those whose end was not reported. */

import { type TaskStore, UNTOLD_COUNTED, type Untold } from '../../api/store.ts'
import { storedTask } from '../engine/shown.ts'
import { type Database, LIMIT } from '../sql/database.ts'
import { allFound, type TaskRow } from '../sql/rows.ts'
import type { Transaction } from '../sql/transaction.ts'

/** The values of the column `tells`; 0: it has not ended, or its end is not to be reported. */
const TELLS = 1
const REPORTED = 2

const IS_UNREPORTED = `tells = ${TELLS} AND endedAt IS NOT NULL AND aside = 0`
const UNREPORTED = `FROM tasks INDEXED BY tasks_untold WHERE ${IS_UNREPORTED}`

/** Retention finds what it may delete without a step for each task that it may not. */
export const OUTLIVED: string = ` AND tells <> ${TELLS}`

/** The indexes of ended tasks as a file for everyone has them, and as others do. */
export const endedIndexes = (everyone: boolean): readonly string[] => [
  'DROP INDEX IF EXISTS tasks_ended',
  `CREATE INDEX tasks_ended ON tasks (status = 'EXHAUSTED', endedAt, seq)
    WHERE endedAt IS NOT NULL AND aside = 0${everyone ? OUTLIVED : ''}`,
  'DROP INDEX IF EXISTS tasks_ended_own',
  `CREATE INDEX tasks_ended_own ON tasks (status = 'EXHAUSTED', principal, endedAt, seq)
    WHERE endedAt IS NOT NULL AND aside = 0${everyone ? OUTLIVED : ''}`,
  'DROP INDEX IF EXISTS tasks_untold',
  ...(everyone ? [`CREATE INDEX tasks_untold ON tasks (endedAt, seq) WHERE ${IS_UNREPORTED}`] : []),
]

/** Marks a task that has ended, or that has another end, as one that tells, where its record says so. */
export function markUnreported(tx: Transaction, { row, record }: Pick<TaskRow, 'row' | 'record'>): void {
  if ((JSON.parse(record) as { readonly tells?: true }).tells)
    tx.run(`UPDATE tasks SET tells = ${TELLS} WHERE row = ?`, row)
}

export const isUnreported = (database: Database, { row }: Pick<TaskRow, 'row'>): boolean =>
  database.one(`SELECT 1 FROM tasks WHERE row = ? AND ${IS_UNREPORTED}`, row) !== undefined

/** The file, as far as it is asked here. */
interface Asked {
  read<T>(work: (database: Database) => T): Promise<T>
  write<T>(work: (tx: Transaction) => T): Promise<T>
}

export const unreportedOf = (file: Asked): Pick<Required<TaskStore>, 'untold' | 'told'> => ({
  untold: (limit, taskIds) =>
    file.read((database) => (taskIds ? unreportedAmong(database, limit, taskIds) : unreported(database, limit))),
  told: (ends) =>
    file.write((tx) => {
      for (const { taskId, endedAt } of ends)
        tx.run(
          `UPDATE tasks SET tells = ${REPORTED} WHERE id = ? AND endedAt = ? AND tells = ${TELLS}`,
          taskId,
          endedAt,
        )
    }),
})

/** One that cannot be read is reported by `unreadable`, and keeps no other from being found. */
function unreported(database: Database, limit: number): Untold[] {
  const found: Untold[] = []
  const page = `SELECT * ${UNREPORTED} ORDER BY endedAt, seq ${LIMIT} OFFSET ?`
  for (let from = 0; found.length < limit; from += limit) {
    const rows = allFound(database, page, limit, from)
    for (const row of rows) {
      const task = storedTask(row)
      if (task && row.endedAt !== null && found.length < limit) found.push({ task, endedAt: row.endedAt })
    }
    if (rows.length < limit) break
  }
  return found
}

function unreportedAmong(database: Database, limit: number, taskIds: readonly string[]): Untold[] {
  const wanted = `SELECT * FROM tasks WHERE id = ? AND ${IS_UNREPORTED}`
  const rows = [...new Set(taskIds)].flatMap((taskId) => allFound(database, wanted, taskId))
  rows.sort((a, b) => (a.endedAt ?? 0) - (b.endedAt ?? 0) || a.seq - b.seq)
  return rows.slice(0, Math.max(0, limit)).flatMap((row) => {
    const task = storedTask(row)
    return task && row.endedAt !== null ? [{ task, endedAt: row.endedAt }] : []
  })
}

/** How many ends are to be reported, as far as a turn counts them. */
export const unreportedCount = (database: Database): number =>
  database.one<{ readonly n: number }>(`SELECT count(*) AS n FROM (SELECT 1 ${UNREPORTED} LIMIT ${UNTOLD_COUNTED})`)
    ?.n ?? 0
