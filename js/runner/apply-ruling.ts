/** What becomes of a task in memory once the core has ruled. */

import { ENDED, reasonOf, VERDICT } from '../core/codes.ts'
import { showEntry } from '../tasks/history.ts'
import { causeOf } from '../tasks/release-cause.ts'
import type { Ruling } from '../tasks/ruling.ts'
import type { Task } from '../tasks/task.ts'
import type { Runner } from './runner.ts'

export function decide(runner: Runner, task: Task, ruling: Ruling): void {
  const { verdict, attemptNumber, entry } = ruling
  if (verdict === VERDICT.retry || verdict === VERDICT.parked) {
    goOn(runner, task, ruling)
  } else if (verdict === VERDICT.succeeded) {
    task.log(entry('succeeded', 'succeeded'))
    runner.end(task, 'SUCCEEDED')
  } else if (verdict === VERDICT.cancelled) {
    task.log(entry('cancelled', 'cancelled'))
    runner.end(task, 'CANCELLED')
  } else if (verdict >= ENDED) {
    task.log(entry('exhausted', reasonOf(verdict)))
    task.attemptNumber = attemptNumber
    if (!task.announced) runner.emitQueued(task)
    runner.end(task, 'EXHAUSTED', reasonOf(verdict))
  }
}

function goOn(runner: Runner, task: Task, ruling: Ruling): void {
  const { verdict, why, sent, attemptNumber, entry } = ruling
  const { core, host } = runner
  const parked = verdict === VERDICT.parked
  task.status = 'PENDING'
  task.attemptNumber = core.attempts(task.slot)
  task.nextAttemptAt = parked ? null : core.dueAt(task.slot)
  task.unauthorized = !parked && why?.authorize === true
  const given = task.attemptNumber < attemptNumber ? 'released' : 'retry'
  const cause = why?.refunded ? causeOf(runner, task, ruling) : undefined
  const line = parked
    ? entry('parked', 'parked until resume()', Number.NaN, cause ?? 'unauthorized')
    : entry(given, 'next', task.nextAttemptAt as number, cause)
  task.log(line)
  if (host.handOver?.(task, ruling, () => runner.cancel(task, undefined))) return
  if (!task.announced) runner.announce(task)
  else if (parked) host.events.emit('unauthorized', { task: runner.show(task) })
  else if (sent && host.events.has('retry')) {
    const log = showEntry(task.taskId, line)
    host.events.emit('retry', { task: runner.show(task), delayMs: why?.delayMs ?? 0, log })
  }
}
