import { internalsOf } from '../queue/internals.ts'
import type { RetryQueue } from '../queue/queue.ts'

/**
 * Has a queue that lives longer than a test begin anew: cancels its tasks, whose callers' promises reject as with `cancel`, ends its pauses,
 * purges its dead letters, and forgets circuits, budgets, and the waits that servers have asked for. In a store, waits and ended tasks stay:
 * give each test a store of its own.
 *
 * @example
 * afterEach(() => reset(queue))
 */
export async function reset(queue: RetryQueue): Promise<void> {
  const { host } = internalsOf(queue, 'reset')
  const all = { allPrincipals: true }
  queue.resume()
  await queue.clear(all)
  const { tasks } = await queue.list({ ...all, status: 'IN_FLIGHT' })
  for (const { taskId } of tasks) await queue.cancel(taskId, all)
  await queue.deadLetters.purgeAll(all)
  host.forget?.()
}
