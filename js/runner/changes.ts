/**
 * Tells listeners that tasks have changed. What changes together is reported once: a listener most often lists the tasks anew. Nothing is
 * gathered for a scope without listeners.
 */

import type { Changed, QueueContext, TaskChanges } from './context.ts'

interface Heard {
  readonly taskIds: Set<string>
  others: boolean
}

/** The `changed` of a queue. */
export function changesOf(host: QueueContext): (change: Changed) => void {
  const { events } = host
  const heard: Partial<Record<keyof TaskChanges, Heard>> = {}
  const tellSoon = (scope: keyof TaskChanges): Heard => {
    const taskIds = new Set<string>()
    const all: Heard = { taskIds, others: false }
    queueMicrotask(() => {
      delete heard[scope]
      events.emit(scope, { taskIds: [...taskIds], others: all.others })
    })
    return all
  }
  return ({ taskId, others = false, isStores }) => {
    if (host.snapshot) host.snapshot = undefined
    if (!events.has('queue') && !events.has('store')) return
    for (const scope of ['queue', 'store'] as const) {
      if (!events.has(scope) || (isStores && scope === 'queue')) continue
      heard[scope] ??= tellSoon(scope)
      if (taskId !== undefined) heard[scope].taskIds.add(taskId)
      heard[scope].others ||= others
    }
  }
}
