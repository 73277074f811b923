/** Which runners have callers who wait. */

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

export function liveHomes(tx: Transaction): string[] {
  tx.run('DELETE FROM homes WHERE until <= ?', tx.now)
  return tx.database.all<{ owner: string }>('SELECT owner FROM homes ORDER BY owner').map(({ owner }) => owner)
}
