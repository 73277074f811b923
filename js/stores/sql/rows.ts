/** A task as a row, and back. */

import type { RetryPolicy } from '../../api/policy.ts'
import { type DeadlineReason, type NewTask, RECORD_SCHEMA, type StoredTask } from '../../api/store.ts'
import type { ExhaustedReason, TaskStatus } from '../../api/task.ts'
import type { Database, Value } from './database.ts'

export interface TaskRow {
  readonly row: number
  /** Rises with each enqueue and redrive: who came first. */
  seq: number
  readonly id: string
  readonly lane: string
  readonly principal: string | null
  readonly origin: string
  status: TaskStatus
  reason: ExhaustedReason | null
  readonly idempotencyKey: string | null
  readonly fingerprint: string
  readonly method: string
  readonly targetUrl: string
  headers: string
  record: string
  readonly recordSchema: number
  readonly orderKey: string | null
  readonly home: string | null
  readonly priority: number
  readonly createdAt: number
  dueAt: number | null
  /** Due then, once nothing of its order is before it. */
  turnAt: number
  /** No earlier than this: the server asked. */
  serverAt: number
  /** null: none. */
  deadlineAt: number | null
  deadlineReason: DeadlineReason
  attemptNumber: number
  firstAttemptAt: number | null
  refunds: number
  phase: number
  previousDelayMs: number
  marks: number
  /** Waits until those before it in its order have ended. */
  behind: number
  parked: number
  cancelAsked: number
  owner: string | null
  /** The lease's, or the last one's; 0: never leased. */
  token: number
  /** The token whose settlement was applied last; null: none was. */
  settledToken: number | null
  leaseUntil: number | null
  endedAt: number | null
  bodyBytes: number
  /** Cannot be read: left alone (S20). */
  aside: number
}

/** What is never looked for, only read whole. */
interface RecordText {
  readonly withheldHeaders: readonly string[]
  readonly requestInit: NewTask['requestInit']
  readonly policy: RetryPolicy
  readonly idempotent?: boolean
}

const COLUMNS = [
  'row seq id lane principal origin status reason idempotencyKey fingerprint method targetUrl headers record recordSchema',
  'orderKey home priority createdAt dueAt turnAt serverAt deadlineAt deadlineReason attemptNumber firstAttemptAt refunds',
  'phase previousDelayMs marks behind parked cancelAsked owner token settledToken leaseUntil endedAt bodyBytes aside',
]
  .join(' ')
  .split(' ') as readonly (keyof TaskRow)[]

const CHANGING = [
  'seq status reason headers record dueAt turnAt serverAt deadlineAt deadlineReason attemptNumber firstAttemptAt refunds phase',
  'previousDelayMs marks behind parked cancelAsked owner token settledToken leaseUntil endedAt bodyBytes aside',
]
  .join(' ')
  .split(' ') as readonly (keyof TaskRow)[]

const INSERT = `INSERT INTO tasks (${COLUMNS.join(', ')}) VALUES (${COLUMNS.map(() => '?').join(', ')})`
const UPDATE = `UPDATE tasks SET ${CHANGING.map((name) => `${name} = ?`).join(', ')} WHERE row = ?`

export function insertRow(database: Database, row: TaskRow): void {
  database.run(INSERT, ...COLUMNS.map((name) => row[name]))
}

export function updateRow(database: Database, row: TaskRow): void {
  database.run(UPDATE, ...CHANGING.map((name) => row[name]), row.row)
}

/** Looks for the rows first: most often there are none, and to name forty columns costs more than to look. */
export function rowsFound(database: Database, from: string, ...values: readonly Value[]): TaskRow[] {
  const found = database.all<{ row: number }>(`SELECT row ${from}`, ...values)
  return found.flatMap(({ row }) => database.one<TaskRow>('SELECT * FROM tasks WHERE row = ?', row) ?? [])
}

export const rowById = (database: Database, taskId: string): TaskRow | undefined =>
  database.one<TaskRow>('SELECT * FROM tasks WHERE id = ?', taskId)

export function recordOf({ withheldHeaders, requestInit, policy, idempotent }: RecordText): string {
  return JSON.stringify({ withheldHeaders, requestInit, policy, ...(idempotent !== undefined && { idempotent }) })
}

/** undefined: it cannot be read, being broken or of a later version. */
export function storedTask(row: TaskRow): StoredTask | undefined {
  if (row.recordSchema > RECORD_SCHEMA) return undefined
  const headers = parsed<Readonly<Record<string, string>>>(row.headers)
  const record = parsed<RecordText>(row.record)
  if (!headers || !record || !Array.isArray(record.withheldHeaders)) return undefined
  if (!isObject(record.policy) || !isObject(record.requestInit)) return undefined
  return {
    taskId: row.id,
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
    priority: row.priority,
    ...(row.orderKey !== null && { orderKey: row.orderKey }),
    home: row.home,
    schema: row.recordSchema,
    status: row.status,
    ...(row.reason !== null && { reason: row.reason }),
    createdAt: row.createdAt,
    dueAt: row.dueAt,
    deadlineAt: row.deadlineAt ?? Number.POSITIVE_INFINITY,
    deadlineReason: row.deadlineReason,
    refunds: row.refunds,
    marks: row.marks,
    parked: row.parked === 1,
    bodyBytes: row.bodyBytes,
  }
}

/** undefined where it is no JSON object: whoever asks puts the record aside, which is how it is told (S20). */
function parsed<T extends object>(text: string): T | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? (value as T) : undefined
  } catch {
    return undefined
  }
}

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null
