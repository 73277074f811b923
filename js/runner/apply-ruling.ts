/** Has the runner do with a task in memory what the core has ruled. */

import type { ExhaustedReason, ReleaseCause, RetryTask, TaskStatus } from '../api/task.ts'
import { VERDICT_STALE } from '../core/codes.ts'
import { followUpOf, reportFollowUp } from '../tasks/follow-up.ts'
import type { Ruling } from '../tasks/ruling.ts'
import type { Task } from '../tasks/task.ts'
import type { QueueContext } from './context.ts'

/** The part of the runner that rulings need. */
export interface RulingActs {
  readonly host: QueueContext
  readonly announcer: { queued(task: Task): void }
  /** Ends a task that would go on waiting, and its caller with it, where the queue closes. false: it does not, or no caller waits. */
  endIfClosing(task: Task): boolean
  show(task: Task): RetryTask
  end(task: Task, status: TaskStatus, reason: ExhaustedReason | undefined, now: number): void
  announce(task: Task): void
  putAside(task: Task): void
  cancel(task: Task, reason: unknown): unknown
  releaseCause(task: Task, ruling: Ruling): ReleaseCause
}

export function applyRuling(acts: RulingActs, task: Task, ruling: Ruling, now: number): void {
  if (ruling.verdict === VERDICT_STALE) return
  const { host } = acts
  const { why, attemptNumber } = ruling
  const dueAt = why?.dueAt ?? Number.NaN
  const followUp = followUpOf(task, ruling, dueAt, acts)
  const { kind, reason, entry } = followUp
  task.log(entry)
  if (kind === 'succeeded') acts.end(task, 'SUCCEEDED', undefined, now)
  else if (kind === 'cancelled') acts.end(task, 'CANCELLED', undefined, now)
  else if (kind === 'exhausted') {
    task.attemptNumber = attemptNumber
    if (!task.announced) acts.announcer.queued(task)
    acts.end(task, 'EXHAUSTED', reason, now)
  } else {
    const isParked = kind === 'parked'
    task.status = 'PENDING'
    task.attemptNumber = why?.attempts ?? 0
    task.nextAttemptAt = isParked ? null : dueAt
    task.unauthorized = !isParked && why?.authorize === true
    host.changed?.(task)
    if (leaves(acts, task, ruling) || acts.endIfClosing(task)) return
    if (!task.announced) acts.announce(task)
    // a listener may have cancelled it
    if (task.status === 'PENDING') reportFollowUp(followUp, ruling, host, task, acts)
    acts.putAside(task)
  }
}

/** Whether the task leaves the queue instead of waiting in it. */
function leaves(acts: RulingActs, task: Task, ruling: Ruling): boolean {
  return acts.host.handOver?.(task, ruling, () => acts.cancel(task, undefined)) === true
}
