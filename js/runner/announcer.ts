/** Tells listeners and callers what becomes of tasks, in memory and in a store alike, and counts how they end. */

import type { ExhaustedReason, TaskStatus } from '../api/task.ts'
import type { Call } from '../call/call.ts'
import { repeatableOf } from '../call/fetch-repeat.ts'
import { random128 } from '../platform/random.ts'
import { answer, detachCaller, outcomeOf, reportEnd } from '../tasks/callers.ts'
import { type Task, traceIdOf } from '../tasks/task.ts'
import type { Alerts } from './alerts.ts'
import { changesOf } from './changes.ts'
import type { RunnerPorts } from './ports.ts'

export class Announcer {
  readonly totals = { succeeded: 0, exhausted: 0, cancelled: 0 }
  readonly #ports: RunnerPorts & { readonly gates: { readonly alerts: Alerts } }

  constructor(ports: RunnerPorts & { readonly gates: { readonly alerts: Alerts } }) {
    this.#ports = ports
    ports.host.changed = changesOf(ports.host)
  }

  /** The call has become a task. */
  queued(task: Task): void {
    const { host, gates, held } = this.#ports
    task.announced = true
    gates.alerts.held(held)
    host.changed?.(task)
    if (host.events.has('queued')) host.events.emit('queued', { task: this.#ports.show(task) })
  }

  /** Answers a caller who leaves all but a first attempt to the queue; false: there is none. */
  answerDeferred(task: Task): boolean {
    const { call } = task
    if (call?.options.mode !== 'defer' || !task.waiter) return false
    detachCaller(task)?.resolve(this.accepted(task, call))
    return true
  }

  /** The answer to a deferred call whose task is `task`. */
  accepted(task: Task, call: Call): unknown {
    const { host, stored } = this.#ports
    // the trace that the call is part of, or begins
    const traceId = traceIdOf(call.headers) ?? random128(host.draw)
    const durability = (task.record && stored?.durability) || 'memory'
    return repeatableOf(call).accepted({ taskId: task.taskId, traceId, durability })
  }

  /** The task is terminal: settles every promise that waits for it. */
  ended(task: Task, status: TaskStatus, reason?: ExhaustedReason): void {
    const { host, gates, restTerms } = this.#ports
    task.status = status
    task.reason = reason
    task.nextAttemptAt = null
    if (status === 'SUCCEEDED') this.totals.succeeded++
    else if (status === 'CANCELLED') this.totals.cancelled++
    else {
      this.totals.exhausted++
      gates.alerts.deadLetter()
    }
    host.changed?.(task)
    reportEnd(task, host, this.#ports, restTerms)
    this.#answer(task)
    if (task.outcome) task.outcome.resolve(outcomeOf(task, this.#ports.show(task)))
    task.outcome = undefined
    task.last = undefined
    if (task.isHandedOver && status === 'EXHAUSTED') host.revive?.(task.taskId)
    task.isHandedOver = false
  }

  /** Shown only to those who ask: most tasks end without a caller or a listener that looks. */
  #answer(task: Task): void {
    answer(task, () => outcomeOf(task, this.#ports.show(task)).error)
  }

  /** Tells that no task waits any more, if so. */
  idle(): void {
    const { host, depth } = this.#ports
    if (depth > 0) return
    host.events.emit('idle', {})
    host.idle()
  }
}
