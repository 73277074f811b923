/** Counts what one principal has in the store. Its lanes are counted as they change; its dead letters are looked up. */

import type { OwnCounts } from '../../api/store.ts'
import type { Database } from './database.ts'

export const ownCounts = (database: Database, principal: string | null): OwnCounts =>
  counted(database, principal, 'principal')

/** Where all lanes stand in one line: only their names say whose they are. */
export const ownCountsByName = (database: Database, principal: string | null): OwnCounts =>
  counted(database, principal, "iif(instr(name, ' ') = 0, NULL, substr(name, instr(name, ' ') + 1))")

function counted(database: Database, principal: string | null, whose: string): OwnCounts {
  const lanes = database.one<{ readonly pending: number; readonly inFlight: number }>(
    `SELECT TOTAL(pending) AS pending, TOTAL(inFlight) AS inFlight FROM lanes WHERE ${whose} IS ?`,
    principal,
  )
  const dead = database.one<{ readonly exhausted: number }>(
    "SELECT COUNT(*) AS exhausted FROM tasks WHERE status = 'EXHAUSTED' AND principal IS ?",
    principal,
  )
  return { pending: lanes?.pending ?? 0, inFlight: lanes?.inFlight ?? 0, exhausted: dead?.exhausted ?? 0 }
}
