/**
 * Watches a queue: tracing, metrics and the gates that the requests of a Worker share see every attempt, every call that becomes
 * a task, and every end. A queue without observers runs as if this file did not exist, and the entry does not load it.
 */

import type { AttemptPlan, Finished } from '../call/attempt.ts'
import type { Call } from '../call/call.ts'
import type { QueueContext } from '../runner/context.ts'
import { internalsOf } from './internals.ts'

/** The part of an adapter that a queue calls. None of its methods may throw, except that `attempt` passes on what `next` throws. */
export interface Observer {
  /** Surrounds one attempt, the caller's own or a replay; calls `next` once, with the plan as it came or one of its own. */
  attempt?(call: Call, plan: AttemptPlan, next: (plan: AttemptPlan) => Promise<Finished>): Promise<Finished>
  /** Hears of a call that is about to become a task, and again when that task has its id. */
  onTask?: NonNullable<QueueContext['onTask']>
  /** Hears of a task that has ended, before its caller does. */
  onEnd?: NonNullable<QueueContext['onEnd']>
}

interface Observed {
  /** The queue's own. */
  readonly attempt: QueueContext['attempt']
  readonly observers: Set<Observer>
}

const observed = new WeakMap<QueueContext, Observed>()

/**
 * Adds an observer around those that are there; returns what takes it off again, in whatever order several come off. An
 * attempt under way ends with the observers it began with.
 */
export function observe(queue: object, observer: Observer): () => void {
  const { host } = internalsOf(queue)
  const known = observed.get(host) ?? { attempt: host.attempt, observers: new Set() }
  observed.set(host, known)
  known.observers.add(observer)
  connect(host, known)
  return () => {
    if (known.observers.delete(observer)) connect(host, known)
  }
}

/** Puts the observers of this moment between the queue and its attempts. */
function connect(host: QueueContext, { attempt, observers }: Observed): void {
  const all = [...observers]
  host.attempt = attempt
  for (const observer of all) {
    const inner = host.attempt
    const around = observer.attempt?.bind(observer)
    if (around) host.attempt = (call, plan) => around(call, plan, (passed) => inner(call, passed))
  }
  delete host.onTask
  delete host.onEnd
  const taskListeners = all.filter(({ onTask }) => onTask)
  const endListeners = all.filter(({ onEnd }) => onEnd)
  if (taskListeners.length > 0) {
    host.onTask = (call, taskId) => {
      for (const each of taskListeners) each.onTask?.(call, taskId)
    }
  }
  if (endListeners.length > 0) {
    host.onEnd = (task) => {
      for (const each of endListeners) each.onEnd?.(task)
    }
  }
}
