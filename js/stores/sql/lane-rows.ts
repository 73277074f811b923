/** Lane rows: what a turn must know of thousands of tasks without reading one of them. */

import type { Lane } from '../engine/row.ts'
import type { Database } from './database.ts'
import { WAITING } from './tables.ts'

/** The columns. `heldUntil` in the past: not held. */
export interface LaneRow extends Lane {
  readonly principal: string | null
  /** In the past: not held. */
  heldUntil: number
  /** The later of `nextDue` and the end of the hold; null as `nextDue`. */
  readonly readyAt: number | null
}

/** A new one is `principal`'s. */
export function readLane(database: Database, name: string, principal: string | null): LaneRow {
  const row = database.one<LaneRow>('SELECT * FROM lanes WHERE name = ?', name)
  // spelled out, since a row of SQLite is slow to spread
  const { tasks = 0, pending = 0, inFlight = 0, heldUntil = 0, served = 0, nextDue = null, readyAt = null } = row ?? {}
  return {
    name,
    principal: row ? row.principal : principal,
    tasks,
    pending,
    inFlight,
    heldUntil,
    served,
    nextDue,
    readyAt,
  }
}

/** Finds `nextDue` and `readyAt`. A lane that is over by `now` is deleted. */
export function writeLane(database: Database, now: number, lane: LaneRow): void {
  const { name, principal, tasks, pending, inFlight, heldUntil } = lane
  const served = tasks === 0 ? 0 : lane.served
  if (tasks === 0 && heldUntil <= now) {
    database.run('DELETE FROM lanes WHERE name = ?', name)
    return
  }
  const nextDue = soonestDue(database, name)
  const readyAt = nextDue === null ? null : Math.max(nextDue, heldUntil)
  database.run(
    'INSERT OR REPLACE INTO lanes (name, principal, tasks, pending, inFlight, heldUntil, served, nextDue, readyAt) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)',
    name,
    principal,
    tasks,
    pending,
    inFlight,
    heldUntil,
    served,
    nextDue,
    readyAt,
  )
}

function soonestDue(database: Database, lane: string): number | null {
  return (
    database.one<{ dueAt: number | null }>(
      `SELECT min(dueAt) AS dueAt FROM tasks INDEXED BY tasks_soonest WHERE lane = ? AND ${WAITING}`,
      lane,
    )?.dueAt ?? null
  )
}
