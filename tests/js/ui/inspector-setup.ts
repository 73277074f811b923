/** Tasks as a source gives them, and a source whose lists lie in an array. */

import type { InspectorTask } from '../../../js/ui/inspector/source.ts'
import type { Ask } from '../../../js/ui/inspector/task-pages.ts'

export const idOf = (n: number): string => `0199a3b4-6c58-7000-8a4f-${n.toString(16).padStart(12, '0')}`

export function taskOf(n: number, more: Partial<InspectorTask> = {}): InspectorTask {
  return {
    taskId: idOf(n),
    idempotencyKey: `order-${n}`,
    targetUrl: `https://api.test/orders/${n}`,
    method: 'POST',
    headers: {},
    withheldHeaders: [],
    policyId: 'default',
    principal: null,
    attemptNumber: 1,
    nextAttemptAt: null,
    createdAt: 0,
    status: 'PENDING',
    ...more,
  }
}

export interface Shelf {
  tasks: InspectorTask[]
  readonly ask: Ask
  /** How many were asked for each time. */
  readonly limits: number[]
}

/** Rising by id, with ids as cursors, as a store has them; `falling`: the newest first, as a service does. */
export function shelf(count: number, order: 'rising' | 'falling' = 'rising'): Shelf {
  const limits: number[] = []
  const found: Shelf = {
    tasks: Array.from({ length: count }, (_, n) => taskOf(n)),
    limits,
    async ask({ limit, cursor }) {
      limits.push(limit)
      const sorted = [...found.tasks].sort((a, b) => (a.taskId < b.taskId ? -1 : 1))
      if (order === 'falling') sorted.reverse()
      const after = sorted.filter(
        ({ taskId }) => cursor === undefined || (order === 'rising' ? taskId > cursor : taskId < cursor),
      )
      const tasks = after.slice(0, limit)
      const last = tasks.at(-1)
      return { tasks, ...(after.length > limit && last && { cursor: last.taskId }) }
    },
  }
  return found
}
