/**
 * The tokens of a file for everyone while its tables are put right: lanes and shares are made anew from the tasks then, which know
 * nothing of them, and a rate is to hold all the same.
 */

import { CLOCK_STEP_MS } from '../../api/store.ts'
import { LONGEST_HOLD_MS } from '../engine/bounds.ts'
import type { Bucket } from '../engine/limits.ts'
import type { Database } from '../sql/database.ts'
import { readLane, writeLane } from '../sql/lane-rows.ts'

interface Named extends Bucket {
  readonly name: string
}

export interface Tokens {
  readonly now: number
  readonly lanes: readonly Named[]
  readonly shares: readonly Named[]
}

/** Tokens fall back with the clock. */
export function shiftTokens(database: Database, byMs: number): void {
  for (const table of ['lanes', 'shares'])
    database.run(`UPDATE ${table} SET tat = tat + ?, tokenAt = tokenAt + ? WHERE tat > 0`, byMs, byMs)
}

/** Those that were taken, of which any can be. `now`: the wall clock's, which may have been set back while no process had the file open. */
export function tokensIn(database: Database, now: number): Tokens {
  const highWater = database.one<{ readonly highWater: number }>('SELECT highWater FROM state WHERE id = 1')?.highWater
  const byMs = highWater !== undefined && highWater > now + CLOCK_STEP_MS ? now - highWater : 0
  const latest = Math.max(now, (highWater ?? now) + byMs) + LONGEST_HOLD_MS
  const taken = (table: string): Named[] =>
    database
      .all<Named>(`SELECT name, tat, tokenAt FROM ${table} WHERE tat > 0`)
      .map(({ name, tat, tokenAt }) => ({ name, tat: tat + byMs, tokenAt: tokenAt + byMs }))
      .filter(({ tat, tokenAt }) => Number.isFinite(tat) && tokenAt <= latest)
  return { now, lanes: taken('lanes'), shares: taken('shares') }
}

/** After lanes and shares were made anew. */
export function restoreTokens(database: Database, { now, lanes, shares }: Tokens): void {
  for (const { name, tat, tokenAt } of lanes) {
    writeLane(database, now, { ...readLane(database, name, null), tat, tokenAt })
    database.run('UPDATE lanes SET tat = ?, tokenAt = ? WHERE name = ?', tat, tokenAt, name)
  }
  for (const { name, tat, tokenAt } of shares) keepToken(database, name, { tat, tokenAt })
}

/** Writes down the tokens of a share, which may have nothing else. */
export function keepToken(database: Database, share: string, { tat, tokenAt }: Bucket): void {
  database.run(
    `INSERT INTO shares (name, tat, tokenAt) VALUES (?, ?, ?)
      ON CONFLICT (name) DO UPDATE SET tat = excluded.tat, tokenAt = excluded.tokenAt`,
    share,
    tat,
    tokenAt,
  )
}
