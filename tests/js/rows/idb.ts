// Other code of the same origin, which writes to the database of a queue.
import type { NewTask } from '../../../js/api/store.ts'
import { recordOf } from '../../../js/stores/engine/parts.ts'
import { sumOfBytes, sumOfRequest } from '../../../js/stores/engine/sums.ts'
import { done } from '../../../js/stores/indexeddb/transact.ts'
import { type Chance, NUMBERS, PLAIN, TEXTS } from './chance.ts'
import { FIELDS, INIT, POLICY, put } from './sql.ts'

function circle(): object {
  const round: Record<string, unknown> = {}
  round.self = round
  return round
}

/** WebKit walks along a list's holes itself when it keeps the list: there they are no more than it can. */
const MOST_HOLES = /AppleWebKit(?!.*Chrom)/.test(navigator.userAgent) ? 2 ** 16 : 2 ** 32 - 1

/** A few bytes on a disk, and no end of work where code walks along it. */
function holes(): unknown[] {
  const list: unknown[] = []
  list.length = MOST_HOLES
  return list
}

/** Values that a structured clone holds. */
const VALUES: readonly (() => unknown)[] = [
  ...[...PLAIN, ...NUMBERS, ...TEXTS].map((value) => () => value),
  ...[Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, undefined, 2n ** 64n].map((value) => () => value),
  ...[
    () => new Date(0),
    () => new Date(Number.NaN),
    () => new Map([['a', 1]]),
    () => new Set(['a']),
    () => /a/,
    circle,
  ],
  ...[() => new Error('x'), () => new Uint8Array([1]), () => new ArrayBuffer(8), () => new Array(3), () => Object('x')],
  () => new Float64Array(2),
]

/** Values for fields that no index is over: a browser takes a hole for no key, fake-indexeddb walks along them all. */
const UNINDEXED: readonly (() => unknown)[] = [...VALUES, ...Array(12).fill(holes)]
const INDEXED: ReadonlySet<string> = new Set([
  ...['lane', 'home', 'rank', 'dueAt', 'seq', 'leaseUntil', 'lateAt', 'principal', 'orderKey', 'behind', 'parkedIn'],
  ...['keptKey', 'status', 'taskId', 'endedAt'],
])

const said = (value: unknown): string => {
  if (Array.isArray(value) && value.length > 99) return `${value.length} holes`
  try {
    return (JSON.stringify(value) ?? String(value)).slice(0, 60)
  } catch {
    return String(value)
  }
}

const changed = (holder: object, name: string, value: unknown): object => {
  const copy = { ...holder }
  put(copy, name, value)
  return copy
}

/** Sums tell of every change at once. An attacker who changes a row makes its sums anew, and so does this. */
function sumAnew(row: object): object {
  // to write down so many holes takes minutes, and a list of them is refused before any sum is looked at
  if (Object.values(row).some((value) => Array.isArray(value) && value.length > 2 ** 20)) return row
  try {
    const { body, bodySum, ...task } = row as NewTask & { bodySum: number | null }
    const own = body ? sumOfBytes(body) : bodySum
    const requestSum = sumOfRequest({ ...task, bodySum: own }, [JSON.stringify(task.headers), recordOf(task)])
    return { ...row, bodySum: own, requestSum }
  } catch {
    return row // of what is no request there is no sum
  }
}

export async function spoilTask(tx: IDBTransaction, taskId: string, chance: Chance): Promise<string> {
  const tasks = tx.objectStore('tasks')
  const row = (await done(tasks.get(taskId))) as Record<string, object>
  const value = chance.one(VALUES)()
  const kind = chance.below(10)
  if (kind === 0) {
    tx.objectStore('attempts').put(value, [taskId, chance.one([1, 2, -1, 1e300, 'x', 0.5])])
    return `${taskId}: a log = ${said(value)}`
  }
  if (kind === 1) {
    tx.objectStore('bodies').put(value, taskId)
    return `${taskId}: a body = ${said(value)}`
  }
  const holder = kind < 4 ? 'requestInit' : kind < 6 ? 'policy' : undefined
  const name = chance.one(holder === 'requestInit' ? INIT : holder ? POLICY : [...Object.keys(row), ...FIELDS])
  if (name === 'taskId') return `${taskId}: as it was`
  const worse = INDEXED.has(name) ? value : chance.one(UNINDEXED)()
  const spoilt = holder ? { ...row, [holder]: changed(row[holder] ?? {}, name, worse) } : changed(row, name, worse)
  try {
    await done(tasks.put(sumAnew(spoilt)))
  } catch (error) {
    return `${taskId}: refused, ${String(error).slice(0, 60)}`
  }
  return `${taskId}: ${holder ? `${holder}.` : ''}${name} = ${said(worse)}`
}

/** Counters and lanes. */
export async function spoilRest(tx: IDBTransaction, chance: Chance): Promise<string> {
  const meta = tx.objectStore('meta')
  const [key] = (await done(meta.getAllKeys(IDBKeyRange.bound(['state'], ['state', []])))) as [IDBValidKey]
  const state = (await done(meta.get(key))) as { lanes: Record<string, unknown>[] } & Record<string, unknown>
  const value = chance.one(UNINDEXED)()
  const [lane] = state.lanes
  if (lane && chance.below(2) === 0) {
    const name = chance.one(Object.keys(lane).filter((each) => each !== 'name' && each !== 'isApart'))
    meta.put({ ...state, lanes: [changed(lane, name, value), ...state.lanes.slice(1)] }, key)
    return `lane.${name} = ${said(value)}`
  }
  // which principal and database it is are no counters
  const name = chance.one(Object.keys(state).filter((each) => !['only', 'principal', 'id'].includes(each)))
  meta.put(changed(state, name, value), key)
  return `state.${name} = ${said(value)}`
}
