/** A task as a row, and back. A row is changed as it was read: what a later version has added to it stays. */

import { type DeadlineReason, type NewTask, RECORD_SCHEMA, type StoredTask } from '../../api/store.ts'
import type { ExhaustedReason, TaskStatus } from '../../api/task.ts'
import { originIn } from '../../options/check.ts'
import { type Name, nameOf, shownName } from './keys.ts'

/** Instants are the store's own: see `state.ts`. What is null is in no index. */
export interface TaskRow
  extends Pick<
    NewTask,
    | 'taskId'
    | 'idempotencyKey'
    | 'fingerprint'
    | 'method'
    | 'targetUrl'
    | 'headers'
    | 'withheldHeaders'
    | 'requestInit'
    | 'policy'
    | 'idempotent'
    | 'lane'
    | 'schema'
  > {
  /** Rises with each enqueue and redrive: who came first. */
  seq: number
  readonly principal: Name
  readonly home: Name
  readonly origin: string
  status: TaskStatus
  reason: ExhaustedReason | null
  headers: NewTask['headers']
  policy: NewTask['policy']
  /** The key, until the task is cancelled. */
  keptKey: string | null
  readonly orderKey: string | null
  /** 1: waits until those before it in its order have ended; null: is in none, or has ended. */
  behind: 0 | 1 | null
  /** Its priority, highest first. */
  readonly rank: number
  /** By the wall clock. */
  readonly createdAt: number
  dueAt: number | null
  /** Due then, once nothing of its order is before it. */
  turnAt: number
  /** No earlier than this: the server asked. */
  serverAt: number
  /** Infinity: none. */
  deadlineAt: number
  deadlineReason: DeadlineReason
  /** `deadlineAt` while it may end the task. */
  lateAt: number | null
  attemptNumber: number
  firstAttemptAt: number | null
  refunds: number
  phase: number
  previousDelayMs: number
  marks: number
  /** Its lane, while it is parked. */
  parkedIn: string | null
  cancelAsked: boolean
  owner: string | null
  /** The owner holds a lock that says it lives: see `guards.ts`. */
  guarded: boolean
  /** The lease's, or the last one's; 0: never leased. */
  token: number
  /** The token whose settlement was applied last; null: none was. */
  settledToken: number | null
  leaseUntil: number | null
  endedAt: number | null
  bodyBytes: number
  /** A small one; others are in a store of their own. */
  body: Uint8Array | null
  /** Attempts in its log, those that have fallen out too. */
  logged: number
  /** What else became of it, likewise; absent: an older version wrote the row, and there was nothing. */
  noted?: number
  /** Cannot be read: left alone (S20). */
  aside: boolean
}

export interface Place {
  readonly seq: number
  readonly now: number
  /** By the wall clock. */
  readonly shownNow: number
  readonly isBehind: boolean
}

/**
 * What a request to the database costs, whatever it carries, is more than what it costs to carry some kilobytes with the
 * row at each change. Larger bodies are only touched when they are sent.
 */
const SMALL_BYTES = 4_096

/** Whether a body that is new is kept in the row. */
export const isSmall = ({ byteLength }: Uint8Array): boolean => byteLength <= SMALL_BYTES

/** Whether its body is in the store of its own. */
export const hasBodyApart = ({ body, bodyBytes }: TaskRow): boolean => !body && bodyBytes > 0

export function newRow(task: NewTask, { seq, now, shownNow, isBehind }: Place): TaskRow {
  const ageMs = task.ageMs ?? 0
  const orderKey = task.orderKey ?? null
  const turnAt = now + Math.max(0, task.dueInMs)
  const deadlineAt = now + task.deadlineInMs
  return {
    taskId: task.taskId,
    seq,
    lane: task.lane,
    principal: nameOf(task.principal),
    home: nameOf(task.home),
    origin: originIn(task.targetUrl) ?? '',
    status: 'PENDING',
    reason: null,
    idempotencyKey: task.idempotencyKey,
    keptKey: task.idempotencyKey,
    fingerprint: task.fingerprint,
    method: task.method,
    targetUrl: task.targetUrl,
    headers: task.headers,
    withheldHeaders: task.withheldHeaders,
    requestInit: task.requestInit,
    policy: task.policy,
    ...(task.idempotent !== undefined && { idempotent: task.idempotent }),
    schema: task.schema,
    orderKey,
    behind: orderKey === null ? null : isBehind ? 1 : 0,
    rank: 0 - task.priority,
    createdAt: shownNow - ageMs,
    dueAt: isBehind ? null : turnAt,
    turnAt,
    serverAt: now + (task.serverMs ?? 0),
    deadlineAt,
    deadlineReason: task.deadlineReason ?? 'total_budget',
    lateAt: deadlineAt === Number.POSITIVE_INFINITY ? null : deadlineAt,
    attemptNumber: task.attemptNumber,
    firstAttemptAt: task.attemptNumber > 0 ? now - ageMs : null,
    refunds: 0,
    phase: task.phase,
    previousDelayMs: task.previousDelayMs,
    marks: task.marks ?? 0,
    parkedIn: null,
    cancelAsked: false,
    owner: null,
    guarded: false,
    token: 0,
    settledToken: null,
    leaseUntil: null,
    endedAt: null,
    bodyBytes: task.body?.byteLength ?? 0,
    body: task.body && isSmall(task.body) ? task.body : null,
    logged: 0,
    aside: false,
  }
}

/** undefined: it cannot be read, being broken or of a later version. `skewMs`: see `state.ts`. */
export function storedTask(row: TaskRow, skewMs: number): StoredTask | undefined {
  if (!(row.schema <= RECORD_SCHEMA) || !isOurs(row) || !Array.isArray(row.withheldHeaders)) return undefined
  if (!isObject(row.headers) || !isObject(row.policy) || !isObject(row.requestInit)) return undefined
  return {
    taskId: row.taskId,
    idempotencyKey: row.idempotencyKey,
    fingerprint: row.fingerprint,
    method: row.method,
    targetUrl: row.targetUrl,
    headers: row.headers,
    withheldHeaders: row.withheldHeaders,
    requestInit: row.requestInit,
    lane: row.lane,
    principal: shownName(row.principal),
    policy: row.policy,
    attemptNumber: row.attemptNumber,
    phase: row.phase,
    previousDelayMs: row.previousDelayMs,
    priority: 0 - row.rank,
    ...(row.orderKey !== null && { orderKey: row.orderKey }),
    home: shownName(row.home),
    ...(row.idempotent !== undefined && { idempotent: row.idempotent }),
    schema: row.schema,
    status: row.status,
    ...(row.reason !== null && { reason: row.reason }),
    createdAt: row.createdAt,
    dueAt: row.dueAt === null ? null : row.dueAt - skewMs,
    deadlineAt: row.deadlineAt - skewMs,
    deadlineReason: row.deadlineReason,
    refunds: row.refunds,
    marks: row.marks,
    parked: row.parkedIn !== null,
    bodyBytes: row.bodyBytes,
  }
}

const STATUSES: ReadonlySet<unknown> = new Set(['PENDING', 'IN_FLIGHT', 'SUCCEEDED', 'EXHAUSTED', 'CANCELLED'])

/** Whether it was ever counted: what anybody else has put here is not. */
export const isOurs = ({ status, lane }: TaskRow): boolean => STATUSES.has(status) && typeof lane === 'string'

export const isLive = ({ status }: TaskRow): boolean => status === 'PENDING' || status === 'IN_FLIGHT'

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null
