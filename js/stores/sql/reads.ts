/** Questions: no transaction, each one statement (or two over rows that do not change). */

import { type Counts, LOG_LENGTH, RECORD_SCHEMA, type StoredTask, type TaskStore } from '../../api/store.ts'
import type { AttemptLog } from '../../api/task.ts'
import { countsWith } from '../engine/row.ts'
import { inOrder } from '../engine/rules.ts'
import { parsed, storedTask } from '../engine/shown.ts'
import { foundBody, soundLog } from '../engine/sound.ts'
import type { Reads } from '../engine/store.ts'
import { type Database, LIMIT, where } from './database.ts'
import { list } from './list.ts'
import { ownCounts } from './own-counts.ts'
import { allFound, rowById } from './rows.ts'
import { readState } from './state.ts'
import { NUMBERED } from './tables.ts'

const READABLE = `recordSchema <= ${RECORD_SCHEMA}`
const ROW = `SELECT row FROM tasks WHERE id = ? AND ${READABLE}`

function get(database: Database, taskId: string): StoredTask | undefined {
  const row = rowById(database, taskId)
  return row && storedTask(row)
}

/** A damaged index may lead to the row of another task, whose body is sound: the whole row is held against its sum first. */
function body(database: Database, taskId: string): Uint8Array | undefined {
  const row = rowById(database, taskId)
  return row?.taskId === taskId && storedTask(row) ? foundBody(database.bodyOf(row.row), row) : undefined
}

function find(database: Database, idempotencyKey: string, principal?: string | null): StoredTask | undefined {
  const { sql, values } = where(
    { 'idempotencyKey = ?': idempotencyKey, 'principal IS ?': principal },
    `(status = 'CANCELLED') = 0 AND ${READABLE}`,
  )
  for (const row of allFound(database, `SELECT * FROM tasks ${sql} ORDER BY id DESC`, ...values)) {
    const task = storedTask(row)
    if (task) return task
  }
  return undefined
}

function attempts(
  database: Database,
  taskId: string,
  { limit, cursor }: Parameters<TaskStore['attempts']>[1],
): Awaited<ReturnType<TaskStore['attempts']>> {
  const most = Math.max(1, limit)
  const rows = database.all<{ n: number; log: string }>(
    `SELECT n, log FROM attempts WHERE task = (${ROW}) AND ${NUMBERED} AND n > ? ORDER BY n ${LIMIT}`,
    taskId,
    Number(cursor ?? 0),
    most + 1,
  )
  const page = rows.slice(0, most)
  const last = rows.length > most ? page.at(-1)?.n : undefined
  const logs = page.flatMap(({ log }) => soundLog(parsed(log)) ?? [])
  return { attempts: logs, ...(last !== undefined && { cursor: String(last) }) }
}

type Noted = AttemptLog & { readonly after?: number }

function history(database: Database, taskId: string, most: number = LOG_LENGTH): readonly AttemptLog[] {
  const youngest = (which: string): { n: number; log: string }[] =>
    database.all(
      `SELECT n, log FROM attempts WHERE task = (${ROW}) AND ${NUMBERED} AND n ${which} ${LIMIT}`,
      taskId,
      Math.min(most, LOG_LENGTH),
    )
  const rows = [...youngest('<= 0 ORDER BY n'), ...youngest('> 0 ORDER BY n DESC').reverse()]
  const lines = rows.flatMap(({ n, log: text }) => {
    const log = soundLog(parsed(text)) as Noted | undefined
    return log ? [{ n, log }] : []
  })
  const attempts = lines.filter(({ n }) => n > 0)
  const notes = lines.filter(({ n }) => n <= 0).reverse()
  return inOrder(
    attempts[0]?.n ?? 1,
    attempts.map(({ log }) => log),
    notes.map(({ log: { after = 0, ...log } }) => ({ after, log })),
  )
}

function counts(database: Database): Counts {
  const aside = database.one<{ readonly all: number; readonly pending: number }>(
    "SELECT count(*) AS [all], count(iif(status = 'PENDING', 1, NULL)) AS pending FROM tasks WHERE aside = 1",
  )
  return countsWith(readState(database), aside?.all ?? 0, aside?.pending ?? 0)
}

type Page = Awaited<ReturnType<Required<TaskStore>['unreadable']>>

/** By row, since anything may be in the place of an id. */
function unreadable(database: Database, { limit, cursor }: { readonly limit: number; readonly cursor?: string }): Page {
  const most = Math.max(1, limit)
  const rows = database.all<Readonly<Record<string, unknown>>>(
    `SELECT * FROM tasks WHERE aside = 1 AND row > ? AND row <= ${Number.MAX_SAFE_INTEGER} ORDER BY row ${LIMIT}`,
    Number(cursor ?? 0),
    most + 1,
  )
  const page = rows.slice(0, most)
  const last = rows.length > most ? page.at(-1)?.row : undefined
  const records = page.map((fields) => ({
    taskId: typeof fields.id === 'string' ? fields.id : '',
    fields: { ...fields },
  }))
  return { records, ...(last !== undefined && { cursor: String(last) }) }
}

export const reads: Reads<Database> = {
  body,
  find,
  get,
  list,
  attempts,
  history,
  counts,
  countsOf: ownCounts,
  unreadable,
}
