/** Whose requests are made now, in all tabs: a browser has one set of cookies. */

import type { Transaction } from './transaction.ts'

export function switchTo(tx: Transaction, principal: string | null): void {
  if (tx.state.principal === principal) return
  tx.state.principal = principal
  tx.touch()
  tx.hint('principal')
}
