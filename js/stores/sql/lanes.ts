/** Lane rows: what a turn must know of thousands of tasks without reading one of them. */

import type { Database } from './database.ts'
import { WAITING } from './tables.ts'
import type { Transaction } from './transaction.ts'

export interface LaneRow {
  readonly name: string
  readonly principal: string | null
  /** Of whatever status: without any, the lane is nothing but its hold. */
  readonly tasks: number
  readonly pending: number
  readonly inFlight: number
  /** In the past: not held. */
  readonly heldUntil: number
  /** The higher, the later a task of it was claimed; 0: never. */
  readonly served: number
  /** When the first task of it is due; null: none is. */
  readonly nextDue: number | null
  /** The later of `nextDue` and the end of the hold; null as `nextDue`. */
  readonly readyAt: number | null
}

/** A lane inside a transaction; `nextDue` and `readyAt` are found when it is written. */
export interface Lane {
  readonly name: string
  readonly principal: string | null
  tasks: number
  pending: number
  inFlight: number
  heldUntil: number
  served: number
  dirty: boolean
}

export function readLane(database: Database, name: string, principal: string | null): Lane {
  const row = database.one<LaneRow>('SELECT * FROM lanes WHERE name = ?', name)
  const { tasks = 0, pending = 0, inFlight = 0, heldUntil = 0, served = 0 } = row ?? {}
  return { name, principal: row ? row.principal : principal, tasks, pending, inFlight, heldUntil, served, dirty: false }
}

export function writeLane(tx: Transaction, lane: Lane): void {
  lane.dirty = false
  const { name, principal, tasks, pending, inFlight, heldUntil } = lane
  const served = tasks === 0 ? 0 : lane.served
  if (tasks === 0 && heldUntil <= tx.now) {
    tx.run('DELETE FROM lanes WHERE name = ?', name)
    return
  }
  const nextDue = soonestDue(tx.database, name)
  const readyAt = nextDue === null ? null : Math.max(nextDue, heldUntil)
  tx.run(
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

/** Lanes whose hold was all they had. */
export function dropEmptyLanes(tx: Transaction): void {
  tx.run('DELETE FROM lanes WHERE tasks = 0 AND heldUntil <= ?', tx.now)
}
