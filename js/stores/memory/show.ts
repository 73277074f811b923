/** What leaves and enters the store: copies, so that nobody holds a part of a row. */

import type { NewTask, StoredTask } from '../../api/store.ts'
import { bodyBytes, type Row } from './rows.ts'

/** Of plain data. (`structuredClone` is younger than the browsers this must run in.) */
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

/** A record's own copy of what it was given; the body is kept beside it. */
export function keep({ body: _, log: __, ...task }: NewTask): NewTask {
  return copyOf(task)
}
