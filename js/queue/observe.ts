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
  /** Surrounds one attempt, the caller's own or a replay; may change what it sends, and calls `next` once. */
  attempt?(call: Call, plan: AttemptPlan, next: () => Promise<Finished>): Promise<Finished>
  /** Hears of a call that is about to become a task, and again when that task has its id. */
  onTask?: NonNullable<QueueContext['onTask']>
  /** Hears of a task that has ended, before its caller does. */
  onEnd?: NonNullable<QueueContext['onEnd']>
}

const observed = new WeakMap<QueueContext, Set<Observer>>()

/**
 * Adds an observer around those that are there; returns what takes it off again, in whatever order several come off. An
 * attempt under way ends with the observers it began with.
 */
export function observe(queue: object, observer: Observer): () => void {
  const { host } = internalsOf(queue)
  const known = observed.get(host) ?? new Set()
  observed.set(host, known)
  known.add(observer)
  connect(host, known)
  return () => {
    if (known.delete(observer)) connect(host, known)
  }
}

/** Puts the observers of this moment between the queue and its attempts. */
function connect(host: QueueContext, observers: ReadonlySet<Observer>): void {
  const all = [...observers]
  delete host.watched
  for (const observer of all) {
    const inner: NonNullable<QueueContext['watched']> = host.watched ?? ((_, __, run) => run())
    const around = observer.attempt?.bind(observer)
    if (around) host.watched = (call, plan, run) => around(call, plan, () => inner(call, plan, run))
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
