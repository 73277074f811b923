/** Counts what one principal has in the store. Its lanes are counted as they change; its dead letters are counted by their index. */

import type { OwnCounts } from '../../api/store.ts'
import { nameOf, within } from './keys.ts'
import { readSnapshot } from './state.ts'
import { done } from './transact.ts'

export async function ownCounts(tx: IDBTransaction, principal: string | null): Promise<OwnCounts> {
  const name = nameOf(principal)
  const { lanes } = await readSnapshot(tx)
  let [pending, inFlight] = [0, 0]
  for (const lane of lanes.values()) {
    if (lane.principal !== name) continue
    pending += lane.pending
    inFlight += lane.inFlight
  }
  const exhausted = await done(
    tx
      .objectStore('tasks')
      .index('own')
      .count(within(['EXHAUSTED', name])),
  )
  return { pending, inFlight, exhausted }
}
