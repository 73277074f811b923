/**
 * A look at the tables when they are opened: counters, lanes and homes that other code has changed would stop a whole queue.
 * Where they do not agree with the tasks, all are made anew from the tasks, and tasks that cannot be read are put aside on the way.
 */

import { principalIn, RECORD_SCHEMA } from '../../api/records.ts'
import { areCounts, CENTURY_MS, isWithin, Tally, YEAR_MS } from '../engine/tally.ts'
import type { Database } from './database.ts'
import { type LaneRow, writeLane } from './lane-rows.ts'
import { storedTask, type TaskRow, tasksFrom, updateRow } from './rows.ts'
import type { State } from './state.ts'
import { WAITING } from './tables.ts'

/** Longer than any home is held. */
const HOME_MS = 86_400_000
const PIECE = 256

/** `now`: the wall clock's. */
export function needsMending(database: Database, now: number): boolean {
  const state = database.one<State>('SELECT * FROM state WHERE id = 1')
  if (!state || !isSoundState(state, now)) return true
  const latest = Math.max(now, state.highWater) + YEAR_MS
  const lanes = database.all<LaneRow & { readonly soonest: number | null }>(
    `SELECT *, (SELECT min(dueAt) FROM tasks INDEXED BY tasks_soonest WHERE lane = name AND ${WAITING}) AS soonest FROM lanes`,
  )
  const total = { pending: 0, inFlight: 0 }
  for (const lane of lanes) {
    if (!isSoundLane(lane, latest) || lane.soonest !== lane.nextDue) return true
    total.pending += lane.pending
    total.inFlight += lane.inFlight
  }
  const leased = database.one<{ readonly n: number }>(
    "SELECT count(*) AS n FROM tasks INDEXED BY tasks_leases WHERE status = 'IN_FLIGHT' AND leaseUntil <= ?",
    latest,
  )
  return (
    total.pending !== state.pending ||
    total.inFlight !== state.inFlight ||
    leased?.n !== state.inFlight ||
    STRANGE.some((sql) => database.one(sql) !== undefined) ||
    database.one('SELECT 1 FROM tasks WHERE row < 1 OR row > ? LIMIT 1', state.lastRow) !== undefined ||
    database.one(`SELECT 1 FROM homes WHERE ${STRANGE_HOME} LIMIT 1`, latest - YEAR_MS + HOME_MS) !== undefined
  )
}

/** Found only where other code has been: tables that hold anything, and places in line that no lane or task has. */
const STRANGE = [
  "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name IN ('tasks', 'lanes', 'line', 'attempts') AND sql NOT LIKE '% STRICT%'",
  'SELECT 1 FROM lanes WHERE isReady = 1 AND NOT EXISTS (SELECT 1 FROM line WHERE lane = name) LIMIT 1',
  `SELECT 1 FROM line LEFT JOIN lanes ON name = lane WHERE line.principal IS NOT lanes.principal OR line.inFlight IS NOT lanes.inFlight
    OR line.served IS NOT lanes.served OR isReady IS NOT 1 LIMIT 1`,
  `SELECT 1 FROM line WHERE NOT EXISTS
    (SELECT 1 FROM tasks INDEXED BY tasks_due WHERE lane = line.lane AND home IS nullif(line.home, '') AND ${WAITING}) LIMIT 1`,
]

const STRANGE_HOME = "typeof(owner) <> 'text' OR typeof(until) NOT IN ('real', 'integer') OR until > ?"

function isSoundState(state: State, now: number): boolean {
  const { highWater, clockSteps, lastRow, lastSeq, lastToken, lastServed } = state
  const { pending, inFlight, succeeded, exhausted, cancelled, purged, bytes } = state
  return (
    isWithin(highWater, now + CENTURY_MS) &&
    areCounts(clockSteps, lastRow, lastSeq, lastToken, lastServed) &&
    areCounts(pending, inFlight, succeeded, exhausted, cancelled, purged, bytes)
  )
}

function isSoundLane(
  { name, principal, tasks, pending, inFlight, served, heldUntil, nextDue, readyAt, isReady, lookAt }: LaneRow,
  latest: number,
): boolean {
  return (
    typeof name === 'string' &&
    principal === principalIn(name) &&
    areCounts(tasks, pending, inFlight, served) &&
    tasks >= pending + inFlight &&
    isWithin(heldUntil, latest) &&
    readyAt === (nextDue === null ? null : Math.max(nextDue, heldUntil)) &&
    (isReady === 1 || lookAt === readyAt)
  )
}

/** In one transaction. Says how many tasks were put aside. */
export function mend(database: Database, now: number): number {
  const old = database.one<State>('SELECT * FROM state WHERE id = 1')
  const sound = <K extends keyof State>(name: K): number => (areCounts(old?.[name]) ? (old?.[name] as number) : 0)
  const highWater = old && isWithin(old.highWater, now + CENTURY_MS) ? old.highWater : now
  const latest = Math.max(now, highWater) + YEAR_MS
  // no number of JavaScript names such a row
  database.run(
    `UPDATE tasks SET aside = 1, dueAt = NULL, leaseUntil = NULL, status = 'PENDING' WHERE (row < 1 OR row > ${Number.MAX_SAFE_INTEGER}) AND aside = 0`,
  )
  const tally = new Tally()
  let [aside, lastRow] = [0, 0]
  for (let rows = tasksFrom(database, 0, PIECE); rows.length > 0; rows = tasksFrom(database, lastRow, PIECE)) {
    for (const row of rows) {
      lastRow = row.row
      if (settled(database, row, latest)) aside++
      tally.add(row)
    }
  }
  const held = new Map(database.all<LaneRow>('SELECT * FROM lanes').map((lane) => [lane.name, lane]))
  database.run('DELETE FROM lanes')
  database.run('DELETE FROM line')
  for (const [name, counts] of tally.lanes) {
    const { heldUntil = 0, served = 0 } = held.get(name) ?? {}
    const hold = isWithin(heldUntil, latest) ? (heldUntil ?? 0) : 0
    writeLane(database, now, {
      name,
      principal: principalIn(name),
      ...counts,
      heldUntil: hold,
      served: areCounts(served) ? served : 0,
      nextDue: null,
      readyAt: null,
      isReady: 0,
      lookAt: null,
    })
  }
  database.run(`DELETE FROM homes WHERE ${STRANGE_HOME}`, latest - YEAR_MS + HOME_MS)
  const { counts } = tally
  database.run(
    'INSERT OR REPLACE INTO state (id, highWater, clockSteps, lastRow, lastSeq, lastToken, lastServed, pending, inFlight, succeeded, exhausted, cancelled, purged, bytes) VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
    ...[highWater, sound('clockSteps'), Math.max(sound('lastRow'), lastRow), Math.max(sound('lastSeq'), tally.lastSeq)],
    ...[Math.max(sound('lastToken'), tally.lastToken), sound('lastServed')],
    ...[
      counts.pending,
      counts.inFlight,
      counts.succeeded,
      counts.exhausted,
      counts.cancelled,
      sound('purged'),
      counts.bytes,
    ],
  )
  return aside
}

/** Puts a task aside that cannot be read, and ends a lease that no owner was given. Says whether it was put aside. */
function settled(database: Database, row: TaskRow, latest: number): boolean {
  if (row.aside) return false
  const isDamaged = row.isBroken || (row.schema <= RECORD_SCHEMA && !storedTask(row))
  const isEndless = row.status === 'IN_FLIGHT' && !isWithin(row.leaseUntil, latest)
  if (!isDamaged && !isEndless) return false
  if (isDamaged) {
    row.aside = true
    row.dueAt = null
    row.parkedIn = null
  }
  if (isDamaged && row.status === 'IN_FLIGHT') row.status = 'PENDING'
  row.leaseUntil = isDamaged ? null : 0
  updateRow(database, row)
  return isDamaged
}
