/** Which runners have callers who wait. */

import type { Transaction } from './transaction.ts'

export function holdHome(tx: Transaction, owner: string, forMs: number): void {
  if (forMs > 0) tx.run('INSERT OR REPLACE INTO homes (owner, until) VALUES (?, ?)', owner, tx.now + forMs)
  else tx.run('DELETE FROM homes WHERE owner = ?', owner)
}

export function liveHomes(tx: Transaction): string[] {
  tx.run('DELETE FROM homes WHERE until <= ?', tx.now)
  return tx.database.all<{ owner: string }>('SELECT owner FROM homes ORDER BY owner').map(({ owner }) => owner)
}
