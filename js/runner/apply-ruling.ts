/** Has the runner do with a task in memory what the core has ruled. */

import { reportFollowUp } from '../tasks/follow-up.ts'
import type { Ruling } from '../tasks/ruling.ts'
import type { Task } from '../tasks/task.ts'
import type { RunnerPorts } from './ports.ts'

interface RulingActs extends RunnerPorts {
  readonly announcer: { queued(task: Task): void }
  /** Ends a task that would go on waiting, and its caller with it, where the queue closes. false: it does not, or no caller waits. */
  endIfClosing(task: Task): boolean
  announce(task: Task): void
  putAside(task: Task): void
  cancel(task: Task, reason: unknown): unknown
}

export function applyRuling(acts: RulingActs, task: Task, ruling: Ruling, now: number): void {
  const { kind, reason, attempts, why } = ruling
  if (kind === 'lost') return
  const { host } = acts
  const { entry } = ruling
  task.log(entry)
  task.attemptNumber = attempts
  if (kind === 'exhausted' && !task.announced) acts.announcer.queued(task)
  if (kind === 'succeeded') acts.end(task, 'SUCCEEDED', undefined, now)
  else if (kind === 'cancelled') acts.end(task, 'CANCELLED', undefined, now)
  else if (kind === 'exhausted') acts.end(task, 'EXHAUSTED', reason, now)
  else {
    task.status = 'PENDING'
    task.nextAttemptAt = kind === 'parked' ? null : (why?.dueAt ?? null)
    task.unauthorized = kind !== 'parked' && why?.authorize === true
    host.changed?.(task)
    if (host.handOver?.(task, ruling, () => acts.cancel(task, undefined)) || acts.endIfClosing(task)) return
    if (!task.announced) acts.announce(task)
    // a listener may have cancelled it
    if (task.status === 'PENDING') reportFollowUp(entry, ruling, host, task, acts)
    acts.putAside(task)
  }
}
