/** What other queues of the store say they have done: a reason to look, and nothing depends on its being heard. */

import type { Hint } from '../api/store.ts'
import type { Durable } from './stored-tasks.ts'

export function hear(durable: Durable, { kind, taskId }: Hint): void {
  const { runner } = durable
  if (runner.stopped) return
  const task = taskId === undefined ? undefined : durable.find(taskId)
  if (kind === 'due') durable.changed()
  else if (kind === 'principal') durable.distrust()
  else if (kind === 'cancelled') {
    if (task?.lease && !task.cancelRequested) durable.abort(task, cancelled())
  } else {
    if (task && !task.lease) durable.waiting.lookSoon(task)
    durable.turns.roomMade()
    durable.turns.endedElsewhere()
    runner.pumpSoon()
  }
}

/** What an attempt is aborted with whose task was cancelled. */
export function cancelled(): DOMException {
  return new DOMException('the task was cancelled', 'AbortError')
}
