/** A task as it leaves a store that keeps the parts of its request as texts. */

import type { NewTask, StoredTask } from '../../api/records.ts'
import { type Parts, partsOf } from './parts.ts'
import type { Row } from './row.ts'
import { isReadable } from './rules.ts'
import { areSoundParts, isSoundRequest } from './sound.ts'
import { isWhole } from './sums.ts'

/** A row; the texts that commands leave alone are not parsed. */
export interface TextRow extends Row {
  readonly principal: string | null
  readonly home: string | null
  headers: string
  record: string
}

/** undefined: it cannot be read, being broken or of a later version: the command puts it aside, which is how it is reported (S20). */
export function storedTask(row: TextRow): StoredTask | undefined {
  if (row.isBroken || !isReadable(row)) return undefined
  const parts = partsIn(row.record)
  if (!parts || !isWhole(row, () => [row.headers, row.record])) return undefined
  const task: StoredTask = {
    taskId: row.taskId,
    idempotencyKey: row.idempotencyKey,
    fingerprint: row.fingerprint,
    method: row.method,
    targetUrl: row.targetUrl,
    headers: parsed(row.headers) as NewTask['headers'],
    ...parts,
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
  return isSoundRequest(task) ? task : undefined
}

/** Texts of records that were read last, each with its parts: most tasks of a queue have the same policy, and the same text. */
const known = new Map<string, Parts | undefined>()
const MOST_KNOWN = 64
const LONGEST_KNOWN = 4_096

/** The parts that are known of a record; what else its text says has no say. Frozen, since tasks share them. */
function partsIn(text: string): Parts | undefined {
  if (known.has(text)) return known.get(text)
  const read = partsOf((parsed(text) ?? {}) as Parts)
  const parts = areSoundParts(read) ? frozen(read) : undefined
  // these are most often one task's own, and would drive out what others share
  if (typeof text !== 'string' || text.length > LONGEST_KNOWN || read.meta || read.senderData || read.expiresAfterMs)
    return parts
  if (known.size >= MOST_KNOWN) known.clear()
  known.set(text, parts)
  return parts
}

function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  for (const part of Object.values(value)) frozen(part)
  return Object.freeze(value)
}

/** undefined where it is no JSON text. */
export function parsed(text: unknown): unknown {
  try {
    return typeof text === 'string' ? JSON.parse(text) : undefined
  } catch {
    return undefined
  }
}
