/**
 * Rows that are in the table, and that an index does not lead to. Over a changed byte in an index SQLite does not stumble: it finds
 * nothing, as if there were nothing, and a task would wait for ever. So where something that should be there is not found, the table is
 * read from end to end, without an index: 0.2 us a row, and more where it has to come from the disk.
 */

import type { Claim, Step, Turn } from '../../api/store.ts'
import { boundsOf, mostTriedIn } from '../engine/lineup.ts'
import type { Database } from '../sql/database.ts'
import type { LaneRow } from '../sql/lane-rows.ts'
import type { FileTransaction } from './transaction.ts'

/** Whether the task is in the table, and its id does not lead there: nowhere, or to the row of another task. */
function isLost(database: Database, taskId: string): boolean {
  const row = (how: string) =>
    database.one<{ readonly row: number }>(`SELECT row FROM tasks ${how} WHERE id = ?`, taskId)?.row
  const found = row('NOT INDEXED')
  return found !== undefined && found !== row('')
}

/** `isLost` of a task of which no body was found; the row of one that has none says so. */
export function losesBody(database: Database, taskId: string): boolean {
  const row = database.one<{ readonly bodyBytes: number }>('SELECT bodyBytes FROM tasks WHERE id = ?', taskId)
  return row?.bodyBytes !== 0 && isLost(database, taskId)
}

/** Whether a turn settled a task that is here as one that is not. */
export const losesSettled = (database: Database, { settle }: Step, { settled }: Turn): boolean =>
  settle.some(({ lease }, i) => settled[i] === 'gone' && isLost(database, lease.taskId))

/** Whether a turn found nothing that it could start, though tasks wait, nothing that it says keeps them back, and it had room. */
export const isIdle = ({ claim }: Step, turn: Turn): boolean =>
  claim !== null &&
  claim.limit > 0 &&
  turn.claimed.length + turn.ended.length === 0 &&
  !turn.blockedByLimit &&
  (turn.counts?.pending ?? 0) > 0

/** Lanes of tasks that a claim may start, by their own rows. */
const OVERDUE = `SELECT DISTINCT tasks.lane AS name, coalesce(inFlight, 0) AS inFlight FROM tasks NOT INDEXED LEFT JOIN lanes ON lanes.name = tasks.lane
  WHERE aside = 0 AND (? OR tasks.principal IS ?) AND max(coalesce(heldUntil, 0), coalesce(tokenAt, 0)) <= ?
    AND (home = ? OR (? AND (home IS NULL OR home IN (SELECT value FROM json_each(?))))) AND status = 'PENDING' AND dueAt <= ?`

/** Whether the table has what such a turn should have found. */
export function losesDue({ database, now, lineup, ledger }: FileTransaction, owner: string, claim: Claim): boolean {
  const mostOf = boundsOf(claim, lineup)
  const takesOthers = claim.ownHomeOnly ? 0 : 1
  const supplied = JSON.stringify(claim.supplied ?? [])
  const lanes = database.all<Pick<LaneRow, 'name' | 'inFlight'>>(
    OVERDUE,
    lineup.everyone ? 1 : 0,
    claim.principal,
    now,
    owner,
    takesOthers,
    supplied,
    now,
  )
  return lanes.some(
    (lane) => mostOf(lane.name) > 0 && mostTriedIn(claim, lane.name, lineup) === undefined && !ledger?.keepsBack(lane),
  )
}
