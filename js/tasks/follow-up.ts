/** Tells listeners what becomes of a task that waits again. */

import type { Emitter } from '../api/emitter.ts'
import type { DegradedCode, QueueEvents } from '../api/events.ts'
import type { RetryTask } from '../api/task.ts'
import { type HistoryEntry, showEntry } from './history.ts'
import type { Ruling } from './ruling.ts'
import type { Task } from './task.ts'

/** Shows a task to its listeners. */
export interface Shows {
  show(task: Task): RetryTask
}

/** The parts of the queue that hear of a task that waits again. */
interface Hears {
  readonly events: Emitter<QueueEvents>
  readonly degraded: (code: DegradedCode, message: string, once?: string) => void
}

/** Tells listeners, and the hook of its call, of a task that waits again. */
export function reportFollowUp(
  entry: HistoryEntry,
  { kind, cause, why }: Ruling,
  { events, degraded }: Hears,
  task: Task,
  shows: Shows,
): void {
  const onRetry = task.call?.options.onRetry
  if (kind === 'parked' && cause === 'unauthorized') events.emit('unauthorized', { task: shows.show(task) })
  else if (entry.sent && (onRetry || events.has('retry'))) {
    const log = showEntry(task.taskId, entry)
    const { responseStatus: status, errorMessage: error } = log
    const notice = { task: shows.show(task), delayMs: why?.delayMs ?? 0, status, error, log }
    // as a promise: one that throws and one that rejects are told of alike, and neither ends the process
    new Promise((resolve) => resolve(onRetry?.(notice))).catch(() =>
      degraded('hook_threw', `onRetry() of ${task.what} threw: the task goes on`, 'onRetry'),
    )
    events.emit('retry', notice)
  }
}
