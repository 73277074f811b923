/**
 * Room for callbacks. Each end of a task with a callback is another task, which is stored whatever the quota: one for each that the quota allows
 * is what a tenant may have beside them.
 */

import type { ApiContext } from './context.ts'

/** How many more tasks with callbacks may be put back for a tenant, and how many tasks it holds. */
export async function callbackRoom(
  principal: string | null,
  { store, quotaOf }: Pick<ApiContext, 'store' | 'quotaOf'>,
): Promise<{ readonly room: number; readonly held: number }> {
  const quota = quotaOf?.(principal)
  const own = quota && (await store.countsOf?.(principal))
  if (!own) return { room: Number.POSITIVE_INFINITY, held: 0 }
  const { capacity = Number.POSITIVE_INFINITY, capacityBytes = Number.POSITIVE_INFINITY } = quota
  const held = own.pending + own.inFlight + own.exhausted
  return { room: (own.bytes ?? 0) < 2 * capacityBytes ? 2 * capacity - held : 0, held }
}
