/** Rows as they leave the store, and pages of them. All that leaves or enters is a copy, so that no caller holds a part of a row. */

import {
  LIST_LOOKED_AT,
  LOG_LENGTH,
  type NewTask,
  type StoredTask,
  type TaskFilter,
  type TaskStore,
} from '../../api/store.ts'
import type { AttemptLog, TaskStatus } from '../../api/task.ts'
import { fits, rangeOf } from '../engine/listing.ts'
import { inOrder, isReadable } from '../engine/rules.ts'
import { bodyBytes, isLive, type Row, type Rows } from './rows.ts'

interface Filter {
  readonly taskId?: string
  readonly principal?: string | null
  readonly status?: TaskStatus
}

/** Whether a row fits all that is given. */
export function matches(row: Row, { taskId, principal, status }: Filter): boolean {
  return (
    (taskId === undefined || row.taskId === taskId) &&
    (principal === undefined || row.given.principal === principal) &&
    (status === undefined || row.status === status)
  )
}

export function findYoungest(rows: Rows, key: string, principal: string | null | undefined): Row | undefined {
  let youngest: Row | undefined
  for (const row of rows.all()) {
    const keeps = row.given.idempotencyKey === key && row.status !== 'CANCELLED' && isReadable(row.given)
    if (!keeps || (principal !== undefined && row.given.principal !== principal)) continue
    if (!youngest || row.taskId > youngest.taskId) youngest = row
  }
  return youngest
}

export function page(rows: Rows, filter: TaskFilter): Awaited<ReturnType<TaskStore['list']>> {
  const { origin, active, principal, cursor } = filter
  const isFalling = filter.order === 'falling'
  const limit = Math.max(1, filter.limit)
  const { above, from: first = '', below } = rangeOf(filter, cursor)
  const own = rows.ids.of(principal)
  const low = above === undefined ? own.indexOf(first) : own.indexOf(above, true)
  const high = below === undefined ? own.size : own.indexOf(below)
  const tasks: StoredTask[] = []
  let last = cursor
  const most = Math.max(LIST_LOOKED_AT, limit + 1)
  for (let looked = 0; looked < high - low; looked++) {
    if (looked === most) return { tasks, ...(last !== undefined && { cursor: last }) }
    const row = own.at(isFalling ? high - 1 - looked : low + looked)
    const { policy, reason } = row
    const isAsked = isReadable(row.given) && matches(row, filter) && (!active || isLive(row))
    const isOf = origin === undefined || new URL(row.given.targetUrl).origin === origin
    if (isAsked && isOf && fits({ ...row.given, policy, reason }, filter)) {
      if (tasks.length === limit) return { tasks, ...(last !== undefined && { cursor: last }) }
      tasks.push(show(row))
    }
    last = row.taskId
  }
  return { tasks }
}

/** A cursor is the number of the last one shown, counted from the task's first: it stays right when older ones fall out. */
export function attemptsOf(
  row: Row | undefined,
  page: { readonly limit: number; readonly cursor?: string },
): { readonly attempts: readonly AttemptLog[]; readonly cursor?: string } {
  if (!row) return { attempts: [] }
  const before = row.logged - row.log.length
  const from = Math.max(0, Number(page.cursor ?? 0) - before)
  const to = from + Math.max(1, page.limit)
  const attempts = row.log.slice(from, to).map(copyOf)
  return to < row.log.length ? { attempts, cursor: String(before + to) } : { attempts }
}

export function historyOf(row: Row | undefined, most: number = LOG_LENGTH): readonly AttemptLog[] {
  if (!row) return []
  const log = row.log.slice(-most)
  return inOrder(row.logged - log.length + 1, log, row.notes.slice(-most)).map(copyOf)
}

/** A copy of plain data. (`structuredClone` is younger than the browsers this must run in.) */
export function copyOf<T>(value: T): T {
  if (Array.isArray(value)) return value.map(copyOf) as T
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, copyOf(part)])) as T
}

export function show(row: Row): StoredTask {
  const { given } = row
  return {
    taskId: row.taskId,
    idempotencyKey: given.idempotencyKey,
    fingerprint: given.fingerprint,
    method: given.method,
    targetUrl: given.targetUrl,
    headers: copyOf(row.headers),
    withheldHeaders: [...given.withheldHeaders],
    requestInit: { ...given.requestInit },
    lane: given.lane,
    principal: given.principal,
    policy: copyOf(row.policy),
    attemptNumber: row.attemptNumber,
    phase: row.phase,
    previousDelayMs: row.previousDelayMs,
    marks: row.marks,
    priority: given.priority,
    ...(given.orderKey === undefined ? {} : { orderKey: given.orderKey }),
    home: given.home,
    ...(given.idempotent === undefined ? {} : { idempotent: given.idempotent }),
    ...(given.meta === undefined ? {} : { meta: copyOf(given.meta) }),
    ...(given.tags === undefined ? {} : { tags: [...given.tags] }),
    ...(given.needs === undefined ? {} : { needs: [...given.needs] }),
    ...(given.senderData === undefined ? {} : { senderData: copyOf(given.senderData) }),
    ...(given.tells === undefined ? {} : { tells: given.tells }),
    ...(given.expiresAfterMs === undefined ? {} : { expiresAfterMs: given.expiresAfterMs }),
    schema: given.schema,
    status: row.status,
    ...(row.reason === undefined ? {} : { reason: row.reason }),
    createdAt: row.createdAt,
    dueAt: row.dueAt,
    deadlineAt: row.deadlineAt,
    deadlineReason: row.deadlineReason,
    refunds: row.refunds,
    parked: row.parked,
    bodyBytes: bodyBytes(row),
  }
}

/** A row's own copy of what it was given; the body is kept beside it. */
export function keep({ body: _, log: __, ...task }: NewTask): NewTask {
  return copyOf(task)
}
