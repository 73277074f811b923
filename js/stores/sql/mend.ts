/**
 * A look at the tables when they are opened: counters, lanes and homes that other code has changed would stop a whole queue.
 * Where they do not agree with the tasks, all are made anew from the tasks, and tasks that cannot be read are put aside on the way.
 */

import { principalIn } from '../../api/records.ts'
import { CLOCK_STEP_MS } from '../../api/store.ts'
import { LONGEST_HOLD_MS, LONGEST_LEASE_MS, MOST_COUNTED } from '../engine/bounds.ts'
import { isLater } from '../engine/rules.ts'
import { storedTask } from '../engine/shown.ts'
import { areCounts, forgetToken, isSoundHold, isWithin, Tally } from '../engine/tally.ts'
import type { Database } from './database.ts'
import { type LaneRow, writeLane } from './lane-rows.ts'
import { type TaskRow, tasksFrom, updateRow } from './rows.ts'
import { type State, shiftLater, writeState } from './state.ts'
import { KEEPING, LIVE, WAITING } from './tables.ts'

const PIECE = 256

/** `now`: the wall clock's. `everyone`: the lanes of all principals stand in one line. */
export function needsMending(database: Database, now: number, everyone = false): boolean {
  const state = database.one<State>('SELECT * FROM state WHERE id = 1')
  if (!state || !isSoundState(state, now)) return true
  const seen = Math.max(now, state.highWater)
  const lanes = database.all<LaneRow & { readonly soonest: number | null }>(
    `SELECT *, (SELECT min(dueAt) FROM tasks INDEXED BY tasks_soonest WHERE lane = name AND ${WAITING}) AS soonest FROM lanes`,
  )
  const pending = database.one<{ readonly all: number; readonly aside: number }>(PENDING)
  const total = { pending: pending?.aside ?? 0, inFlight: 0 }
  for (const lane of lanes) {
    if (
      lane.principal !== lineOf(lane.name, everyone) ||
      !isSoundLane(lane, seen + LONGEST_HOLD_MS) ||
      lane.soonest !== lane.nextDue
    )
      return true
    total.pending += lane.pending
    total.inFlight += lane.inFlight
  }
  const leased = database.one<{ readonly all: number; readonly sound: number }>(
    "SELECT count(*) AS [all], total(leaseUntil <= ?) AS sound FROM tasks INDEXED BY tasks_leases WHERE status = 'IN_FLIGHT'",
    seen + LONGEST_LEASE_MS,
  )
  return (
    pending?.all !== state.pending ||
    total.pending !== state.pending ||
    total.inFlight !== state.inFlight ||
    leased?.all !== state.inFlight ||
    leased.sound !== leased.all ||
    STRANGE.some((sql) => database.one(sql) !== undefined) ||
    database.one('SELECT 1 FROM tasks WHERE row < 1 OR row > ? LIMIT 1', state.lastRow) !== undefined ||
    database.one(`SELECT 1 FROM homes WHERE ${STRANGE_HOME} LIMIT 1`, seen + LONGEST_LEASE_MS) !== undefined
  )
}

/** Counts what waits, and of it what was put aside, which no lane counts. The `+` keeps SQLite from reading each row that waits to look whether it was. */
const PENDING =
  "SELECT count(*) AS [all], (SELECT count(*) FROM tasks WHERE aside = 1 AND +status = 'PENDING') AS aside FROM tasks WHERE status = 'PENDING'"

/** Found only where other code has been: tables that hold anything, and places in line that no lane or task has. A lane of no principal may stand in the line of its origin. */
const STRANGE = [
  "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name IN ('tasks', 'lanes', 'line', 'attempts') AND sql NOT LIKE '% STRICT%'",
  'SELECT 1 FROM lanes WHERE isReady = 1 AND NOT EXISTS (SELECT 1 FROM line WHERE lane = name) LIMIT 1',
  `SELECT 1 FROM line LEFT JOIN lanes ON name = lane WHERE line.principal IS NOT coalesce(lanes.principal, line.principal) OR line.inFlight IS NOT lanes.inFlight
    OR line.served IS NOT lanes.served OR isReady IS NOT 1 LIMIT 1`,
  `SELECT 1 FROM line WHERE NOT EXISTS
    (SELECT 1 FROM tasks INDEXED BY tasks_due WHERE lane = line.lane AND home IS nullif(line.home, '') AND ${WAITING}) LIMIT 1`,
]

const STRANGE_HOME = "typeof(owner) <> 'text' OR typeof(until) NOT IN ('real', 'integer') OR until > ?"

/** Whether a step can have seen this: the clock has not been set back since. */
const isSeen = (highWater: unknown, now: number): boolean =>
  typeof highWater === 'number' && highWater <= now + CLOCK_STEP_MS

function isSoundState(state: State, now: number): boolean {
  const { highWater, clockSteps, lastRow, lastSeq, lastToken, lastServed } = state
  const { pending, inFlight, succeeded, exhausted, cancelled, purged, bytes } = state
  return (
    isSeen(highWater, now) &&
    areCounts(clockSteps, lastRow, lastSeq, lastToken, lastServed) &&
    areCounts(pending, inFlight, succeeded, exhausted, cancelled, purged, bytes)
  )
}

function isSoundLane(lane: LaneRow, latest: number): boolean {
  const { tasks, pending, inFlight, nextDue, readyAt, tokenAt = 0 } = lane
  return (
    typeof lane.name === 'string' &&
    areCounts(tasks, pending, inFlight, lane.served) &&
    tasks >= pending + inFlight &&
    isSoundHold(lane, latest) &&
    isWithin(tokenAt, latest) &&
    readyAt === (nextDue === null ? null : Math.max(nextDue, lane.heldUntil ?? 0, tokenAt)) &&
    (lane.isReady === 1 || lane.lookAt === readyAt)
  )
}

/** The principal whose line a lane stands in. That of all is the one of no principal. */
const lineOf = (lane: unknown, everyone: boolean): string | null =>
  everyone || typeof lane !== 'string' ? null : principalIn(lane)

const NO_HOLD = { heldUntil: 0, holdEndsBy: 0 } as const

/** In one transaction. Says how many tasks were put aside. */
export function mend(database: Database, now: number, everyone = false): number {
  const old = database.one<State>('SELECT * FROM state WHERE id = 1')
  const sound = <K extends keyof State>(name: K): number => (areCounts(old?.[name]) ? (old?.[name] as number) : 0)
  const isStep = !isSeen(old?.highWater, now)
  if (isStep) setBack(database, now, old?.highWater)
  const highWater = isStep ? now : (old?.highWater ?? now)
  const seen = Math.max(now, highWater)
  // no number of JavaScript names such a row
  database.run(
    `UPDATE tasks SET aside = 1, dueAt = NULL, leaseUntil = NULL, status = 'PENDING' WHERE (row < 1 OR row > ${Number.MAX_SAFE_INTEGER}) AND aside = 0`,
  )
  const tally = new Tally()
  let [aside, at, lastRow] = [0, 0, sound('lastRow')]
  for (let rows = tasksFrom(database, 0, PIECE); rows.length > 0; rows = tasksFrom(database, at, PIECE)) {
    for (const row of rows) {
      at = row.row
      if (settled(database, row, seen + LONGEST_LEASE_MS)) aside++
      tally.add(row)
      if (at <= MOST_COUNTED) lastRow = Math.max(lastRow, at)
      else moveRow(database, at, ++lastRow)
    }
  }
  database.run(PASS_ON, now)
  const held = new Map(database.all<LaneRow>('SELECT * FROM lanes').map((lane) => [lane.name, lane]))
  database.run('DELETE FROM lanes')
  database.run('DELETE FROM line')
  for (const [name, counts] of tally.lanes) {
    const { heldUntil = 0, holdEndsBy = 0, served = 0 } = held.get(name) ?? {}
    const isSound = !isStep && isSoundHold({ heldUntil, holdEndsBy }, seen + LONGEST_HOLD_MS)
    const hold = isSound ? { heldUntil, holdEndsBy } : NO_HOLD
    writeLane(database, now, {
      name,
      principal: lineOf(name, everyone),
      ...counts,
      ...hold,
      served: areCounts(served) ? served : 0,
      nextDue: null,
      readyAt: null,
      isReady: 0,
      lookAt: null,
    })
  }
  database.run(`DELETE FROM homes WHERE ${STRANGE_HOME}`, seen + (isStep ? CLOCK_STEP_MS : LONGEST_LEASE_MS))
  // columns that only a file has stay as they are
  database.run(
    `INSERT OR IGNORE INTO state (id, highWater, clockSteps, lastRow, lastSeq, lastToken, lastServed, pending, inFlight, succeeded, exhausted, cancelled, purged, bytes)
      VALUES (1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)`,
  )
  writeState(database, {
    highWater,
    clockSteps: sound('clockSteps') + Number(isStep),
    lastRow,
    lastSeq: Math.max(sound('lastSeq'), tally.lastSeq),
    lastToken: Math.max(sound('lastToken'), tally.lastToken),
    lastServed: sound('lastServed'),
    purged: sound('purged'),
    ...tally.counts,
  })
  return aside
}

/** Gives orders a head again: where the tasks at theirs were put aside, all others would wait for ever. */
const PASS_ON = `UPDATE tasks SET behind = 0, dueAt = CASE WHEN parked = 1 THEN NULL ELSE max(turnAt, ?) END
  WHERE status = 'PENDING' AND aside = 0 AND row IN (SELECT row FROM
    (SELECT row, min(seq) FROM tasks WHERE orderKey IS NOT NULL AND ${LIVE} AND ${KEEPING}
      GROUP BY principal, orderKey HAVING max(behind = 0) = 0))`

/**
 * The clock was set back while no store was open, or the latest time that was seen is not what a step has seen. What was made
 * under the later time goes along; all else stays as it is, so that a wrong number ends no task for its deadline.
 */
function setBack(database: Database, now: number, from: unknown): void {
  const byMs = typeof from === 'number' && Number.isFinite(from) ? now - from : 0
  shiftLater(database, byMs, now)
  database.run(
    "UPDATE tasks SET leaseUntil = ? WHERE status = 'IN_FLIGHT' AND leaseUntil > ?",
    now + CLOCK_STEP_MS,
    now + CLOCK_STEP_MS,
  )
}

/** Gives a task another key of its table: beyond it there is none for later tasks. */
function moveRow(database: Database, from: number, to: number): void {
  if (from === to) return
  database.run('UPDATE tasks SET row = ? WHERE row = ?', to, from)
  for (const table of ['bodies', 'attempts'])
    database.run(`UPDATE OR REPLACE ${table} SET task = ? WHERE task = ?`, to, from)
}

/** Puts a task aside that cannot be read, and ends a lease that no owner was given. Says whether it was put aside. */
function settled(database: Database, row: TaskRow, latest: number): boolean {
  if (row.aside) return false
  const isDamaged = row.isBroken || (!isLater(row) && !storedTask(row))
  const isEndless = row.status === 'IN_FLIGHT' && !isWithin(row.leaseUntil, latest)
  const isForgotten = forgetToken(row)
  if (!isDamaged && !isEndless && !isForgotten) return false
  if (isDamaged) {
    row.aside = true
    row.dueAt = null
    row.parkedIn = null
  }
  if (isDamaged && row.status === 'IN_FLIGHT') row.status = 'PENDING'
  if (isDamaged) row.leaseUntil = null
  else if (isEndless) row.leaseUntil = 0
  updateRow(database, row)
  return isDamaged
}
