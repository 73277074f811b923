/** Tasks that a turn has hidden: a store may be full of them while no lane of its answer says so. */

import { type Claim, LANES_SHOWN, type StoredTask, type Turn } from '../api/store.ts'
import type { StoredState } from './state.ts'

/** Tasks of a page where it is asked for one. */
const LOOKED_AT_ONCE = 16

/**
 * At least 1 if the store holds any task that waits or runs for those this queue sends for, of a turn that shows none of their lanes: a claim
 * hides the lanes that it lets start nothing, and without a claim lanes of other principals may take all the places.
 */
export async function hiddenTasks(
  { store, whose }: StoredState,
  claim: Claim | null,
  { lanes }: Turn,
): Promise<number> {
  const hides = claim ? claim.bounds?.some(({ max }) => max === 0) : lanes.length >= LANES_SHOWN
  if (!hides) return 0
  for (const status of ['PENDING', 'IN_FLIGHT'] as const) {
    let page: { readonly tasks: readonly StoredTask[]; readonly cursor?: string } = { tasks: [], cursor: '' }
    // some show nothing: what cannot be read was put aside, or will be
    while (page.tasks.length === 0 && page.cursor !== undefined)
      page = await store.list({ status, ...whose, limit: LOOKED_AT_ONCE, cursor: page.cursor })
    if (page.tasks.length > 0) return page.tasks.length
  }
  return 0
}
