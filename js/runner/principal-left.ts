/**
 * Answers callers whose principal has left. Nothing may be sent for them until that principal is back, so each gets at once what there is, and
 * the task ends: it must not go on behind a caller that has its failure. Background work waits.
 */

import { OP_CANCEL } from '../core/codes.ts'
import type { Task } from '../tasks/task.ts'
import type { QueueContext } from './context.ts'
import type { Door } from './door.ts'
import type { RunnerPorts } from './ports.ts'

/**
 * Whether a task's caller waits for nothing: another principal is there. While one logs in, that is not known yet. A caller that has said
 * by itself how long it waits may wait for its principal.
 */
export function waitsInVain({ waiter, status, principal, call }: Task, host: QueueContext): boolean {
  const { mode, waitMs } = call?.options ?? {}
  const isAwaited = waiter !== undefined && mode !== 'defer' && waitMs === undefined
  // an attempt under way may end well
  return isAwaited && status === 'PENDING' && !host.switching && principal !== host.principal
}

/** Follows a change of principal, which may be the one before again by now. */
export function principalLeft(runner: RunnerPorts & { readonly door: Door }): void {
  runner.door.principalLeft()
  for (const task of runner.tasks) endIfLeft(task, runner)
  runner.stored?.callers.endWaits((task) => waitsInVain(task, runner.host), 'wait_exceeded')
}

/** Ends a task in memory whose caller waits for nothing. */
export function endIfLeft(task: Task, runner: RunnerPorts): void {
  if (task.slot < 0 || !waitsInVain(task, runner.host)) return
  runner.guard(() => runner.core.call(OP_CANCEL, task.slot))
  // the core trapped: the task has ended already
  if (task.slot >= 0) runner.end(task, 'EXHAUSTED', 'wait_exceeded')
}
