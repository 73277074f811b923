/** Questions: readonly transactions, no clock. */

import {
  type Counts,
  LIST_LOOKED_AT,
  LOG_LENGTH,
  type StoredTask,
  type TaskFilter,
  type TaskStore,
} from '../../api/store.ts'
import type { AttemptLog } from '../../api/task.ts'
import { fits, rangeOf, statusesIn } from '../engine/listing.ts'
import { COUNTER, countsWith } from '../engine/row.ts'
import { inOrder, isReadable } from '../engine/rules.ts'
import { foundBody, soundLog } from '../engine/sound.ts'
import type { Reads } from '../engine/store.ts'
import { nameOf, within } from './keys.ts'
import { ownCounts } from './own-counts.ts'
import { storedTask, type TaskRow, usable } from './rows.ts'
import { readSnapshot, readState } from './state.ts'
import { done } from './transact.ts'

/** Rows read at once where most may not fit. */
const PIECE = 64

const rowOf = (tx: IDBTransaction, taskId: string): Promise<TaskRow | undefined> =>
  done(tx.objectStore('tasks').get(taskId))

async function get(tx: IDBTransaction, taskId: string): Promise<StoredTask | undefined> {
  const [row, { skewMs }] = await Promise.all([rowOf(tx, taskId), readState(tx)])
  return row && storedTask(usable(row), skewMs)
}

async function body(tx: IDBTransaction, taskId: string): Promise<Uint8Array | undefined> {
  const row = await rowOf(tx, taskId)
  if (!row || !isReadable(row)) return undefined
  return foundBody(row.body ?? (await done(tx.objectStore('bodies').get(taskId))), row)
}

async function find(
  tx: IDBTransaction,
  idempotencyKey: string,
  principal?: string | null,
): Promise<StoredTask | undefined> {
  const parts = principal === undefined ? [idempotencyKey] : [idempotencyKey, nameOf(principal)]
  const rows: Promise<TaskRow[]> = done(tx.objectStore('tasks').index('key').getAll(within(parts)))
  const [found, { skewMs }] = await Promise.all([rows, readState(tx)])
  const tasks = found.map((row) => storedTask(usable(row), skewMs)).filter((task) => task !== undefined)
  return tasks.reduce<StoredTask | undefined>(
    (best, task) => (best && best.taskId > task.taskId ? best : task),
    undefined,
  )
}

async function list(tx: IDBTransaction, filter: TaskFilter): Promise<Awaited<ReturnType<TaskStore['list']>>> {
  const { principal, origin, cursor } = filter
  const sign = filter.order === 'falling' ? -1 : 1
  const inOrder = (a: string, b: string): number => (a < b ? -sign : sign)
  const { skewMs } = await readState(tx)
  const tasks = tx.objectStore('tasks')
  const most = Math.max(1, filter.limit)
  const statuses = statusesIn(filter)
  // without a principal there is no index: tasks are looked at one by one
  const parts =
    principal === undefined && statuses?.length !== 0
      ? [[]]
      : (statuses ?? STATUSES).map((status) => [status, nameOf(principal ?? null)])
  const piece = Math.ceil(Math.max(PIECE, most + 1) / parts.length)
  const after = (from: string | undefined, part: readonly IDBValidKey[]): Promise<TaskRow[]> => {
    const range = keysOf(rangeOf(filter, from), part)
    if (!range) return Promise.resolve([])
    const source = part.length === 0 ? tasks : tasks.index('own')
    return sign < 0 ? lastOf(source, range, piece) : done(source.getAll(range, piece))
  }
  const found: StoredTask[] = []
  let from = cursor
  for (let left = LIST_LOOKED_AT; found.length <= most && left > 0; left -= piece * parts.length) {
    const pages = await Promise.all(parts.map((part) => after(from, part)))
    // all pages are known to the end of the first that goes on
    const ends = pages.flatMap((rows) => (rows.length < piece ? [] : (rows.at(-1)?.taskId ?? [])))
    const [end] = ends.sort(inOrder)
    for (const row of pages.flat().sort((a, b) => inOrder(a.taskId, b.taskId))) {
      if (end !== undefined && inOrder(end, row.taskId) < 0) break
      const isAsked = (statuses?.includes(row.status) ?? true) && (origin === undefined || row.origin === origin)
      const task = isAsked && storedTask(usable(row), skewMs)
      if (task && fits(task, filter)) found.push(task)
    }
    from = end
    if (from === undefined) break
  }
  const page = found.slice(0, most)
  const last = found.length > most ? page.at(-1)?.taskId : from
  return { tasks: page, ...(last !== undefined && { cursor: last }) }
}

const STATUSES = Object.keys(COUNTER)

/** Keys of tasks, or of the index that begins with `part`; `undefined`: there is none between the two. */
function keysOf(
  { above, from, below }: ReturnType<typeof rangeOf>,
  part: readonly IDBValidKey[],
): IDBKeyRange | undefined {
  const least = above ?? from ?? ''
  if (below !== undefined && below <= least) return undefined
  const keyOf = (id: IDBValidKey): IDBValidKey => (part.length === 0 ? id : [...part, id])
  // an array comes after every text
  return IDBKeyRange.bound(keyOf(least), keyOf(below ?? []), above !== undefined, below !== undefined)
}

/** The last few of a range, the last first: `getAll` begins at the other end. */
function lastOf(source: IDBObjectStore | IDBIndex, range: IDBKeyRange, count: number): Promise<TaskRow[]> {
  return new Promise((resolve, reject) => {
    const rows: TaskRow[] = []
    const request = source.openCursor(range, 'prev')
    request.onerror = () => reject(request.error)
    request.onsuccess = () => {
      const cursor = request.result
      if (!cursor) return resolve(rows)
      rows.push(cursor.value as TaskRow)
      if (rows.length === count) resolve(rows)
      else cursor.continue()
    }
  })
}

async function attempts(
  tx: IDBTransaction,
  taskId: string,
  { limit, cursor }: Parameters<TaskStore['attempts']>[1],
): Promise<Awaited<ReturnType<TaskStore['attempts']>>> {
  const most = Math.max(1, limit)
  const range = IDBKeyRange.bound([taskId, Number(cursor ?? 0)], [taskId, []], true)
  const store = tx.objectStore('attempts')
  const [row, keys, logs] = await Promise.all([
    rowOf(tx, taskId),
    done(store.getAllKeys(range, most + 1)),
    done(store.getAll(range, most + 1)) as Promise<AttemptLog[]>,
  ])
  if (!row || !isReadable(row)) return { attempts: [] }
  const last = logs.length > most ? (keys[most - 1] as readonly IDBValidKey[])[1] : undefined
  const page = logs.slice(0, most).flatMap((log) => soundLog(log) ?? [])
  return { attempts: page, ...(last !== undefined && { cursor: String(last) }) }
}

async function history(tx: IDBTransaction, taskId: string, most = LOG_LENGTH): Promise<readonly AttemptLog[]> {
  const range = within([taskId])
  const store = tx.objectStore('attempts')
  const [row, keys, logs] = await Promise.all([
    rowOf(tx, taskId),
    done(store.getAllKeys(range)),
    done(store.getAll(range)) as Promise<(AttemptLog & { readonly after?: number })[]>,
  ])
  if (!row || !isReadable(row) || usable(row).isBroken) return []
  // notes count down from -1: they come first, the youngest before all others
  const noted = keys.filter((key) => ((key as readonly IDBValidKey[])[1] as number) < 0).length
  const notes = logs.slice(0, noted).filter(soundLog).reverse().slice(-most)
  const attempts = logs.slice(noted).filter(soundLog).slice(-most)
  return inOrder(
    row.logged - attempts.length + 1,
    attempts,
    notes.map(({ after = 0, ...log }) => ({ after, log })),
  )
}

async function counts(tx: IDBTransaction): Promise<Counts> {
  const { state, lanes } = await readSnapshot(tx)
  let pendingAside = state.pending
  for (const { pending } of lanes.values()) pendingAside -= pending
  return countsWith(state, state.unreadable ?? 0, pendingAside)
}

/** There is no index of them: they are looked for among all. */
async function unreadable(
  tx: IDBTransaction,
  { limit, cursor }: { readonly limit: number; readonly cursor?: string },
): Promise<Awaited<ReturnType<Required<TaskStore>['unreadable']>>> {
  const most = Math.max(1, limit)
  const found: TaskRow[] = []
  for (let from: IDBValidKey | undefined = cursor; found.length <= most; ) {
    const range = from === undefined ? null : IDBKeyRange.lowerBound(from, true)
    const rows: TaskRow[] = await done(tx.objectStore('tasks').getAll(range, PIECE))
    found.push(...rows.filter(({ aside, taskId }) => aside === true && typeof taskId === 'string'))
    if (rows.length < PIECE) break
    from = rows.at(-1)?.taskId
  }
  const page = found.slice(0, most)
  const last = found.length > most ? page.at(-1)?.taskId : undefined
  const records = page.map(({ body: _, ...fields }) => ({ taskId: fields.taskId, fields }))
  return { records, ...(last !== undefined && { cursor: last }) }
}

export const reads: Reads<IDBTransaction> = {
  body,
  find,
  get,
  list,
  attempts,
  history,
  counts,
  countsOf: ownCounts,
  unreadable,
}
