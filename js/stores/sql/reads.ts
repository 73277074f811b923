/** Questions: no transaction, each one statement (or two over rows that do not change). */

import { LOG_LENGTH, NOTES_LENGTH, RECORD_SCHEMA, type StoredTask, type TaskStore } from '../../api/store.ts'
import type { AttemptLog } from '../../api/task.ts'
import { inOrder } from '../engine/rules.ts'
import type { Reads } from '../engine/store.ts'
import type { Database, Value } from './database.ts'
import { allFound, rowById, rowFound, storedTask } from './rows.ts'

const READABLE = `recordSchema <= ${RECORD_SCHEMA}`
const ROW = `SELECT row FROM tasks WHERE id = ? AND ${READABLE}`

function get(database: Database, taskId: string): StoredTask | undefined {
  const row = rowById(database, taskId)
  return row && storedTask(row)
}

function body(database: Database, taskId: string): Uint8Array | undefined {
  const found = database.one<{ row: number }>(ROW, taskId)
  return found && database.bodyOf(found.row)
}

function find(database: Database, idempotencyKey: string, principal?: string | null): StoredTask | undefined {
  const { sql, values } = where(
    { 'idempotencyKey = ?': idempotencyKey, 'principal IS ?': principal },
    `status <> 'CANCELLED' AND ${READABLE}`,
  )
  const row = rowFound(database, `SELECT * FROM tasks ${sql} ORDER BY id DESC LIMIT 1`, ...values)
  return row && storedTask(row)
}

function list(
  database: Database,
  { status, principal, origin, limit, cursor }: Parameters<TaskStore['list']>[0],
): Awaited<ReturnType<TaskStore['list']>> {
  const { sql, values } = where(
    { 'status = ?': status, 'principal IS ?': principal, 'origin = ?': origin, 'id > ?': cursor },
    READABLE,
  )
  const most = Math.max(1, limit)
  const rows = allFound(database, `SELECT * FROM tasks ${sql} ORDER BY id LIMIT ?`, ...values, most + 1)
  const page = rows.slice(0, most)
  const last = rows.length > most ? page.at(-1)?.taskId : undefined
  const tasks = page.map(storedTask).filter((task) => task !== undefined)
  return { tasks, ...(last !== undefined && { cursor: last }) }
}

function attempts(
  database: Database,
  taskId: string,
  { limit, cursor }: Parameters<TaskStore['attempts']>[1],
): Awaited<ReturnType<TaskStore['attempts']>> {
  const most = Math.max(1, limit)
  const rows = database.all<{ n: number; log: string }>(
    `SELECT n, log FROM attempts WHERE task = (${ROW}) AND n > ? ORDER BY n LIMIT ?`,
    taskId,
    Number(cursor ?? 0),
    most + 1,
  )
  const page = rows.slice(0, most)
  const last = rows.length > most ? page.at(-1)?.n : undefined
  const logs = page.map(({ log }) => JSON.parse(log) as AttemptLog)
  return { attempts: logs, ...(last !== undefined && { cursor: String(last) }) }
}

function history(database: Database, taskId: string): readonly AttemptLog[] {
  const rows = database.all<{ n: number; log: string }>(
    `SELECT n, log FROM attempts WHERE task = (${ROW}) ORDER BY n LIMIT ?`,
    taskId,
    LOG_LENGTH + NOTES_LENGTH,
  )
  const attempts = rows.filter(({ n }) => n > 0)
  const notes = rows.filter(({ n }) => n <= 0).reverse()
  return inOrder(
    attempts[0]?.n ?? 1,
    attempts.map(({ log }) => JSON.parse(log) as AttemptLog),
    notes.map(({ log: text }) => {
      const { after = 0, ...log } = JSON.parse(text) as AttemptLog & { readonly after?: number }
      return { after, log }
    }),
  )
}

function counts(database: Database): Awaited<ReturnType<TaskStore['counts']>> {
  const row = database.one<Awaited<ReturnType<TaskStore['counts']>>>(
    'SELECT pending, inFlight, succeeded, exhausted, cancelled, purged, bytes FROM state WHERE id = 1',
  )
  if (!row) throw new Error('the row of counters is gone')
  return { ...row }
}

export const reads: Reads<Database> = { body, find, get, list, attempts, history, counts }

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
