/** A task as a row of the table, as the commands see it, and as it leaves the store. */

import type { DeadlineReason } from '../../api/records.ts'
import type { ExhaustedReason, TaskStatus } from '../../api/task.ts'
import { FOREVER } from '../../platform/clock.ts'
import type { TextRow } from '../engine/shown.ts'
import { isSoundRow, neutral } from '../engine/sound.ts'
import { type Database, LIMIT, type Value } from './database.ts'

export interface TaskRow extends TextRow {
  /** The key of the table. */
  readonly row: number
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

type Written = Readonly<Partial<Record<keyof Columns, (row: TaskRow) => Value>>>

/** Columns that never change, each with its value. */
const FIXED: Written = {
  row: (row) => row.row,
  id: (row) => row.taskId,
  lane: (row) => row.lane,
  principal: (row) => row.principal,
  origin: (row) => row.origin,
  idempotencyKey: (row) => row.idempotencyKey,
  fingerprint: (row) => row.fingerprint,
  method: (row) => row.method,
  targetUrl: (row) => row.targetUrl,
  recordSchema: (row) => row.schema,
  orderKey: (row) => row.orderKey,
  home: (row) => row.home,
  priority: (row) => 0 - row.rank,
  createdAt: (row) => row.createdAt,
}

const CHANGING: Written = {
  seq: (row) => row.seq,
  status: (row) => row.status,
  reason: (row) => row.reason,
  headers: (row) => row.headers,
  record: (row) => row.record,
  dueAt: (row) => row.dueAt,
  turnAt: (row) => row.turnAt,
  serverAt: (row) => row.serverAt,
  deadlineAt: (row) => (row.deadlineAt === FOREVER ? null : row.deadlineAt),
  deadlineReason: (row) => row.deadlineReason,
  attemptNumber: (row) => row.attemptNumber,
  firstAttemptAt: (row) => row.firstAttemptAt,
  refunds: (row) => row.refunds,
  phase: (row) => row.phase,
  previousDelayMs: (row) => row.previousDelayMs,
  marks: (row) => row.marks,
  behind: (row) => row.behind ?? 0,
  parked: (row) => (row.parkedIn === null ? 0 : 1),
  cancelAsked: (row) => (row.cancelAsked ? 1 : 0),
  owner: (row) => row.owner,
  token: (row) => row.token,
  settledToken: (row) => row.settledToken,
  leaseUntil: (row) => row.leaseUntil,
  endedAt: (row) => row.endedAt,
  bodyBytes: (row) => row.bodyBytes,
  bodySum: (row) => row.bodySum,
  requestSum: (row) => row.requestSum,
  aside: (row) => (row.aside ? 1 : 0),
}

const COLUMNS = { ...FIXED, ...CHANGING }
const names = Object.keys(COLUMNS)
const INSERT = `INSERT INTO tasks (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`
const UPDATE = `UPDATE tasks SET ${Object.keys(CHANGING)
  .map((name) => `${name} = ?`)
  .join(', ')} WHERE row = ?`
const PUT_ASIDE =
  'UPDATE tasks SET status = ?, aside = ?, dueAt = NULL, leaseUntil = NULL, owner = NULL, parked = 0 WHERE row = ?'
const INSERTED = Object.values(COLUMNS)
const UPDATED = Object.values(CHANGING)

export function insertRow(database: Database, row: TaskRow): void {
  database.run(INSERT, ...INSERTED.map((read) => read(row)))
}

export function updateRow(database: Database, row: TaskRow): void {
  // everything else stays as it was found
  if (row.isBroken) database.run(PUT_ASIDE, row.status, row.aside ? 1 : 0, row.row)
  else database.run(UPDATE, ...UPDATED.map((read) => read(row)), row.row)
}

/** Spelled out: rows are made by the thousand, and copies by `...` cost several times as much. */
function rowOf(columns: Columns): TaskRow {
  const row: TaskRow = {
    row: columns.row,
    taskId: columns.id,
    seq: columns.seq,
    lane: columns.lane,
    principal: columns.principal,
    origin: columns.origin,
    status: columns.status,
    reason: columns.reason,
    idempotencyKey: columns.idempotencyKey,
    fingerprint: columns.fingerprint,
    method: columns.method,
    targetUrl: columns.targetUrl,
    headers: columns.headers,
    record: columns.record,
    schema: columns.recordSchema,
    orderKey: columns.orderKey,
    home: columns.home,
    rank: 0 - columns.priority,
    createdAt: columns.createdAt,
    dueAt: columns.dueAt,
    turnAt: columns.turnAt,
    serverAt: columns.serverAt,
    deadlineAt: columns.deadlineAt ?? FOREVER,
    deadlineReason: columns.deadlineReason,
    attemptNumber: columns.attemptNumber,
    firstAttemptAt: columns.firstAttemptAt,
    refunds: columns.refunds,
    phase: columns.phase,
    previousDelayMs: columns.previousDelayMs,
    marks: columns.marks,
    behind: columns.behind,
    parkedIn: columns.parked === 1 ? columns.lane : null,
    cancelAsked: columns.cancelAsked === 1,
    owner: columns.owner,
    token: columns.token,
    settledToken: columns.settledToken,
    leaseUntil: columns.leaseUntil,
    endedAt: columns.endedAt,
    bodyBytes: columns.bodyBytes,
    bodySum: columns.bodySum ?? null,
    requestSum: columns.requestSum ?? null,
    aside: columns.aside === 1,
  }
  return isSoundRow(row) ? row : neutral(row)
}

/** The row that a query for all columns finds. */
export function rowFound(database: Database, sql: string, ...values: readonly Value[]): TaskRow | undefined {
  const columns = database.one<Columns>(sql, ...values)
  return columns && rowOf(columns)
}

/** The rows that a query for all columns finds. */
export const allFound = (database: Database, sql: string, ...values: readonly Value[]): TaskRow[] =>
  database.all<Columns>(sql, ...values).map(rowOf)

/** At most `most` tasks by rising row, those above `after`. */
export const tasksFrom = (database: Database, after: number, most: number): TaskRow[] =>
  allFound(
    database,
    `SELECT * FROM tasks WHERE row > ? AND row <= ${Number.MAX_SAFE_INTEGER} ORDER BY row ${LIMIT}`,
    after,
    most,
  )

/** Looks for the rows first: most often there are none, and to name forty columns costs more than to look. */
export function rowsFound(database: Database, from: string, ...values: readonly Value[]): TaskRow[] {
  const found = database.all<{ row: number }>(`SELECT row ${from}`, ...values)
  return found.flatMap(({ row }) => rowFound(database, 'SELECT * FROM tasks WHERE row = ?', row) ?? [])
}

export const rowById = (database: Database, taskId: string): TaskRow | undefined =>
  rowFound(database, 'SELECT * FROM tasks WHERE id = ?', taskId)
