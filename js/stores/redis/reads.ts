/** Questions, which change nothing: packed for `read.lua`, and what it answers. */

import { Buffer } from 'node:buffer'
import {
  type Counts,
  type OwnCounts,
  type StoredTask,
  TAGS_LOOKED_AT,
  type TaskStore,
  type Untold,
} from '../../api/store.ts'
import type { AttemptLog, DecisionKind, ExhaustedReason } from '../../api/task.ts'
import { originIn } from '../../options/check.ts'
import { fits, isLooked, rangeOf, statusesIn } from '../engine/listing.ts'
import { countsWith } from '../engine/row.ts'
import { inOrder, type Note, noteOf } from '../engine/rules.ts'
import { parsed, storedTask } from '../engine/shown.ts'
import { foundBody, soundLog } from '../engine/sound.ts'
import { digest, idBytes, idText, isUuid, principalTag } from './names.ts'
import type { Arg, Reply } from './port.ts'
import type { Session } from './session.ts'
import { keptIn, rowIn, STATUSES, schemaIn, smallBodyIn, statusIn, taskIn } from './task.ts'
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

export async function list(session: Session, filter: Filter): ReturnType<TaskStore['list']> {
  const { principal, origin, from, to, limit, cursor } = filter
  const most = Math.max(1, limit)
  const statuses = statusesIn(filter)
    ?.map((status) => STATUSES.indexOf(status))
    .join('')
  // none of its statuses can be
  if (statuses === '') return { tasks: [] }
  const looks = isLooked(filter)
  const isPicked = looks || [principal, origin, from, to].some((part) => part !== undefined)
  const tasks: StoredTask[] = []
  let last = cursor
  let [first, end] = endsOf(filter)
  for (let left = looks ? TAGS_LOOKED_AT : Number.POSITIVE_INFINITY; left > 0; ) {
    const piece = isPicked ? PIECE : most + 1 - tasks.length
    const order = filter.order === 'falling' ? 'REV' : ''
    const { said, offset } = await session.ask('list', order, first, end, String(piece), statuses ?? '')
    const [found, rest] = said as readonly [Reply, Buffer]
    const page = keptIn(found)
    await session.learn(page)
    for (const kept of page) {
      const task = taskIn(kept, session.records, offset)
      const isOwn =
        task &&
        (principal === undefined || task.principal === principal) &&
        !(from !== undefined && task.taskId < from) &&
        !(to !== undefined && task.taskId >= to)
      const isFound = isOwn && (origin === undefined || originIn(task.targetUrl) === origin) && fits(task, filter)
      if (isOwn && looks) left--
      if (isFound && tasks.length === most) return { tasks, ...(last !== undefined && { cursor: last }) }
      if (isFound) tasks.push(task)
      last = kept.taskId
    }
    if (rest.length === 0) return { tasks }
    first = bound('(', rest)
    last = idText(rest)
  }
  return { tasks, ...(last !== undefined && { cursor: last }) }
}

type Filter = Parameters<TaskStore['list']>[0]

const bound = (sign: '(' | '[', id: Buffer): Buffer => Buffer.concat([Buffer.from(sign), id])

/** Where the list begins and where it ends, among the ids as they are kept. A bound that is no UUID is kept to when tasks are read. */
function endsOf(filter: Filter): readonly [Arg, Arg] {
  const { cursor } = filter
  const { from, below, above } = rangeOf(filter, cursor)
  const isAt = (id: string | undefined): id is string => id !== undefined && (id === cursor || isUuid(id))
  const low = isAt(above) ? bound('(', idBytes(above)) : isAt(from) ? bound('[', idBytes(from)) : '-'
  const high = isAt(below) ? bound('(', idBytes(below)) : '+'
  return filter.order === 'falling' ? [high, low] : [low, high]
}

interface History {
  readonly first: number
  readonly attempts: readonly AttemptLog[]
  readonly notes: readonly Note[]
}

async function linesOf(session: Session, taskId: string): Promise<History> {
  const { said } = await session.ask('history', idBytes(taskId))
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

export async function history(session: Session, taskId: string): Promise<readonly AttemptLog[]> {
  const { first, attempts: all, notes } = await linesOf(session, taskId)
  return inOrder(first, all, notes)
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
  if (!session.everyone) return own
  const { said } = await session.ask('bytes', tag)
  const [bytes] = said as readonly [Buffer]
  return { ...own, bytes: bytes.readDoubleBE(0) }
}

/** Ends that are to be told. Of those that ended at one moment the script gives more than may be asked for, since it has them by no other order. */
export async function untold(session: Session, limit: number): Promise<readonly Untold[]> {
  const { said, offset } = await session.ask('untold', String(Math.max(0, limit)))
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
