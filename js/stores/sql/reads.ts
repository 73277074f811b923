/** Questions: no transaction, each one statement (or two over rows that do not change). */

import {
  type Counts,
  LOG_LENGTH,
  NOTES_LENGTH,
  RECORD_SCHEMA,
  type StoredTask,
  TAGS_LOOKED_AT,
  type TaskStore,
} from '../../api/store.ts'
import type { AttemptLog } from '../../api/task.ts'
import { fits, isLooked, rangeOf, statusesIn } from '../engine/listing.ts'
import { countsWith } from '../engine/row.ts'
import { inOrder } from '../engine/rules.ts'
import { parsed, storedTask } from '../engine/shown.ts'
import { foundBody, soundLog } from '../engine/sound.ts'
import type { Reads } from '../engine/store.ts'
import { type Database, LIMIT, type Value } from './database.ts'
import { ownCounts } from './own-counts.ts'
import { allFound, rowById, type TaskRow } from './rows.ts'
import { readState } from './state.ts'
import { NUMBERED } from './tables.ts'

/** Rows read at once where most may not fit. */
const PIECE = 50
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
    `status <> 'CANCELLED' AND ${READABLE}`,
  )
  for (const row of allFound(database, `SELECT * FROM tasks ${sql} ORDER BY id DESC`, ...values)) {
    const task = storedTask(row)
    if (task) return task
  }
  return undefined
}

function list(database: Database, filter: Parameters<TaskStore['list']>[0]): Awaited<ReturnType<TaskStore['list']>> {
  const { principal, origin, limit, cursor } = filter
  const [direction, inOrder] = filter.order === 'falling' ? (['DESC', byFallingId] as const) : (['', byId] as const)
  const after = (id: string | undefined, status: string | undefined, count: number): TaskRow[] => {
    const { above, from, below } = rangeOf(filter, id)
    const { sql, values } = where(
      {
        ...{ 'status = ?': status, 'principal IS ?': principal, 'origin = ?': origin },
        ...{ 'id > ?': above, 'id >= ?': from, 'id < ?': below },
      },
      // nothing comes after an id that is no text: a page would end with it for ever
      `${READABLE} AND typeof(id) = 'text'`,
    )
    return allFound(database, `SELECT * FROM tasks ${sql} ORDER BY id ${direction} ${LIMIT}`, ...values, count)
  }
  const statuses = statusesIn(filter) ?? [undefined]
  const most = Math.max(1, limit)
  const isSlow = isLooked(filter)
  const piece = isSlow ? PIECE : most + 1
  const tasks: StoredTask[] = []
  let last = cursor
  for (let left = isSlow ? TAGS_LOOKED_AT : Number.POSITIVE_INFINITY; left > 0; left -= piece) {
    const rows = statuses.flatMap((status) => after(last, status, piece)).sort(inOrder)
    for (const row of rows.slice(0, piece)) {
      const task = storedTask(row)
      const isWanted = task && fits(task, filter)
      if (isWanted && tasks.length === most) return { tasks, ...(last !== undefined && { cursor: last }) }
      if (isWanted) tasks.push(task)
      last = row.taskId
    }
    if (rows.length < piece) return { tasks }
  }
  return { tasks, ...(last !== undefined && { cursor: last }) }
}

const byId = (a: TaskRow, b: TaskRow): number => (a.taskId < b.taskId ? -1 : 1)
const byFallingId = (a: TaskRow, b: TaskRow): number => byId(b, a)

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

function history(database: Database, taskId: string): readonly AttemptLog[] {
  const rows = database.all<{ n: number; log: string }>(
    `SELECT n, log FROM attempts WHERE task = (${ROW}) AND ${NUMBERED} ORDER BY n ${LIMIT}`,
    taskId,
    LOG_LENGTH + NOTES_LENGTH,
  )
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

/** The conditions of a filter: those that are given, joined by AND. */
export interface Where {
  readonly sql: string
  readonly values: readonly Value[]
}

/** Each condition has one `?`; one whose value is undefined is left out. */
export function where(conditions: Readonly<Record<string, Value | undefined>>, always = 'TRUE'): Where {
  const given = Object.entries(conditions).filter((entry): entry is [string, Value] => entry[1] !== undefined)
  return {
    sql: ['WHERE', [always, ...given.map(([sql]) => sql)].join(' AND ')].join(' '),
    values: given.map(([, value]) => value),
  }
}
