/**
 * The shares of principals and origins in a file for everyone: how much of it each has. They are kept as tasks change, so that no
 * enqueue and no claim has to count.
 *
 * A share goes by the name of a lane with the other part left out: an origin, or a space and a principal, and nothing for no principal.
 */

import { laneName, originIn, principalIn } from '../../api/records.ts'
import { isOurs, takesRoom } from '../engine/row.ts'
import type { Database } from '../sql/database.ts'
import { type TaskRow, tasksFrom } from '../sql/rows.ts'
import type { State } from '../sql/state.ts'

export const SHARES: string = `
CREATE TABLE shares (
  name TEXT PRIMARY KEY,
  held INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  inFlight INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
`

interface Share {
  /** Tasks pending, in flight or dead letters; of an origin not counted, nor are their bytes. */
  held: number
  bytes: number
  inFlight: number
}

export const shareOfPrincipal = (principal: string | null): string => laneName(principal, '')

const IS_PRINCIPALS = "substr(name, 1, 1) IN ('', ' ')"

export class Shares {
  readonly #database: Database
  readonly #held = new Map<string, Share>()
  readonly #changed = new Set<string>()

  constructor(database: Database) {
    this.#database = database
  }

  of(name: string): Readonly<Share> {
    return this.#of(name)
  }

  count(row: TaskRow, by: 1 | -1): void {
    const isRunning = row.status === 'IN_FLIGHT'
    if (!isRunning && !takesRoom(row)) return
    // by its lane, which is text whatever other code has made of the row
    this.#add(shareOfPrincipal(principalIn(row.lane)), {
      held: by,
      bytes: by * row.bodyBytes,
      inFlight: isRunning ? by : 0,
    })
    if (isRunning) this.#add(originIn(row.lane), { held: 0, bytes: 0, inFlight: by })
  }

  /** Writes those that have changed. */
  write(): void {
    for (const name of this.#changed) {
      const { held, bytes, inFlight } = this.#of(name)
      if (held <= 0 && inFlight <= 0) this.#database.run('DELETE FROM shares WHERE name = ?', name)
      else
        this.#database.run(
          `INSERT INTO shares (name, held, bytes, inFlight) VALUES (?, ?, ?, ?)
            ON CONFLICT (name) DO UPDATE SET held = excluded.held, bytes = excluded.bytes, inFlight = excluded.inFlight`,
          name,
          held,
          bytes,
          inFlight,
        )
    }
    this.#changed.clear()
  }

  #add(name: string, by: Share): void {
    const share = this.#of(name)
    share.held = Math.max(0, share.held + by.held)
    share.bytes = Math.max(0, share.bytes + by.bytes)
    share.inFlight = Math.max(0, share.inFlight + by.inFlight)
    this.#changed.add(name)
  }

  #of(name: string): Share {
    const known = this.#held.get(name)
    if (known) return known
    const share = {
      ...(this.#database.one<Share>('SELECT held, bytes, inFlight FROM shares WHERE name = ?', name) ?? NONE),
    }
    this.#held.set(name, share)
    return share
  }
}

const NONE: Share = { held: 0, bytes: 0, inFlight: 0 }

/** The bytes of a principal's bodies. */
export const bytesOf = (database: Database, principal: string | null): number =>
  database.one<{ readonly bytes: number }>('SELECT bytes FROM shares WHERE name = ?', shareOfPrincipal(principal))
    ?.bytes ?? 0

type Counted = Pick<State, 'pending' | 'inFlight' | 'exhausted' | 'bytes'>

/** Whether shares together are what is counted, and none is one that cannot be. */
export function areSharesSound(database: Database, everyone: boolean): boolean {
  const found = database.one<Share & { readonly least: number | null; readonly running: number }>(
    `SELECT total(iif(${IS_PRINCIPALS}, held, 0)) AS held, total(iif(${IS_PRINCIPALS}, bytes, 0)) AS bytes,
      total(iif(${IS_PRINCIPALS}, inFlight, 0)) AS inFlight, total(iif(${IS_PRINCIPALS}, 0, inFlight)) AS running,
      min(min(held, bytes, inFlight)) AS least FROM shares`,
  )
  const counted = database.one<Counted>('SELECT pending, inFlight, exhausted, bytes FROM state WHERE id = 1')
  if (!found || !counted) return false
  const { pending, inFlight, exhausted, bytes } = everyone ? counted : NOTHING
  return (
    (found.least ?? 0) >= 0 &&
    found.held === pending + inFlight + exhausted &&
    found.bytes === bytes &&
    found.inFlight === inFlight &&
    found.running === inFlight
  )
}

const NOTHING: Counted = { pending: 0, inFlight: 0, exhausted: 0, bytes: 0 }

const PIECE = 256

/** Counts all tasks anew, as `mend` has left them. */
export function countShares(database: Database, everyone: boolean): void {
  database.run('DELETE FROM shares')
  if (!everyone) return
  const shares = new Shares(database)
  let last = 0
  for (let rows = tasksFrom(database, 0, PIECE); rows.length > 0; rows = tasksFrom(database, last, PIECE)) {
    for (const row of rows) {
      last = row.row
      if (isOurs(row.aside ? { ...row, isStray: false } : row)) shares.count(row, 1)
    }
  }
  shares.write()
}
