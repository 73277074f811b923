/** What a turn tells besides its work: the lanes that come first, and when to ask again. */

import { type Claim, LANES_SHOWN, type LaneView } from '../../api/store.ts'
import { lateAt } from '../rules.ts'
import { boundsOf } from './claim.ts'
import type { Database, Value } from './database.ts'
import type { LaneRow } from './lanes.ts'
import { EXPIRING, WAITING } from './tables.ts'
import type { Transaction } from './transaction.ts'

/** Soonest first, then those of which no task is due, each by name. */
export function lanesShown(tx: Transaction, claim: Claim | null): LaneView[] {
  if (claim && claim.lanes !== 'any') return listedLanes(tx, claim).sort(soonestFirst).slice(0, LANES_SHOWN)
  const shut = new Set([...(claim ? boundsOf(claim) : [])].filter(([, max]) => max <= 0).map(([lane]) => lane))
  const shown: LaneView[] = []
  // each value by a `?` of its own: Node 22 miscounts those that have a number
  // those ready by now are equally soon, so they come by name: the index has them by time
  for (const [ready, order] of [
    ['readyAt <= ?', 'name'],
    ['readyAt > ?', 'readyAt, name'],
    ['readyAt IS NULL', 'name'],
  ] as const) {
    const rows = tx.database.all<LaneRow>(
      `SELECT * FROM lanes WHERE ${claim ? 'principal IS ?' : '? IS NULL'} AND ${ready}
        AND (pending > 0 OR inFlight > 0 OR heldUntil > ?) ORDER BY ${order} LIMIT ?`,
      claim?.principal ?? null,
      ...(ready.endsWith('?') ? [tx.now] : []),
      tx.now,
      LANES_SHOWN + shut.size,
    )
    shown.push(...rows.filter(({ name }) => !shut.has(name)).map((row) => viewOf(tx, row)))
    if (shown.length >= LANES_SHOWN) break
  }
  return shown.slice(0, LANES_SHOWN)
}

function listedLanes(tx: Transaction, claim: Claim): LaneView[] {
  return [...boundsOf(claim)].flatMap(([lane, max]) => {
    const row = max > 0 ? laneOf(tx, lane, claim.principal) : undefined
    const isShown = row && (row.pending > 0 || row.inFlight > 0 || row.heldUntil > tx.now)
    return isShown ? [viewOf(tx, row)] : []
  })
}

const laneOf = (tx: Transaction, name: string, principal: string | null): LaneRow | undefined =>
  tx.database.one<LaneRow>('SELECT * FROM lanes WHERE name = ? AND principal IS ?', name, principal)

function viewOf(tx: Transaction, { name, pending, inFlight, readyAt, heldUntil }: LaneRow): LaneView {
  return {
    lane: name,
    pending,
    inFlight,
    nextInMs: readyAt === null ? null : Math.max(0, readyAt - tx.now),
    heldForMs: Math.max(0, heldUntil - tx.now),
  }
}

function soonestFirst(a: LaneView, b: LaneView): number {
  const [first, second] = [a.nextInMs ?? Number.MAX_VALUE, b.nextInMs ?? Number.MAX_VALUE]
  return first - second || (a.lane < b.lane ? -1 : 1)
}

/** The next instant that matters, from now; null: there is none. */
export function nextMoment(tx: Transaction, claim: Claim | null): number | null {
  const ready = claim ? nextReady(tx, claim) : soonestReady(tx.database)
  const moments = [nextLapse(tx.database), ready].filter((at) => at !== null)
  return moments.length === 0 ? null : Math.max(0, Math.min(...moments) - tx.now)
}

/** When the first lease is over, or the first deadline has passed; null: there is neither. */
export function nextLapse(database: Database): number | null {
  const lease = least(database, "SELECT leaseUntil AS at FROM tasks INDEXED BY tasks_leases WHERE status = 'IN_FLIGHT'")
  const deadline = least(database, `SELECT deadlineAt AS at FROM tasks INDEXED BY tasks_deadlines WHERE ${EXPIRING}`)
  const moments = [lease, deadline === null ? null : lateAt({ deadlineAt: deadline })].filter((at) => at !== null)
  return moments.length === 0 ? null : Math.min(...moments)
}

/** When the first task of any lane but `except` may be claimed; null: none waits for a time. */
export const soonestReady = (database: Database, except: Iterable<string> = []): number | null =>
  least(
    database,
    'SELECT readyAt AS at FROM lanes WHERE readyAt IS NOT NULL AND name NOT IN (SELECT value FROM json_each(?))',
    JSON.stringify([...except]),
  )

const least = (database: Database, sql: string, ...values: readonly Value[]): number | null =>
  database.one<{ at: number }>(`${sql} ORDER BY at LIMIT 1`, ...values)?.at ?? null

/** When the claim would next find something: what is due now and was not claimed is kept back by something else. */
function nextReady(tx: Transaction, claim: Claim): number | null {
  let best: number | null = null
  for (const { name, readyAt, heldUntil } of lanesOf(tx, claim)) {
    if (readyAt === null || (best !== null && readyAt >= best)) continue
    const at = heldUntil > tx.now || readyAt > tx.now ? readyAt : nextDue(tx, name)
    if (at !== null) best = best === null ? at : Math.min(best, at)
  }
  return best
}

function* lanesOf(tx: Transaction, claim: Claim): Generator<LaneRow> {
  const bounds = boundsOf(claim)
  if (claim.lanes !== 'any') {
    for (const [lane, max] of bounds) {
      const row = max > 0 ? laneOf(tx, lane, claim.principal) : undefined
      if (row) yield row
    }
    return
  }
  const ready = 'SELECT * FROM lanes WHERE principal IS ? AND readyAt'
  const isOpen = ({ name }: LaneRow): boolean => (bounds.get(name) ?? 1) > 0
  yield* tx.database.all<LaneRow>(`${ready} <= ?`, claim.principal, tx.now).filter(isOpen)
  // of those still to come the first will do
  yield* tx.database
    .all<LaneRow>(`${ready} > ? ORDER BY readyAt LIMIT ?`, claim.principal, tx.now, bounds.size + 1)
    .filter(isOpen)
}

function nextDue(tx: Transaction, lane: string): number | null {
  return (
    tx.database.one<{ at: number | null }>(
      `SELECT min(dueAt) AS at FROM tasks INDEXED BY tasks_soonest WHERE lane = ? AND ${WAITING} AND dueAt > ?`,
      lane,
      tx.now,
    )?.at ?? null
  )
}
