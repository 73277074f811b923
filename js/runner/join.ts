/** Callers who ask for what a task does already. Each gets that task's answer, or its own if that takes longer than it waits. */

import { RedriveError } from '../api/errors.ts'
import { deliver, type Finished } from '../call/attempt.ts'
import type { Call } from '../call/call.ts'
import { putAside } from '../call/discard.ts'
import type { RepeatAnswer } from '../call/transport.ts'
import { OUTCOME_RELEASED } from '../core/codes.ts'
import { FOREVER } from '../platform/clock.ts'
import { promote } from '../tasks/callers.ts'
import type { Waiter } from '../tasks/course.ts'
import type { Task } from '../tasks/task.ts'
import type { Runner } from './runner.ts'
import type { Terms } from './stored.ts'

/** Whether the end of a task says nothing against another attempt: its caller or its policy was impatient. */
export const isImpatient = (reason: string): boolean =>
  /^(wait_exceeded|circuit_open|max_attempts|closed)$/.test(reason)

/** `own`: the caller's own attempt, made or given back unsent. `cancel`: ends a task whose last caller has left. */
export function joinTask(
  runner: Runner,
  task: Task,
  call: Call,
  own: Finished<RepeatAnswer>,
  createdAt: number,
  cancel: (reason: unknown) => void,
): Promise<unknown> {
  const { now, settings } = runner.host
  const { signal, waitMs } = call
  if (call.options.mode === 'defer') {
    task.isHandedOver = task.waiter !== undefined
    own.answer?.rest(false, runner.restTerms)
    return Promise.resolve(runner.announcer.accepted(task, call))
  }
  return new Promise((resolve, reject) => {
    let disarm = () => {}
    const leave = () => {
      disarm()
      signal?.removeEventListener('abort', onAbort)
      task.joined = task.joined.filter((waiter) => waiter !== joined)
    }
    const settledBy = (settle: (value: unknown) => void) => (value: unknown) => {
      leave()
      own.answer?.discard()
      settle(value)
    }
    const joined: Waiter = { call, end: (error) => end(error), resolve: settledBy(resolve), reject: settledBy(reject) }
    const isCaller = () => task.waiter === joined
    const onAbort = () => {
      const { reason } = signal as AbortSignal
      const leaves = isCaller()
      joined.reject(reason)
      if (leaves && !promote(task)) cancel(reason)
    }
    const wait = () => {
      const leftMs = createdAt + waitMs - now()
      disarm = settings.clock.after(Math.max(0, leftMs), giveUp)
    }
    const giveUp = () => {
      // a timer holds 24.8 days at most and may wake early
      if (now() < createdAt + waitMs) wait()
      else end()
    }
    const end = (error?: unknown) => {
      leave()
      if (isCaller() && !promote(task)) cancel(undefined)
      if (own.outcome === OUTCOME_RELEASED) {
        const words = `${task.what} is under way as task ${task.taskId} for longer than waitMs ${waitMs}; queue.result(taskId) tells how it ends`
        reject(error ?? new RedriveError('WAIT_EXCEEDED', words))
      } else {
        const { reason, taskId } = task
        new Promise((give) => give(deliver(own, reason ? { reason, taskId } : null))).then(resolve, reject)
      }
    }
    task.joined = [...task.joined, joined]
    if (own.answer) putAside(own.answer, runner.restTerms)
    wait()
    signal?.addEventListener('abort', onAbort, { once: true })
    // while the two requests were compared
    if (signal?.aborted) onAbort()
  })
}

/** The times of a call whose caller waits, or, deferred, does not. */
export function termsOf({ options, waitMs }: Call, createdAt: number): Terms {
  const { expiresAt = FOREVER } = options
  return { createdAt, expiresAt, waitUntil: createdAt + waitMs }
}
