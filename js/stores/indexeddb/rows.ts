/** A task as a row, and back. A row is changed as it was read: what a later version has added to it stays. */

import type { NewTask, StoredTask } from '../../api/records.ts'
import { NAME_LENGTH } from '../engine/bounds.ts'
import { type Parts, partsOf, recordOf } from '../engine/parts.ts'
import { newRow, type Place, type Row } from '../engine/row.ts'
import { isLater, isReadable } from '../engine/rules.ts'
import { isCount, isSoundRow, isSoundTask, neutral } from '../engine/sound.ts'
import { isWhole } from '../engine/sums.ts'
import { isName, type Name, nameOf, shownName } from './keys.ts'

/** A property that is null is in no index. Instants are the store's own: see `state.ts`. */
export interface TaskRow extends Row, Omit<Parts, 'policy'> {
  readonly principal: Name
  readonly home: Name
  headers: NewTask['headers']
  policy: NewTask['policy']
  /** The key, until the task is cancelled. */
  keptKey: string | null
  /** `deadlineAt` while it may end the task. */
  lateAt: number | null
  /** Its owner holds a lock that says it lives: see `lease-watch.ts`. */
  guarded: boolean
  /** A small one; others are in a store of their own. */
  body: Uint8Array | null
  /** Attempts in its log, those that have fallen out too. */
  logged: number
  /** Other lines of its history, likewise; absent: an older version wrote the row, and there was none. */
  noted?: number
}

/**
 * The most that a row carries of a body. A request to the database costs more, whatever it carries, than some kilobytes that
 * are written with the row at each change. Larger bodies are only touched when they are sent.
 */
const SMALL_BYTES = 4_096

/** Whether a body that is new is kept in the row. */
export const isSmall = ({ byteLength }: Uint8Array): boolean => byteLength <= SMALL_BYTES

/** Whether its body is in the store of its own. */
export const hasBodyApart = ({ body, bodyBytes }: TaskRow): boolean => !body && bodyBytes > 0

export function rowOf(task: NewTask, place: Place): TaskRow {
  return {
    ...newRow(task, place),
    principal: nameOf(task.principal),
    home: nameOf(task.home),
    keptKey: task.idempotencyKey,
    headers: task.headers,
    ...partsOf(task),
    lateAt: null,
    guarded: false,
    body: task.body && isSmall(task.body) ? task.body : null,
    logged: 0,
  }
}

/**
 * A row as commands may use it: as it was found, if it is sound, else a stand-in, from which `putAside` takes what is changed.
 * A stand-in has no body and no line of a history, but `erase` goes by the row that was found.
 */
export function usable(found: TaskRow): TaskRow {
  return isSound(found) ? found : neutral(found)
}

const isSound = (row: TaskRow): boolean =>
  isSoundRow(row) && isPart(row.principal) && isPart(row.home) && isCount(row.logged) && isCount(row.noted ?? 0)
/** Whether a name is what an index takes for one. */
const isPart = (name: unknown): boolean => isName(name) && String(name).length <= NAME_LENGTH

/** The row that was found, out of every index by which a task is looked for to act on it. */
export function putAside(found: TaskRow, { status, aside }: TaskRow): TaskRow {
  const acted = { dueAt: null, lateAt: null, leaseUntil: null, owner: null, parkedIn: null }
  return { ...found, status, aside, ...acted, ...(aside && putOut(found)) }
}

/** A task that was put aside as damaged keeps neither its key nor its place in its order, and is not deleted for its age. */
export const putOut = (row: TaskRow): Partial<TaskRow> =>
  isLater(row) ? {} : { behind: null, keptKey: null, endedAt: null }

/** The deadline of a task that it may end, for the index of deadlines. */
export const lateAtOf = ({ status, aside, deadlineAt }: TaskRow): number | null =>
  status === 'PENDING' && !aside && deadlineAt !== Number.POSITIVE_INFINITY ? deadlineAt : null

/** The texts that its sum is of. */
export const textsOf = (row: TaskRow): readonly [headers: string, record: string] => [
  JSON.stringify(row.headers),
  recordOf(row),
]

/** `undefined`: it cannot be read, being broken or of a later version. `skewMs`: see `state.ts`. */
export function storedTask(row: TaskRow, skewMs: number): StoredTask | undefined {
  if (row.isBroken || !isReadable(row)) return undefined
  const task: StoredTask = {
    taskId: row.taskId,
    idempotencyKey: row.idempotencyKey,
    fingerprint: row.fingerprint,
    method: row.method,
    targetUrl: row.targetUrl,
    headers: row.headers,
    ...partsOf(row),
    lane: row.lane,
    principal: shownName(row.principal),
    attemptNumber: row.attemptNumber,
    phase: row.phase,
    previousDelayMs: row.previousDelayMs,
    priority: 0 - row.rank,
    ...(row.orderKey !== null && { orderKey: row.orderKey }),
    home: shownName(row.home),
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
  // its bounds first: the sum goes along all of it
  return isSoundTask(task) && isWhole(row, () => textsOf(row)) ? task : undefined
}
