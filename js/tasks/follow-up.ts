/**
 * Reads from a ruling what becomes of its task: the line for the log, and what listeners hear. One reading for tasks in
 * memory and for those in a store; each side then acts on it in its own way.
 */

import type { Emitter } from '../api/emitter.ts'
import type { DegradedCode, QueueEvents } from '../api/events.ts'
import type { ExhaustedReason, ReleaseCause, RetryTask } from '../api/task.ts'
import { ENDED, reasonOf, VERDICT_CANCELLED, VERDICT_PARKED, VERDICT_SUCCEEDED } from '../core/codes.ts'
import { type HistoryEntry, showEntry } from './history.ts'
import type { Ruling } from './ruling.ts'
import type { Task } from './task.ts'

export interface FollowUp {
  /** `released`: due again, and the attempt does not count. `retry`: due again. `parked`: waits for `resume()`. */
  readonly kind: 'succeeded' | 'cancelled' | 'exhausted' | 'parked' | 'released' | 'retry'
  /** Why the task is given up; undefined: it is not. */
  readonly reason: ExhaustedReason | undefined
  readonly entry: HistoryEntry
}

/** The part of the runner that knows why an attempt was given back. */
interface Releases {
  releaseCause(task: Task, ruling: Ruling): ReleaseCause
}

/** `dueAt`: of the next attempt, if one follows by itself. */
export function followUpOf(task: Task, ruling: Ruling, dueAt: number, releases: Releases): FollowUp {
  const { lease } = task
  const kind = kindOf(ruling, lease?.parks === true)
  const reason = kind === 'exhausted' ? (lease?.reason ?? reasonOf(ruling.verdict)) : undefined
  const goesOn = kind === 'retry' || kind === 'released'
  const words = reason ?? (kind === 'parked' ? 'parked until resume()' : goesOn ? 'next' : kind)
  const cause = kind === 'parked' || ruling.why?.refunded ? releases.releaseCause(task, ruling) : undefined
  return { kind, reason, entry: ruling.entry(kind, words, goesOn ? dueAt : Number.NaN, cause) }
}

/** `parks`: credentials are missing that nothing here supplies. */
function kindOf({ verdict, why, attemptNumber }: Ruling, parks: boolean): FollowUp['kind'] {
  if (verdict === VERDICT_SUCCEEDED) return 'succeeded'
  if (verdict === VERDICT_CANCELLED) return 'cancelled'
  if (verdict >= ENDED) return 'exhausted'
  if (verdict === VERDICT_PARKED || (why && parks)) return 'parked'
  // a call that was never sent has no attempt to take back
  return why?.refunded && attemptNumber > 0 ? 'released' : 'retry'
}

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
  { entry }: Pick<FollowUp, 'entry'>,
  { verdict, why }: Ruling,
  { events, degraded }: Hears,
  task: Task,
  shows: Shows,
): void {
  const onRetry = task.call?.options.onRetry
  if (verdict === VERDICT_PARKED) events.emit('unauthorized', { task: shows.show(task) })
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
