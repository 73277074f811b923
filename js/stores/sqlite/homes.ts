/** Runners whose callers wait, and what an owner has in the file at all. */

import type { Database } from '../sql/database.ts'
import type { Transaction } from '../sql/transaction.ts'

export function holdHome(tx: Transaction, owner: string, forMs: number): void {
  if (forMs > 0) tx.run('INSERT OR REPLACE INTO homes (owner, until) VALUES (?, ?)', owner, tx.now + forMs)
  else tx.run('DELETE FROM homes WHERE owner = ?', owner)
}

/** Live or not. */
export function hasHomes(database: Database): boolean {
  return database.one('SELECT 1 FROM homes LIMIT 1') !== undefined
}

/** Those that are live, but for others that the transaction has ended. */
export const homesIn = (tx: Transaction): string[] =>
  tx.database.all<{ owner: string }>('SELECT owner FROM homes WHERE until > ?', tx.now).map(({ owner }) => owner)

export function liveHomes(tx: Transaction): string[] {
  tx.run('DELETE FROM homes WHERE until <= ?', tx.now)
  return tx.database.all<{ owner: string }>('SELECT owner FROM homes ORDER BY owner').map(({ owner }) => owner)
}

/** Ends the homes of owners whose process is gone. */
export function endHomes(tx: Transaction, owners: readonly string[]): void {
  for (const owner of owners) tx.run('DELETE FROM homes WHERE owner = ?', owner)
}

/** Whether an owner has a lease or is a home, live or not. */
export function hasLeft(database: Database, owner: string): boolean {
  const lease = "SELECT 1 FROM tasks INDEXED BY tasks_leases WHERE status = 'IN_FLIGHT' AND owner = ?"
  return database.one(`${lease} UNION ALL SELECT 1 FROM homes WHERE owner = ? LIMIT 1`, owner, owner) !== undefined
}
