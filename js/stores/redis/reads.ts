/** Questions, which change nothing: packed for `read.lua`, and what it answers. */

import { Buffer } from 'node:buffer'
import {
  type Counts,
  LIST_LOOKED_AT,
  LOG_LENGTH,
  laneName,
  type OwnCounts,
  type StoredTask,
  type TaskFilter,
  type TaskStore,
  type Untold,
} from '../../api/store.ts'
import type { AttemptLog, DecisionKind, ExhaustedReason, TaskStatus } from '../../api/task.ts'
import { originIn } from '../../options/check.ts'
import { fits, rangeOf, statusesIn } from '../engine/listing.ts'
import { countsWith } from '../engine/row.ts'
import { inOrder, type Note, noteOf } from '../engine/rules.ts'
import { parsed, storedTask } from '../engine/shown.ts'
import { foundBody, soundLog } from '../engine/sound.ts'
import { digest, idBytes, idText, isUuid, principalTag } from './names.ts'
import type { Arg, Reply } from './port.ts'
import type { Session } from './session.ts'
import { type Kept, keptIn, rowIn, STATUSES, schemaIn, smallBodyIn, statusIn, taskIn } from './task.ts'
import { ownCountsIn } from './turn.ts'

type Whole = Required<TaskStore>

export async function get(session: Session, taskId: string): Promise<StoredTask | undefined> {
  const { said, offset } = await session.ask('tasks', '1', idBytes(taskId))
  const tasks = keptIn(said)
  await session.learn(tasks)
  return tasks[0] && taskIn(tasks[0], session.records, offset)
}

export async function body(session: Session, taskId: string): Promise<Uint8Array | undefined> {
  const { said, offset } = await session.ask('body', idBytes(taskId))
  const [task] = keptIn(said)
  if (!task) return undefined
  await session.learn([task])
  const row = rowIn(task, session.records, offset)
  if (!row || !storedTask(row) || row.bodySum === null) return undefined
  const [large] = (said as readonly (readonly (Buffer | null)[])[])[4] ?? []
  const bytes = large ?? smallBodyIn(task)
  return bytes && foundBody(new Uint8Array(bytes), row)
}

export async function find(
  session: Session,
  idempotencyKey: string,
  principal?: string | null,
): Promise<StoredTask | undefined> {
  const tag = principal === undefined ? '' : principalTag(principal)
  const { said, offset } = await session.ask('find', digest(idempotencyKey), tag)
  const tasks = keptIn(said)
  await session.learn(tasks)
  const found = tasks.flatMap((kept) => taskIn(kept, session.records, offset) ?? [])
  const own = found.filter((task) => task.idempotencyKey === idempotencyKey && task.status !== 'CANCELLED')
  return own.sort((a, b) => (a.taskId < b.taskId ? 1 : -1))[0]
}

/** Tasks that are read at once where most may not fit. */
const PIECE = 50

export async function list(session: Session, filter: TaskFilter): ReturnType<TaskStore['list']> {
  const statuses = statusesIn(filter)
  if (statuses?.length === 0) return { tasks: [] }
  const page = filter.idempotencyKey === undefined ? undefined : await keyed(session, filter, filter.idempotencyKey)
  if (page) return page
  const { cursor, from, to, limit, principal, order } = filter
  const most = Math.max(1, limit)
  const numbers = statuses?.map((status) => STATUSES.indexOf(status)).join('') ?? ''
  const part = partOf(principal, statuses)
  const { idempotencyKey, origin, policyId, reason, tags } = filter
  const isPicked = [idempotencyKey, origin, policyId, reason, tags, from, to].some((given) => given !== undefined)
  const tasks: StoredTask[] = []
  let last = cursor
  let [first, end] = endsOf(filter, part)
  for (let left = Math.max(LIST_LOOKED_AT, most + 1); left > 0; ) {
    const piece = isPicked ? PIECE : most + 1 - tasks.length
    const asked = [order === 'falling' ? 'REV' : '', part, first, end, String(piece), numbers]
    const { said, offset } = await session.ask('list', ...asked)
    const [found, rest, looked] = said as readonly [Reply, Buffer, number]
    for (const kept of await learned(session, found)) {
      const task = taskIn(kept, session.records, offset)
      const isFound = task && isAsked(task, filter)
      if (isFound && tasks.length === most) return { tasks, ...(last !== undefined && { cursor: last }) }
      if (isFound) tasks.push(task)
      last = kept.taskId
    }
    if (rest.length === 0) return { tasks }
    left -= looked
    first = bound('(', part, rest)
    last = idText(rest)
  }
  return { tasks, ...(last !== undefined && { cursor: last }) }
}

async function learned(session: Session, found: Reply): Promise<readonly Kept[]> {
  const page = keptIn(found)
  await session.learn(page)
  return page
}

/** Whether a task is what is asked for, its status aside. */
const isAsked = (task: StoredTask, filter: TaskFilter): boolean =>
  (filter.principal === undefined || task.principal === filter.principal) &&
  (filter.from === undefined || task.taskId >= filter.from) &&
  (filter.to === undefined || task.taskId < filter.to) &&
  (filter.origin === undefined || originIn(task.targetUrl) === filter.origin) &&
  fits(task, filter)

/** The page of those with a key; undefined: so many were cancelled under it that they are looked for among all. */
async function keyed(session: Session, filter: TaskFilter, key: string): Promise<Page | undefined> {
  const { principal, limit, order = 'rising' } = filter
  const tag = principal === undefined ? '' : principalTag(principal)
  const { said, offset } = await session.ask('keyed', digest(key), tag, String(LIST_LOOKED_AT))
  if (!Array.isArray(said)) return undefined
  const found = (await learned(session, said)).flatMap((kept) => taskIn(kept, session.records, offset) ?? [])
  const { above = '', from = '', below } = rangeOf(filter, filter.cursor)
  const isIn = (id: string): boolean => id > above && id >= from && (below === undefined || id < below)
  const statuses = statusesIn(filter)
  const own = found.filter(
    (task) => isIn(task.taskId) && (statuses?.includes(task.status) ?? true) && isAsked(task, filter),
  )
  const sign = order === 'falling' ? -1 : 1
  own.sort((a, b) => (a.taskId < b.taskId ? -sign : sign))
  const tasks = own.slice(0, Math.max(1, limit))
  const last = tasks.length < own.length ? tasks.at(-1)?.taskId : undefined
  return { tasks, ...(last !== undefined && { cursor: last }) }
}

type Page = Awaited<ReturnType<TaskStore['list']>>

/** The parts of the set of lists: see lua/rows.lua. */
const [OWN, OWN_DEAD, DEAD] = [1, 2, 3].map((byte) => Buffer.of(byte)) as [Buffer, Buffer, Buffer]
const NOTHING = Buffer.alloc(0)

function partOf(principal: string | null | undefined, statuses: readonly TaskStatus[] | undefined): Buffer {
  const isDead = statuses?.length === 1 && statuses[0] === 'EXHAUSTED'
  if (principal === undefined) return isDead ? DEAD : NOTHING
  return Buffer.concat([isDead ? OWN_DEAD : OWN, principalTag(principal)])
}

const bound = (sign: '(' | '[', ...parts: readonly Buffer[]): Buffer => Buffer.concat([Buffer.from(sign), ...parts])
/** Comes after every id. */
const LAST = Buffer.alloc(17, 0xff)

/** Where the list begins and where it ends, among the ids as they are kept. A bound that is no UUID is kept to when tasks are read. */
function endsOf(filter: TaskFilter, part: Buffer): readonly [Arg, Arg] {
  const { cursor } = filter
  const { from, below, above } = rangeOf(filter, cursor)
  const isAt = (id: string | undefined): id is string => id !== undefined && (id === cursor || isUuid(id))
  const low = isAt(above) ? bound('(', part, idBytes(above)) : bound('[', part, isAt(from) ? idBytes(from) : NOTHING)
  const high = bound('(', part, isAt(below) ? idBytes(below) : LAST)
  return filter.order === 'falling' ? [high, low] : [low, high]
}

interface History {
  readonly first: number
  readonly attempts: readonly AttemptLog[]
  readonly notes: readonly Note[]
}

async function linesOf(session: Session, taskId: string, most: number = LOG_LENGTH): Promise<History> {
  const { said } = await session.ask('history', idBytes(taskId), String(most))
  const [head, lines, youngest] = said as readonly [Buffer | undefined, readonly Buffer[], Buffer]
  if (!head) return { first: 1, attempts: [], notes: [] }
  const [logged, kept] = [head.readUInt32BE(0), head.readUInt32BE(4)]
  const texts = [...lines.slice(0, kept), ...(logged > 0 ? [youngest as Buffer] : [])]
  const attempts = texts.flatMap((line) => soundLog(parsed(line.toString())) ?? [])
  const notes = lines.slice(kept).flatMap((line) => noteIn(taskId, line) ?? [])
  return { first: logged - texts.length + 1, attempts, notes }
}

const FROM_STORE = 16

/** A note that a settlement has brought is JSON; one of the store's own is packed (see `note` in lua/tasks.lua). */
function noteIn(taskId: string, line: Buffer): Note | undefined {
  if (line.length < 5) return undefined
  const after = line.readUInt32BE(0)
  if (line[4] === 0x7b) {
    const log = soundLog(parsed(line.toString('utf8', 4)))
    return log && { after, log }
  }
  const [kind, reason] = line.toString('utf8', FROM_STORE).split(' ')
  const log = noteOf(
    taskId,
    line.readUInt32BE(4),
    line.readDoubleBE(8),
    kind as DecisionKind,
    (reason || undefined) as ExhaustedReason | undefined,
  )
  return { after, log }
}

export async function attempts(
  session: Session,
  taskId: string,
  { limit, cursor }: Parameters<TaskStore['attempts']>[1],
): ReturnType<TaskStore['attempts']> {
  const { first, attempts: all } = await linesOf(session, taskId)
  const from = Math.max(0, Number(cursor ?? 0) - first + 1)
  const to = from + Math.max(1, limit)
  return { attempts: all.slice(from, to), ...(to < all.length && { cursor: String(first - 1 + to) }) }
}

export async function history(session: Session, taskId: string, most?: number): Promise<readonly AttemptLog[]> {
  const { first, attempts: all, notes } = await linesOf(session, taskId, most)
  return inOrder(first, all, notes)
}

export async function now(session: Session): Promise<number> {
  const { said } = await session.ask('now')
  return (said as readonly [Buffer])[0].readDoubleBE(0)
}

export async function counts(session: Session): Promise<Counts> {
  const { said } = await session.ask('counts')
  const [packed] = said as readonly [Buffer]
  const number = (i: number): number => packed.readDoubleBE(8 * i)
  const kept = {
    pending: number(0),
    inFlight: number(1),
    succeeded: number(2),
    exhausted: number(3),
    cancelled: number(4),
    purged: number(5),
    bytes: number(6),
  }
  return countsWith(kept, number(7), number(8))
}

export async function countsOf(session: Session, principal: string | null): Promise<OwnCounts> {
  const tag = principalTag(principal)
  let bytes: number | undefined
  if (session.everyone) {
    const { said } = await session.ask('own', tag, laneName(principal, ''))
    const [packed] = said as readonly [Buffer]
    bytes = packed.readDoubleBE(0)
    if (packed.length > 8) {
      const [pending, inFlight, exhausted] = [1, 2, 3].map((i) => packed.readDoubleBE(8 * i)) as [
        number,
        number,
        number,
      ]
      return { pending, inFlight, exhausted, bytes }
    }
  }
  // before the first claim with limits, and in other stores
  const own = { pending: 0, inFlight: 0, exhausted: 0 }
  for (let cursor = '0'; ; ) {
    const { said } = await session.ask('lanes', cursor)
    const [next, pairs] = said as readonly [Buffer, readonly Buffer[]]
    for (let i = 1; i < pairs.length; i += 2) {
      const [pending, inFlight, exhausted] = ownCountsIn(pairs[i] as Buffer, tag)
      own.pending += pending
      own.inFlight += inFlight
      own.exhausted += exhausted
    }
    cursor = next.toString()
    if (cursor === '0') break
  }
  return bytes === undefined ? own : { ...own, bytes }
}

/** Ends that are to be reported. Of those that ended at one moment the script gives more than may be asked for, since it has them by no other order. */
export async function untold(session: Session, limit: number, taskIds?: readonly string[]): Promise<readonly Untold[]> {
  const ids = [...new Set(taskIds)].map(idBytes)
  const { said, offset } = taskIds
    ? await session.ask('untoldAmong', String(ids.length), ...ids)
    : await session.ask('untold', String(Math.max(0, limit)))
  const tasks = keptIn(said)
  await session.learn(tasks)
  const ends = tasks.flatMap((kept) => {
    const row = rowIn(kept, session.records, offset)
    const task = row && storedTask(row)
    return task && row.endedAt !== null ? [{ task, endedAt: row.endedAt, seq: row.seq }] : []
  })
  const inOrder = ends.sort((a, b) => a.endedAt - b.endedAt || a.seq - b.seq).slice(0, Math.max(0, limit))
  return inOrder.map(({ task, endedAt }) => ({ task, endedAt }))
}

export async function unreadable(
  session: Session,
  { limit, cursor }: Parameters<Whole['unreadable']>[0],
): ReturnType<Whole['unreadable']> {
  const most = Math.max(1, limit)
  const { said } = await session.ask('aside', cursor === undefined ? '' : idBytes(cursor), String(most + 1))
  const page = keptIn(said)
  const records = page.slice(0, most).map((kept) => ({
    taskId: kept.taskId,
    fields: {
      taskId: kept.taskId,
      status: statusIn(kept) ?? '',
      schema: schemaIn(kept),
      record: kept.record.toString('utf8', 32),
      row: kept.row.toString('hex'),
    },
  }))
  const last = page.length > most ? records.at(-1)?.taskId : undefined
  return { records, ...(last !== undefined && { cursor: last }) }
}
