/** Counts what one principal has in the store. Its lanes are counted as they change; its dead letters are looked up. */

import type { OwnCounts } from '../../api/store.ts'
import { nameOf } from './keys.ts'
import type { TaskRow } from './rows.ts'
import { readSnapshot } from './state.ts'
import { done } from './transact.ts'

/** Rows read at once: a dead letter may hold its body. */
const PIECE = 64

export async function ownCounts(tx: IDBTransaction, principal: string | null): Promise<OwnCounts> {
  const name = nameOf(principal)
  const { lanes } = await readSnapshot(tx)
  let [pending, inFlight] = [0, 0]
  for (const lane of lanes.values()) {
    if (lane.principal !== name) continue
    pending += lane.pending
    inFlight += lane.inFlight
  }
  return { pending, inFlight, exhausted: await deadOf(tx, name) }
}

async function deadOf(tx: IDBTransaction, name: TaskRow['principal']): Promise<number> {
  const index = tx.objectStore('tasks').index('status')
  let found = 0
  for (let from: string | undefined; ; ) {
    const lower = from === undefined ? ['EXHAUSTED'] : ['EXHAUSTED', from]
    const range = IDBKeyRange.bound(lower, ['EXHAUSTED', []], from !== undefined)
    const rows: TaskRow[] = await done(index.getAll(range, PIECE))
    found += rows.filter((row) => row.principal === name).length
    if (rows.length < PIECE) return found
    from = rows.at(-1)?.taskId
  }
}
