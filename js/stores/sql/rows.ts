/** A task as a row of the table, as the commands see it, and as it leaves the store. */

import type { RetryPolicy } from '../../api/policy.ts'
import type { DeadlineReason, NewTask, StoredTask } from '../../api/records.ts'
import { RECORD_SCHEMA } from '../../api/records.ts'
import type { ExhaustedReason, TaskStatus } from '../../api/task.ts'
import type { Row } from '../engine/row.ts'
import type { Database, Value } from './database.ts'

/** A row; the texts that commands leave alone are not parsed. */
export interface TaskRow extends Row {
  /** The key of the table. */
  readonly row: number
  readonly principal: string | null
  readonly home: string | null
  headers: string
  record: string
}

/** The columns. */
interface Columns
  extends Omit<TaskRow, 'taskId' | 'schema' | 'rank' | 'behind' | 'parkedIn' | 'cancelAsked' | 'aside' | 'deadlineAt'> {
  readonly id: string
  readonly recordSchema: number
  readonly priority: number
  readonly behind: 0 | 1
  readonly parked: 0 | 1
  readonly cancelAsked: 0 | 1
  readonly aside: 0 | 1
  /** `null`: none. */
  readonly deadlineAt: number | null
  readonly deadlineReason: DeadlineReason
  readonly status: TaskStatus
  readonly reason: ExhaustedReason | null
}

/** The part of a record that is never looked for, only read whole. */
interface RecordText {
  readonly withheldHeaders: readonly string[]
  readonly requestInit: NewTask['requestInit']
  readonly policy: RetryPolicy
  readonly idempotent?: boolean
}

const FIXED = [
  'row id lane principal origin idempotencyKey fingerprint method targetUrl recordSchema orderKey home priority createdAt',
]
  .join(' ')
  .split(' ') as readonly (keyof Columns)[]

const CHANGING = [
  'seq status reason headers record dueAt turnAt serverAt deadlineAt deadlineReason attemptNumber firstAttemptAt refunds phase',
  'previousDelayMs marks behind parked cancelAsked owner token settledToken leaseUntil endedAt bodyBytes aside',
]
  .join(' ')
  .split(' ') as readonly (keyof Columns)[]

const COLUMNS = [...FIXED, ...CHANGING]
const INSERT = `INSERT INTO tasks (${COLUMNS.join(', ')}) VALUES (${COLUMNS.map(() => '?').join(', ')})`
const UPDATE = `UPDATE tasks SET ${CHANGING.map((name) => `${name} = ?`).join(', ')} WHERE row = ?`

export function insertRow(database: Database, row: TaskRow): void {
  const columns = columnsOf(row)
  database.run(INSERT, ...COLUMNS.map((name) => columns[name]))
}

export function updateRow(database: Database, row: TaskRow): void {
  const columns = columnsOf(row)
  database.run(UPDATE, ...CHANGING.map((name) => columns[name]), row.row)
}

function columnsOf(row: TaskRow): Columns {
  const { taskId, rank, schema, parkedIn, behind, cancelAsked, aside, deadlineAt, ...same } = row
  return {
    ...same,
    id: taskId,
    recordSchema: schema,
    priority: 0 - rank,
    behind: behind ?? 0,
    parked: parkedIn === null ? 0 : 1,
    cancelAsked: cancelAsked ? 1 : 0,
    aside: aside ? 1 : 0,
    deadlineAt: deadlineAt === Number.POSITIVE_INFINITY ? null : deadlineAt,
  }
}

function rowOf({ id, priority, recordSchema, parked, cancelAsked, aside, deadlineAt, ...same }: Columns): TaskRow {
  return {
    ...same,
    taskId: id,
    rank: 0 - priority,
    schema: recordSchema,
    parkedIn: parked === 1 ? same.lane : null,
    cancelAsked: cancelAsked === 1,
    aside: aside === 1,
    deadlineAt: deadlineAt ?? Number.POSITIVE_INFINITY,
  }
}

/** The row that a query for all columns finds. */
export function rowFound(database: Database, sql: string, ...values: readonly Value[]): TaskRow | undefined {
  const columns = database.one<Columns>(sql, ...values)
  return columns && rowOf(columns)
}

/** The rows that a query for all columns finds. */
export const allFound = (database: Database, sql: string, ...values: readonly Value[]): TaskRow[] =>
  database.all<Columns>(sql, ...values).map(rowOf)

/** Looks for the rows first: most often there are none, and to name forty columns costs more than to look. */
export function rowsFound(database: Database, from: string, ...values: readonly Value[]): TaskRow[] {
  const found = database.all<{ row: number }>(`SELECT row ${from}`, ...values)
  return found.flatMap(({ row }) => rowFound(database, 'SELECT * FROM tasks WHERE row = ?', row) ?? [])
}

export const rowById = (database: Database, taskId: string): TaskRow | undefined =>
  rowFound(database, 'SELECT * FROM tasks WHERE id = ?', taskId)

export function recordOf({ withheldHeaders, requestInit, policy, idempotent }: RecordText): string {
  return JSON.stringify({ withheldHeaders, requestInit, policy, ...(idempotent !== undefined && { idempotent }) })
}

/** undefined: it cannot be read, being broken or of a later version. */
export function storedTask(row: TaskRow): StoredTask | undefined {
  if (row.schema > RECORD_SCHEMA) return undefined
  const headers = parsed<Readonly<Record<string, string>>>(row.headers)
  const record = parsed<RecordText>(row.record)
  if (!headers || !record || !Array.isArray(record.withheldHeaders)) return undefined
  if (!isObject(record.policy) || !isObject(record.requestInit)) return undefined
  return {
    taskId: row.taskId,
    idempotencyKey: row.idempotencyKey,
    fingerprint: row.fingerprint,
    method: row.method,
    targetUrl: row.targetUrl,
    headers,
    ...record,
    lane: row.lane,
    principal: row.principal,
    attemptNumber: row.attemptNumber,
    phase: row.phase,
    previousDelayMs: row.previousDelayMs,
    priority: 0 - row.rank,
    ...(row.orderKey !== null && { orderKey: row.orderKey }),
    home: row.home,
    schema: row.schema,
    status: row.status,
    ...(row.reason !== null && { reason: row.reason }),
    createdAt: row.createdAt,
    dueAt: row.dueAt,
    deadlineAt: row.deadlineAt,
    deadlineReason: row.deadlineReason,
    refunds: row.refunds,
    marks: row.marks,
    parked: row.parkedIn !== null,
    bodyBytes: row.bodyBytes,
  }
}

/** undefined where it is no JSON object: the command puts the record aside, which is how it is told (S20). */
function parsed<T extends object>(text: string): T | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? (value as T) : undefined
  } catch {
    return undefined
  }
}

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null
