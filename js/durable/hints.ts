/** What other queues of the store say they have done: a reason to look, and nothing depends on its being heard. */

import type { Hint } from '../api/store.ts'
import type { StoredTasks } from './stored-tasks.ts'

export function hear(durable: StoredTasks, { kind, taskId }: Hint): void {
  const { runner } = durable
  if (runner.stopped) return
  const task = taskId === undefined ? undefined : durable.find(taskId)
  if (kind === 'due') durable.changed()
  else if (kind === 'principal') durable.suspectPrincipal()
  else if (kind === 'cancelled') {
    if (task?.lease && !task.cancelRequested) durable.abort(task, cancelled())
  } else {
    if (task && !task.lease) durable.callers.lookSoon(task)
    durable.loop.roomMade()
    durable.loop.endedElsewhere()
    runner.tickSoon()
  }
}

/** What an attempt is aborted with whose task was cancelled. */
export function cancelled(): DOMException {
  return new DOMException('the task was cancelled', 'AbortError')
}
