/** Questions: readonly transactions, no clock. */

import { type Counts, type StoredTask, TAGS_LOOKED_AT, type TaskStore } from '../../api/store.ts'
import type { AttemptLog } from '../../api/task.ts'
import { fits, isLooked, rangeOf, statusesIn } from '../engine/listing.ts'
import { countsWith } from '../engine/row.ts'
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

async function list(
  tx: IDBTransaction,
  filter: Parameters<TaskStore['list']>[0],
): Promise<Awaited<ReturnType<TaskStore['list']>>> {
  const { principal, origin, limit, cursor } = filter
  const isFalling = filter.order === 'falling'
  const { skewMs } = await readState(tx)
  const tasks = tx.objectStore('tasks')
  const most = Math.max(1, limit)
  const statuses = statusesIn(filter) ?? [undefined]
  const isSlow = isLooked(filter)
  const isFiltered = principal !== undefined || origin !== undefined || isSlow
  const piece = isFiltered ? Math.max(PIECE, most + 1) : most + 1
  const after = (from: string | undefined, status: string | undefined): Promise<TaskRow[]> => {
    const range = keysOf(rangeOf(filter, from), status)
    if (!range) return Promise.resolve([])
    const source = status === undefined ? tasks : tasks.index('status')
    return isFalling ? lastOf(source, range, piece) : done(source.getAll(range, piece))
  }
  const found: StoredTask[] = []
  let from = cursor
  for (let left = isSlow ? TAGS_LOOKED_AT : Number.POSITIVE_INFINITY; found.length <= most && left > 0; left -= piece) {
    const all = (await Promise.all(statuses.map((status) => after(from, status)))).flat()
    const rows = statuses.length > 1 ? all.sort(isFalling ? byFallingId : byId).slice(0, piece) : all
    for (const row of rows) {
      const isOwn = principal === undefined || row.principal === nameOf(principal)
      if (!isOwn || (origin !== undefined && row.origin !== origin)) continue
      const task = storedTask(usable(row), skewMs)
      if (task && fits(task, filter)) found.push(task)
    }
    from = rows.length < piece ? undefined : rows.at(-1)?.taskId
    if (from === undefined) break
  }
  const page = found.slice(0, most)
  const last = found.length > most ? page.at(-1)?.taskId : from
  return { tasks: page, ...(last !== undefined && { cursor: last }) }
}

const byId = (a: TaskRow, b: TaskRow): number => (a.taskId < b.taskId ? -1 : 1)
const byFallingId = (a: TaskRow, b: TaskRow): number => byId(b, a)

/** Keys of tasks, or with a status of the index by it; `undefined`: there is none between the two. */
function keysOf(
  { above, from, below }: ReturnType<typeof rangeOf>,
  status: string | undefined,
): IDBKeyRange | undefined {
  const least = above ?? from ?? ''
  if (below !== undefined && below <= least) return undefined
  const keyOf = (id: IDBValidKey): IDBValidKey => (status === undefined ? id : [status, id])
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

async function history(tx: IDBTransaction, taskId: string): Promise<readonly AttemptLog[]> {
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
  const notes = logs.slice(0, noted).filter(soundLog).reverse()
  const attempts = logs.slice(noted).filter(soundLog)
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
