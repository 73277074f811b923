/** Counts what one principal has in the store. Its lanes are counted as they change; its dead letters are looked up. */

import type { OwnCounts } from '../../api/store.ts'
import type { Database } from './database.ts'

type Live = Pick<OwnCounts, 'pending' | 'inFlight'>

/** The principal of a lane by its name alone. */
export const OWNER = "iif(instr(name, ' ') = 0, NULL, substr(name, instr(name, ' ') + 1))"

export function ownCounts(database: Database, principal: string | null): OwnCounts {
  const dead = database.one<{ readonly exhausted: number }>(
    "SELECT COUNT(*) AS exhausted FROM tasks WHERE status = 'EXHAUSTED' AND principal IS ?",
    principal,
  )
  return { ...live(database, principal, 'lanes WHERE principal'), exhausted: dead?.exhausted ?? 0 }
}

/** Where all lanes stand in one line only their names say whose they are. */
export const ownLanesByName = (database: Database, principal: string | null): Live =>
  live(database, principal, `lanes INDEXED BY lanes_own WHERE ${OWNER}`)

function live(database: Database, principal: string | null, whose: string): Live {
  const sums = 'SELECT TOTAL(pending) AS pending, TOTAL(inFlight) AS inFlight'
  return database.one<Live>(`${sums} FROM ${whose} IS ?`, principal) ?? { pending: 0, inFlight: 0 }
}
