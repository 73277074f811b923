/**
 * What a store object remembers from one transaction to the next: counters and lanes, as of a version of the database. The
 * next one works on them at once. Where another tab has written since, the database refuses that, and it is done again with
 * what is there now. So nobody waits for an answer before writing.
 */

import type { Lane } from './lanes.ts'
import { done } from './request.ts'
import { readState, type State } from './state.ts'

export interface Snapshot {
  readonly state: State
  /** All of them. */
  readonly lanes: ReadonlyMap<string, Lane>
}

/** What was remembered does not do: another has written since, or there is more to be known. */
export class Stale extends Error {}

export async function readSnapshot(tx: IDBTransaction): Promise<Snapshot> {
  const apart: Promise<Lane[]> = done(tx.objectStore('lanes').getAll())
  const state = await readState(tx)
  return { state, lanes: new Map([...state.lanes, ...(await apart)].map((lane) => [lane.name, lane])) }
}
