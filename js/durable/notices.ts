/** What a turn has found, or made of a task, that somebody should hear of. */

import type { Turn } from '../api/store.ts'
import { discard } from '../call/answers.ts'
import { accepted } from '../call/fetch-repeat.ts'
import { VERDICT } from '../core/codes.ts'
import type { Runner } from '../runner/runner.ts'
import { release } from '../tasks/callers.ts'
import { showEntry } from '../tasks/history.ts'
import type { Ruling } from '../tasks/ruling.ts'
import type { Task } from '../tasks/task.ts'

export function report({ trimmed, unreadable }: Turn, { host, limits }: Runner): void {
  if (trimmed) {
    const { maxDeadLetters, deadLetterMs } = limits.retention
    const message = `${trimmed} dead letter(s) were purged: more than ${maxDeadLetters}, or older than ${deadLetterMs} ms`
    host.degraded('dead_letters_trimmed', message)
  }
  if (unreadable) {
    const message = `${unreadable} stored task(s) cannot be read by this version: they are kept and left alone`
    host.degraded('unreadable_record', message)
  }
}

/** A record that is shown, and that no task can be made of. */
export function unreadable({ host, words }: Runner, taskId: string, error: unknown, what: string): void {
  host.degraded('unreadable_record', `task ${taskId} cannot be sent (${words(error)}): ${what}`, taskId)
}

/** The task waits again: answers a deferring caller, and says so. */
export function tellGoesOn(runner: Runner, task: Task, { sent, verdict }: Ruling, delayMs: number): void {
  const { events } = runner.host
  if (task.call?.options.mode === 'defer' && task.waiter && sent) {
    release(task)?.resolve(accepted(task.call.transport, task.taskId, runner.traceId(task.call)))
    discard(task.last?.answer)
  }
  if (verdict === VERDICT.parked) events.emit('unauthorized', { task: runner.show(task) })
  else if (sent && events.has('retry')) {
    const log = showEntry(task.taskId, task.entries[task.entries.length - 1] as (typeof task.entries)[number])
    events.emit('retry', { task: runner.show(task), delayMs, log })
  }
}
