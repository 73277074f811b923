/** What becomes of a task in memory once the core has ruled. */

import type { ExhaustedReason, ReleaseCause, TaskStatus } from '../api/task.ts'
import { ENDED, reasonOf, VERDICT } from '../core/codes.ts'
import type { CoreQueue } from '../core/generated/queue/glue.js'
import { showEntry } from '../tasks/history.ts'
import type { Ruling } from '../tasks/ruling.ts'
import type { Task } from '../tasks/task.ts'
import type { QueueContext } from './context.ts'

/** What a ruling has the runner do. */
export interface RulingActs {
  readonly core: CoreQueue
  readonly host: QueueContext
  show(task: Task): ReturnType<Task['show']>
  end(task: Task, status: TaskStatus, reason?: ExhaustedReason): void
  announce(task: Task): void
  emitQueued(task: Task): void
  cancel(task: Task, reason: unknown): unknown
  releaseCause(task: Task, ruling: Ruling): ReleaseCause
}

export function applyRuling(acts: RulingActs, task: Task, ruling: Ruling): void {
  const { verdict, attemptNumber, entry } = ruling
  if (verdict === VERDICT.retry || verdict === VERDICT.parked) {
    goOn(acts, task, ruling)
  } else if (verdict === VERDICT.succeeded) {
    task.log(entry('succeeded', 'succeeded'))
    acts.end(task, 'SUCCEEDED')
  } else if (verdict === VERDICT.cancelled) {
    task.log(entry('cancelled', 'cancelled'))
    acts.end(task, 'CANCELLED')
  } else if (verdict >= ENDED) {
    task.log(entry('exhausted', reasonOf(verdict)))
    task.attemptNumber = attemptNumber
    if (!task.announced) acts.emitQueued(task)
    acts.end(task, 'EXHAUSTED', reasonOf(verdict))
  }
}

function goOn(acts: RulingActs, task: Task, ruling: Ruling): void {
  const { verdict, why, sent, attemptNumber, entry } = ruling
  const { core, host } = acts
  const parked = verdict === VERDICT.parked
  task.status = 'PENDING'
  task.attemptNumber = core.attempts(task.slot)
  task.nextAttemptAt = parked ? null : core.dueAt(task.slot)
  task.unauthorized = !parked && why?.authorize === true
  const given = task.attemptNumber < attemptNumber ? 'released' : 'retry'
  const cause = why?.refunded ? acts.releaseCause(task, ruling) : undefined
  const line = parked
    ? entry('parked', 'parked until resume()', Number.NaN, cause ?? 'unauthorized')
    : entry(given, 'next', task.nextAttemptAt as number, cause)
  task.log(line)
  if (host.handOver?.(task, ruling, () => acts.cancel(task, undefined))) return
  if (!task.announced) acts.announce(task)
  else if (parked) host.events.emit('unauthorized', { task: acts.show(task) })
  else if (sent && host.events.has('retry')) {
    const log = showEntry(task.taskId, line)
    host.events.emit('retry', { task: acts.show(task), delayMs: why?.delayMs ?? 0, log })
  }
}
