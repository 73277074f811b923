/**
 * Pages of tasks. A page reads along an index, of its principal's tasks alone where one is given, and looks at a bounded part of it: SQLite
 * says first where that part ends, without reading a task, and then which of its tasks fit. Those alone are made.
 */

import { LIST_LOOKED_AT, RECORD_SCHEMA, type StoredTask, type TaskFilter, type TaskStore } from '../../api/store.ts'
import type { TaskStatus } from '../../api/task.ts'
import { fits, rangeOf, statusesIn } from '../engine/listing.ts'
import { storedTask } from '../engine/shown.ts'
import { type Database, LIMIT, type Value, where } from './database.ts'
import { rowById } from './rows.ts'

type Conditions = Readonly<Record<string, Value | undefined>>

/** A part of an index that holds tasks by id. */
interface Source {
  readonly from: string
  readonly part?: Conditions
  /** A condition, as `where` takes it. */
  readonly always?: string
}

const KEYS: Source = { from: 'tasks INDEXED BY tasks_keys', always: "(status = 'CANCELLED') IN (0, 1)" }
const OWN: Source = { from: 'tasks INDEXED BY tasks_own' }
const DEAD: Source = { from: 'tasks INDEXED BY tasks_dead', always: "status = 'EXHAUSTED'" }
const ALL: Source = { from: 'tasks' }

const EVERY: readonly TaskStatus[] = ['PENDING', 'IN_FLIGHT', 'SUCCEEDED', 'EXHAUSTED', 'CANCELLED']

// nothing comes after an id that is no text: a page would end with it for ever
const LISTED = `typeof(id) = 'text' AND recordSchema <= ${RECORD_SCHEMA}`

export function list(database: Database, filter: TaskFilter): Awaited<ReturnType<TaskStore['list']>> {
  const most = Math.max(1, filter.limit)
  const sign = filter.order === 'falling' ? -1 : 1
  const inOrder = (a: string, b: string): number => (a < b ? -sign : sign)
  const { above, from, below } = rangeOf(filter, filter.cursor)
  const range = { 'id > ?': above, 'id >= ?': from, 'id < ?': below }
  const sources = sourcesOf(database, filter)
  const idsOf = (conditions: Conditions, always: string, count: number, after: number): string[] =>
    sources
      .flatMap((source) => {
        const { sql, values } = where({ ...source.part, ...conditions }, `${source.always ?? 'TRUE'} AND ${always}`)
        const ordered = `ORDER BY id ${sign < 0 ? 'DESC' : ''} ${LIMIT} OFFSET CAST(? AS INTEGER)`
        const found = `SELECT id FROM ${source.from} ${sql} ${ordered}`
        return database.all<{ readonly id: string }>(found, ...values, count, after)
      })
      .map(({ id }) => id)
      .sort(inOrder)
  const looked = Math.ceil(Math.max(LIST_LOOKED_AT, most + 1) / sources.length)
  const [end] = idsOf(range, "typeof(id) = 'text'", 1, looked - 1)
  const looksTo = sign < 0 ? { 'id >= ?': end ?? from } : { 'id <= ?': end }
  const found = idsOf({ ...range, ...looksTo, ...fitting(filter) }, LISTED, most + 1, 0).slice(0, most + 1)
  const page = found.slice(0, most)
  const tasks = page.flatMap((id): readonly StoredTask[] => {
    const row = rowById(database, id)
    const task = row && storedTask(row)
    return task && fits(task, filter) ? [task] : []
  })
  const last = found.length > most ? page.at(-1) : end
  return { tasks, ...(last !== undefined && { cursor: last }) }
}

/** Where the tasks of a filter are found. None: there can be none. */
function sourcesOf(database: Database, filter: TaskFilter): readonly Source[] {
  const { principal, idempotencyKey } = filter
  const statuses = statusesIn(filter)
  if (statuses?.length === 0) return []
  if (idempotencyKey !== undefined) {
    const part = { 'idempotencyKey = ?': idempotencyKey, 'principal IS ?': principal }
    const { sql, values } = where(part, KEYS.always)
    const some = database.all(`SELECT 1 FROM ${KEYS.from} ${sql} ${LIMIT}`, ...values, LIST_LOOKED_AT)
    // any number of tasks may have been cancelled under one key: they are looked for among all
    if (some.length < LIST_LOOKED_AT) return [{ ...KEYS, part }]
  }
  if (principal !== undefined)
    return (statuses ?? EVERY).map((status) => ({
      ...OWN,
      part: { 'status = ?': status, 'principal IS ?': principal },
    }))
  return [statuses?.length === 1 && statuses[0] === 'EXHAUSTED' ? DEAD : ALL]
}

/** Conditions that tasks are looked at for, whichever index holds them: hence the `+`. A record is seen here only to be one that may fit. */
function fitting(filter: TaskFilter): Conditions {
  const { origin, reason, policyId, tags = [], idempotencyKey } = filter
  const statuses = statusesIn(filter)
  const texts = [...(policyId === undefined ? [] : [`"policyId":${JSON.stringify(policyId)}`]), ...tags.map(jsonOf)]
  return {
    '+status IN (SELECT value FROM json_each(?))': statuses && JSON.stringify(statuses),
    '+idempotencyKey = ?': idempotencyKey,
    'origin = ?': origin,
    'reason = ?': reason,
    'NOT EXISTS (SELECT 1 FROM json_each(?) WHERE instr(record, value) = 0)':
      texts.length > 0 ? JSON.stringify(texts) : undefined,
  }
}

const jsonOf = (tag: string): string => JSON.stringify(tag)
