/** A task as it is kept in Redis, and as it leaves the store. */

import { Buffer } from 'node:buffer'
import type { NewTask, StoredTask } from '../../api/records.ts'
import type { AttemptLog, TaskStatus } from '../../api/task.ts'
import { DEFAULT_ATTEMPTS } from '../../core/generated/codes.ts'
import { originIn } from '../../options/check.ts'
import { recordOf } from '../engine/parts.ts'
import { mayRepeat, orderName, wasSent } from '../engine/rules.ts'
import { storedTask, type TextRow } from '../engine/shown.ts'
import { foundBody, isSoundRow } from '../engine/sound.ts'
import { sumOfBytes, sumOfRequest } from '../engine/sums.ts'
import { digest, fingerprintTag, idBytes, idText, NONE, principalTag } from './names.ts'
import { Packer } from './packed.ts'
import type { Arg, Reply } from './port.ts'
import { SMALL_BODY } from './scripts.ts'

/** The statuses, by their numbers in the scripts. */
export const STATUSES: readonly TaskStatus[] = ['PENDING', 'IN_FLIGHT', 'SUCCEEDED', 'EXHAUSTED', 'CANCELLED']
const DEADLINES = ['total_budget', 'expired', 'key_expired'] as const

/** A rank is the negated priority, which may be any 32-bit number, above 0. */
const RANKS = 2 ** 32

/** The parts of a task that do not change, which scripts need not know: a tuple, since names would be most of its bytes. */
type Fixed = readonly [
  key: string | null,
  fingerprint: string,
  method: string,
  targetUrl: string,
  lane: string,
  principal: string | null,
  home: string | null,
  orderKey: string | null,
  bodySum: number | null,
  requestSum: number | null,
  record: string | null,
]

/** Records that many tasks share are kept once, by a tag. */
export interface Shared {
  readonly tag: Buffer
  readonly text: string
}

const LONGEST_SHARED = 4_096
const MOST_KNOWN = 256
const shared = new Map<string, Shared>()

/** The record of a task, if others are likely to have the same. */
export function sharedOf(
  { meta, tags, senderData, expiresAfterMs }: Pick<NewTask, 'meta' | 'tags' | 'senderData' | 'expiresAfterMs'>,
  text: string,
): Shared | undefined {
  if ((meta ?? tags ?? senderData ?? expiresAfterMs) !== undefined || text.length > LONGEST_SHARED) return undefined
  const known = shared.get(text)
  if (known) return known
  if (shared.size >= MOST_KNOWN) shared.clear()
  const made = { tag: digest(text), text }
  shared.set(text, made)
  return made
}

/** The record as its key keeps it. `tag`: of the record that lies elsewhere; else it is in here. */
function recordBytes(fixed: Fixed, tag: Buffer): Buffer {
  return Buffer.concat([fingerprintTag(fixed[1]), tag, Buffer.from(JSON.stringify(fixed))])
}

/** A task with its record, and that as others may share it. */
export interface Prepared {
  readonly task: NewTask
  readonly text: string
  readonly common: Shared | undefined
}

export function prepared(task: NewTask): Prepared {
  const text = recordOf(task)
  return { task, text, common: sharedOf(task, text) }
}

/** The arguments that give a task to the script `enqueue`. `isShared`: whether the store has its record under this tag. */
export function argsOf({ task, text, common }: Prepared, isShared: (shared: Shared) => boolean): Arg[] {
  const { body, idempotencyKey, principal, orderKey, log = [] } = task
  const apart = common && isShared(common) ? common.tag : NONE
  const headers = JSON.stringify(task.headers)
  const bodySum = body ? sumOfBytes(body) : null
  const requestSum = sumOfRequest({ ...task, bodySum }, [headers, text])
  const fixed: Fixed = [
    idempotencyKey,
    task.fingerprint,
    task.method,
    task.targetUrl,
    task.lane,
    principal,
    task.home,
    orderKey ?? null,
    bodySum,
    requestSum,
    apart === NONE ? text : null,
  ]
  const { ageMs = 0, serverMs = 0, marks = 0, holdLaneForMs = 0, deadlineReason = 'total_budget', policy } = task
  const packed = new Packer(192)
    .u16(task.schema)
    .u8(mayRepeat(task) ? 1 : 0, DEADLINES.indexOf(deadlineReason), (task.tells ? 1 : 0) + (task.quotaExempt ? 2 : 0))
    .u40(RANKS - task.priority)
    .f64(task.dueInMs, serverMs, ageMs, task.deadlineInMs)
    .u32(task.attemptNumber)
    .f64(policy.maxAttempts ?? DEFAULT_ATTEMPTS, task.phase, task.previousDelayMs)
    .u32(marks, body?.byteLength ?? 0)
    .f64(holdLaneForMs)
    .u32(log.length)
    .bytes(idempotencyKey === null ? NONE : digest(idempotencyKey))
    .bytes(orderKey === undefined ? NONE : digest(orderName(principal, orderKey)))
    .bytes(principalTag(principal), idBytes(task.taskId))
    .done()
  const small = body && body.byteLength <= SMALL_BODY ? body : undefined
  const large = body && !small ? body : undefined
  return [
    packed,
    task.lane,
    task.home ?? '',
    recordBytes(fixed, apart),
    headBytes(headers, small),
    large ? Buffer.from(large.buffer, large.byteOffset, large.byteLength) : '',
    ...log.map(logBytes),
  ]
}

function headBytes(headers: string, body: Uint8Array | undefined): Buffer {
  const text = Buffer.from(headers)
  const packed = new Packer(4 + text.length + (body?.byteLength ?? 0)).u32(text.length).bytes(text)
  return (body ? packed.bytes(Buffer.from(body.buffer, body.byteOffset, body.byteLength)) : packed).done()
}

const logBytes = (log: AttemptLog): Buffer => Buffer.from(`${wasSent(log) ? '\x01' : '\x00'}${logText(log)}`)

/** A line of a history. */
export const logText = (log: AttemptLog): string => JSON.stringify(log)

/** A task in the answer of a script. */
export interface Kept {
  readonly taskId: string
  readonly row: Buffer
  readonly record: Buffer
  readonly head: Buffer
}

/** The tasks of an answer: lists of ids, rows, records and headers. */
export function keptIn(reply: Reply): Kept[] {
  const [ids = [], rows = [], records = [], heads = []] = reply as readonly (readonly (Buffer | null)[])[]
  return ids.map((id, i) => ({
    taskId: idText(id as Buffer),
    row: rows[i] ?? EMPTY,
    record: records[i] ?? EMPTY,
    head: heads[i] ?? EMPTY,
  }))
}

const EMPTY = Buffer.alloc(0)

const TAG = 16
/** The tag of the record that lies elsewhere. */
export function tagIn({ record }: Kept): Buffer | undefined {
  const tag = record.subarray(TAG, 2 * TAG)
  return tag.length < TAG || tag.equals(NONE) ? undefined : tag
}

/** Offsets in a row, as lua/rows.lua packs it. */
const ROW = {
  status: 1,
  aside: 2,
  asked: 3,
  parked: 4,
  behind: 5,
  schema: 7,
  rank: 17,
  due: 22,
  seq: 30,
  deadline: 38,
  first: 46,
  token: 54,
  settledToken: 62,
  leaseUntil: 70,
  ended: 78,
  attempt: 94,
  bodyBytes: 98,
  turn: 126,
  server: 134,
  created: 142,
  phase: 150,
  delay: 158,
  refunds: 166,
  marks: 170,
  why: 174,
  owner: 193,
} as const
const LEAST = 197

/** The status that a row says. */
export const statusIn = ({ row }: Pick<Kept, 'row'>): TaskStatus | undefined => STATUSES[row[ROW.status] as number]
export const schemaIn = ({ row }: Kept): number => (row.length < LEAST ? 0 : row.readUInt16BE(ROW.schema))
export const tokenIn = ({ row }: Kept): number => (row.length < LEAST ? 0 : row.readDoubleBE(ROW.token))

const orNull = (value: number): number | null => (Number.isNaN(value) ? null : value)

/** Records by the hexadecimal digits of their tag. */
export type Records = ReadonlyMap<string, string>

/** The whole of a task's row, for `storedTask`; undefined where it is none. `offset`: what all instants are shown less. */
export function rowIn({ taskId, row, record, head }: Kept, records: Records, offset: number): TextRow | undefined {
  if (row.length < LEAST || row[0] !== 1) return undefined
  const fixed = fixedIn(record)
  if (!fixed) return undefined
  const [idempotencyKey, fingerprint, method, targetUrl, lane, principal, home, orderKey, bodySum, requestSum] = fixed
  const tag = record.subarray(TAG, 2 * TAG)
  const text = tag.equals(NONE) ? fixed[10] : records.get(tag.toString('hex'))
  const status = statusIn({ row })
  if (typeof text !== 'string' || !status) return undefined
  const number = (at: number): number => row.readDoubleBE(at)
  const instant = (at: number): number | null => orNull(number(at) - offset)
  const is = (at: number): boolean => row[at] === 1
  const isOver = status === 'SUCCEEDED' || status === 'CANCELLED'
  // four texts, each with a NUL at its end
  const [owner = '', , reason = ''] = row.toString('utf8', ROW.owner).split('\0')
  const made: TextRow = {
    taskId,
    seq: number(ROW.seq),
    lane,
    principal,
    home,
    origin: originIn(targetUrl) ?? '',
    status,
    reason: reason === '' ? null : (reason as TextRow['reason']),
    idempotencyKey,
    fingerprint,
    method,
    targetUrl,
    headers: headersIn(head, isOver),
    record: text,
    schema: row.readUInt16BE(ROW.schema),
    orderKey,
    behind: orderKey === null || isOver || status === 'EXHAUSTED' ? null : is(ROW.behind) ? 1 : 0,
    rank: row.readUIntBE(ROW.rank, 5) - RANKS,
    createdAt: number(ROW.created),
    dueAt: instant(ROW.due),
    turnAt: number(ROW.turn) - offset,
    serverAt: number(ROW.server) - offset,
    deadlineAt: number(ROW.deadline) - offset,
    deadlineReason: DEADLINES[row[ROW.why] as number] as TextRow['deadlineReason'],
    attemptNumber: row.readUInt32BE(ROW.attempt),
    firstAttemptAt: instant(ROW.first),
    refunds: row.readUInt32BE(ROW.refunds),
    phase: number(ROW.phase),
    previousDelayMs: number(ROW.delay),
    marks: row.readUInt32BE(ROW.marks),
    parkedIn: is(ROW.parked) ? lane : null,
    cancelAsked: is(ROW.asked),
    owner: status === 'IN_FLIGHT' ? owner : null,
    token: number(ROW.token),
    settledToken: orNull(number(ROW.settledToken)),
    leaseUntil: instant(ROW.leaseUntil),
    endedAt: instant(ROW.ended),
    bodyBytes: row.readUInt32BE(ROW.bodyBytes),
    bodySum: isOver ? null : bodySum,
    requestSum: isOver ? null : requestSum,
    aside: is(ROW.aside),
  }
  return isSoundRow(made) ? made : undefined
}

/** Its shape is trusted no further than that it is a list: `isSoundRow` and `storedTask` look at each value. */
function fixedIn(record: Buffer): Fixed | undefined {
  try {
    const fixed: unknown = JSON.parse(record.toString('utf8', 2 * TAG))
    return Array.isArray(fixed) ? (fixed as unknown as Fixed) : undefined
  } catch {
    return undefined
  }
}

function headersIn(head: Buffer, isOver: boolean): string {
  if (isOver) return '{}'
  return head.length < 4 ? '' : head.toString('utf8', 4, 4 + head.readUInt32BE(0))
}

/** The body that lies beside the headers. */
export function smallBodyIn({ head }: Kept): Buffer | undefined {
  return head.length < 4 ? undefined : head.subarray(4 + head.readUInt32BE(0))
}

/** The body that has come with its task; undefined where it has to be asked for. */
export function bodyBeside(kept: Kept, row: TextRow): Uint8Array | undefined {
  const bytes = row.bodySum === null ? undefined : smallBodyIn(kept)
  return bytes && bytes.length > 0 ? foundBody(new Uint8Array(bytes), row) : undefined
}

/** The task; undefined where it cannot be read. */
export function taskIn(kept: Kept, records: Records, offset: number): StoredTask | undefined {
  const row = rowIn(kept, records, offset)
  return row && storedTask(row)
}

/** The record of a task that takes another policy. */
export function withPolicy(
  { record }: Kept,
  task: StoredTask,
  row: TextRow,
  policy: NewTask['policy'],
  isShared: (shared: Shared) => boolean,
): Buffer {
  const fixed = fixedIn(record) as Fixed
  const text = recordOf({ ...task, policy })
  const common = sharedOf(task, text)
  const apart = common && isShared(common) ? common.tag : NONE
  const requestSum = sumOfRequest(row, [row.headers, text])
  return recordBytes([...fixed.slice(0, 9), requestSum, apart === NONE ? text : null] as unknown as Fixed, apart)
}
