/** Lane rows: what a turn must know of thousands of tasks without reading one of them. */

import { FOREVER } from '../../platform/clock.ts'
import { isHoldOver, type Lane } from '../engine/row.ts'
import { type Database, instantIn } from './database.ts'
import { enterLine, type Head, headsOf, isBehind, leaveLine } from './line.ts'
import type { TaskRow } from './rows.ts'
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
  /** When its tokens are as good as new, in a file for everyone. */
  tat?: number | undefined
  /** The line of an origin or a principal that keeps it back, as of this transaction; absent: that of all, or of its principal. */
  waitsIn?: string
}

const CHANGING = [
  ...['tasks', 'pending', 'inFlight', 'heldUntil', 'holdEndsBy', 'served'],
  ...['nextDue', 'readyAt', 'isReady', 'lookAt'],
]
const WRITE = `INSERT INTO lanes (name, principal, ${CHANGING.join(', ')}) VALUES (?, ?, ${CHANGING.map(() => '?').join(', ')})
  ON CONFLICT (name) DO UPDATE SET ${CHANGING.map((name) => `${name} = excluded.${name}`).join(', ')}`

const NO_HOLD = [0, 0] as const

/** SQLite writes each index of which a column is named, whether its value is another or not. */
const COUNT =
  'UPDATE lanes SET tasks = ?, pending = ?, inFlight = ?, heldUntil = ?, holdEndsBy = ?, served = ? WHERE name = ?'

/** A new one is `principal`'s. */
export function readLane(database: Database, name: string, principal: string | null): LaneRow {
  const row = database.one<LaneRow>('SELECT * FROM lanes WHERE name = ?', name)
  return laneOf(row ?? { ...NEW, name, principal })
}

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
  tat: row.tat,
  tokenAt: row.tokenAt,
})

/** Writes the lane as it is at `now`, with its places in line. One that is over is deleted. */
export function writeLane(
  database: Database,
  now: number,
  lane: LaneRow,
  heads = (): readonly Head[] => headsOf(database, now, lane.name),
): void {
  const { name, principal, tasks, pending, inFlight } = lane
  const served = tasks === 0 ? 0 : lane.served
  if (lane.isReady === 1) leaveLine(database, name)
  // not by the number of tasks alone: other code may have written that, and what waits here would be forgotten
  if (tasks <= 0 && pending <= 0 && inFlight <= 0 && holdOf(lane, now)[0] === 0 && !((lane.tat as number) > now)) {
    database.run('DELETE FROM lanes WHERE name = ?', name)
    return
  }
  const times = timesAt(lane, now, pending === 0 ? NEVER : dueTimes(database, now, name))
  write(database, now, { ...lane, served }, times)
  if (times.isReady === 1)
    enterLine(database, { name, principal: lane.waitsIn ?? principal, inFlight, served }, heads())
}

/**
 * Writes a lane to which nothing has happened but that tasks have come. What is known of it says when the next is due, and its places in
 * line stay: an index less is asked, and two are not written. False, with nothing written, where a place changes.
 */
export function writeArrivals(database: Database, now: number, lane: LaneRow, arrivals: readonly TaskRow[]): boolean {
  const { lookAt, isReady, nextDue } = lane
  // its own moment has come
  if (lookAt !== null && lookAt <= now) return false
  const dues = arrivals.flatMap(({ dueAt }) => dueAt ?? [])
  const comingAt = least(
    lookAt,
    dues.filter((at) => at > now),
  )
  const times = timesAt(lane, now, { nextDue: least(nextDue, dues), comingAt })
  if (times.isReady !== isReady || (isReady === 1 && arrivals.some((row) => !isBehind(database, now, row))))
    return false
  write(database, now, lane, times)
  return true
}

const least = (known: number | null, more: readonly number[]): number | null => {
  const first = Math.min(known ?? FOREVER, ...more)
  return first === FOREVER ? null : first
}

type Times = Pick<LaneRow, 'nextDue' | 'readyAt' | 'isReady' | 'lookAt'>

function timesAt(lane: LaneRow, now: number, { nextDue, comingAt }: DueTimes): Times {
  const readyAt = nextDue === null ? null : Math.max(nextDue, holdOf(lane, now)[0], lane.tokenAt ?? 0)
  const isReady = readyAt !== null && readyAt <= now ? 1 : 0
  return { nextDue, readyAt, isReady, lookAt: isReady === 1 ? comingAt : readyAt }
}

const holdOf = (lane: LaneRow, now: number): readonly [heldUntil: number, holdEndsBy: number] =>
  isHoldOver(lane, now) ? NO_HOLD : [lane.heldUntil ?? 0, lane.holdEndsBy]

/** `lane` has its times as they are in the row. */
function write(database: Database, now: number, lane: LaneRow, times: Times): void {
  const { name, principal, tasks, pending, inFlight, served } = lane
  const { nextDue, readyAt, isReady, lookAt } = times
  const hold = holdOf(lane, now)
  const isSame =
    nextDue === lane.nextDue && readyAt === lane.readyAt && isReady === lane.isReady && lookAt === lane.lookAt
  if (!isSame || database.run(COUNT, tasks, pending, inFlight, ...hold, served, name) === 0)
    database.run(WRITE, name, principal, tasks, pending, inFlight, ...hold, served, nextDue, readyAt, isReady, lookAt)
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
