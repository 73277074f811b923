/** Lane rows: what a turn must know of thousands of tasks without reading one of them. */

import { isHoldOver, type Lane } from '../engine/row.ts'
import { type Database, instantIn } from './database.ts'
import { enterLine, type Head, headsOf, leaveLine } from './line.ts'
import { WAITING } from './tables.ts'

/** The columns. */
export interface LaneRow extends Lane {
  readonly principal: string | null
  holdEndsBy: number
  /** The later of `nextDue` and the end of the hold; null as `nextDue`. */
  readonly readyAt: number | null
  /** Whether `readyAt` had come when the row was written. */
  readonly isReady: 0 | 1
  /** When time alone changes its places in line: its hold ends, or its next task comes due. `null`: it never does. */
  readonly lookAt: number | null
}

const CHANGING = [
  ...['tasks', 'pending', 'inFlight', 'heldUntil', 'holdEndsBy', 'served'],
  ...['nextDue', 'readyAt', 'isReady', 'lookAt'],
]
const WRITE = `INSERT INTO lanes (name, principal, ${CHANGING.join(', ')}) VALUES (?, ?, ${CHANGING.map(() => '?').join(', ')})
  ON CONFLICT (name) DO UPDATE SET ${CHANGING.map((name) => `${name} = excluded.${name}`).join(', ')}`

/** SQLite writes each index of which a column is named, whether its value is another or not. */
const COUNT =
  'UPDATE lanes SET tasks = ?, pending = ?, inFlight = ?, heldUntil = ?, holdEndsBy = ?, served = ? WHERE name = ?'

/** A new one is `principal`'s. */
export function readLane(database: Database, name: string, principal: string | null): LaneRow {
  const row = database.one<LaneRow>('SELECT * FROM lanes WHERE name = ?', name)
  return laneOf(row ?? { ...NEW, name, principal })
}

const NO_HOLD = [0, 0] as const

const NEW: Omit<LaneRow, 'name' | 'principal'> = {
  tasks: 0,
  pending: 0,
  inFlight: 0,
  heldUntil: 0,
  holdEndsBy: 0,
  served: 0,
  nextDue: null,
  readyAt: null,
  isReady: 0,
  lookAt: null,
}

/** The row as a lane that may be changed. Spelled out, since a row of SQLite is slow to spread. */
export const laneOf = (row: LaneRow): LaneRow => ({
  name: row.name,
  principal: row.principal,
  tasks: row.tasks,
  pending: row.pending,
  inFlight: row.inFlight,
  heldUntil: row.heldUntil,
  holdEndsBy: row.holdEndsBy,
  served: row.served,
  nextDue: row.nextDue,
  readyAt: row.readyAt,
  isReady: row.isReady,
  lookAt: row.lookAt,
})

/** Writes the lane as it is at `now`, with its places in line. One that is over is deleted. */
export function writeLane(
  database: Database,
  now: number,
  lane: LaneRow,
  heads = (): readonly Head[] => headsOf(database, now, lane.name),
): void {
  const { name, principal, tasks, pending, inFlight } = lane
  const hold = isHoldOver(lane, now) ? NO_HOLD : ([lane.heldUntil ?? 0, lane.holdEndsBy] as const)
  const [heldUntil] = hold
  const served = tasks === 0 ? 0 : lane.served
  if (lane.isReady === 1) leaveLine(database, name)
  // not by the number of tasks alone: other code may have written that, and what waits here would be forgotten
  if (tasks <= 0 && pending <= 0 && inFlight <= 0 && heldUntil === 0) {
    database.run('DELETE FROM lanes WHERE name = ?', name)
    return
  }
  const { nextDue, comingAt } = pending === 0 ? NEVER : dueTimes(database, now, name)
  const readyAt = nextDue === null ? null : Math.max(nextDue, heldUntil)
  const isReady = readyAt !== null && readyAt <= now ? 1 : 0
  const lookAt = isReady === 1 ? comingAt : readyAt
  const isSame =
    nextDue === lane.nextDue && readyAt === lane.readyAt && isReady === lane.isReady && lookAt === lane.lookAt
  if (!isSame || database.run(COUNT, tasks, pending, inFlight, ...hold, served, name) === 0)
    database.run(WRITE, name, principal, tasks, pending, inFlight, ...hold, served, nextDue, readyAt, isReady, lookAt)
  if (isReady === 1) enterLine(database, { name, principal, inFlight, served }, heads())
}

interface DueTimes {
  readonly nextDue: number | null
  /** The first after `now`. */
  readonly comingAt: number | null
}

const NEVER: DueTimes = { nextDue: null, comingAt: null }

function dueTimes(database: Database, now: number, lane: string): DueTimes {
  const soonest = `SELECT min(dueAt) FROM tasks INDEXED BY tasks_soonest WHERE lane = ? AND ${WAITING}`
  const both = `SELECT (${soonest}) AS nextDue, (${soonest} AND dueAt > ?) AS comingAt`
  const { nextDue, comingAt } = database.one<DueTimes>(both, lane, lane, now) ?? NEVER
  return { nextDue: instantIn(nextDue), comingAt: instantIn(comingAt) }
}
