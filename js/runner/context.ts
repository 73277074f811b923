/** The queue as its parts see it: its options, its clock, its events, and what adapters may hook into. */

import type { Emitter, Report } from '../api/emitter.ts'
import type { QueueEvents } from '../api/events.ts'
import type { TaskChange } from '../api/methods.ts'
import type { QueueStats } from '../api/stats.ts'
import type { TaskStatus } from '../api/task.ts'
import type { AttemptClock, AttemptPlan, Finished } from '../call/attempt.ts'
import type { Call, LearntPrincipal } from '../call/call.ts'
import type { Sanitizer } from '../core/sanitizer.ts'
import type { Checks } from '../options/checks.ts'
import type { RetryQueueOptions, Settings } from '../options/queue-options.ts'
import type { Within } from '../platform/async-context.ts'
import type { Instant } from '../platform/clock.ts'
import type { Draw } from '../platform/random.ts'
import type { Ruling } from '../tasks/ruling.ts'
import type { Task } from '../tasks/task.ts'

/** The changes that `subscribe` tells, by scope. */
export interface TaskChanges {
  queue: TaskChange
  store: TaskChange
}

/** One change of tasks, as the parts of a queue tell it. */
export interface Changed {
  readonly taskId?: string
  /** Tasks may have changed whose ids are not known. */
  readonly others?: boolean
  /** Made by another queue of the store, as far as is known. */
  readonly isStores?: true
}

/** The numbers of `stats()` that are counted without a core. */
type Counts = { -readonly [K in 'attempts' | 'firstAttemptSucceeded']: QueueStats[K] }

export interface QueueContext {
  /** The checks of what users give. Absent in a page's production bundle until the core's chunk has come. */
  checks: Checks | undefined
  readonly settings: Settings
  /** The options as their user gave them, for checks that come later. */
  readonly given: RetryQueueOptions
  readonly events: Emitter<QueueEvents & TaskChanges>
  /** The steady clock. */
  readonly now: () => number
  readonly draw: Draw
  /** An intent key: 128 random bits, since a key made from the request would merge two intended orders. */
  readonly makeKey: () => string
  /** The principal whose requests are made and sent now. */
  principal: string | null
  /** Learns it anew for a call. Absent: it is the queue's own. */
  whose?(): LearntPrincipal
  /** When that was said. */
  declaredAt: Instant
  /** Set while a principal logs in: nothing is sent before it has resolved. */
  switching?: Promise<unknown> | undefined
  /** Emits `degraded`; `once` names what it is about, where one report is enough. */
  readonly degraded: Report
  /** Goes on counting when a core is there. */
  readonly counts: Counts
  /** The clock by which the limit of a caller's own first attempt is over. Absent: the queue's own. */
  patient?(call: Call, createdAt: number): AttemptClock
  /** Keeps the asynchronous context of a caller whose call becomes a task. Absent where there are none. */
  keepContext?(): Within | undefined
  /** The context of a task that was enqueued, or comes from a store. */
  outside?: Within | undefined
  /** Makes an attempt of a call, the caller's own or a replay, by `run`, with what adapters do around it. Absent: none watches attempts. */
  watched?(call: Call, plan: AttemptPlan, run: () => Promise<Finished>): Promise<Finished>
  /**
   * Hears of a call that is about to become a task: once before its headers are sanitized for the store, and again when the task
   * has its id. Some of these calls become no task after all. Set by adapters that trace.
   */
  onTask?(call: Call, taskId?: string): void
  /** Removes from a request what must not be shown; undefined until the core is here. */
  sanitizer?: Sanitizer
  /** Hears of a task that has ended, before the listeners and its caller do. Set by adapters that measure. */
  onEnd?(task: { readonly status: TaskStatus; readonly createdAt: number }): void
  /**
   * Asked about a task in memory before it waits for its next attempt, or is parked. To take the task out of the queue it calls
   * `leave`, now or later, and returns whether it has done so by now. Set where tasks move to an object, in a Worker.
   */
  handOver?(task: Task, ruling: Ruling, leave: () => void): boolean
  /** The calls that have parked tasks go on, in words. @default resume() or setPrincipal() */
  unparkedBy?: string
  /** Puts a task back that was given up for its caller, but had been enqueued besides. */
  revive?(taskId: string): void
  /** Forgets what the gates know of every server. Absent: there is no core yet, and so nothing that it knows. */
  forget?(): void
  /** Whether the queue can see its tasks: a store that has them is open, and has answered last. Absent: there is no core yet. */
  sees?(): boolean
  /** Hears of each change of a task. Absent: there is no core yet, and so no task. */
  changed?(change: Changed): void
  /** The numbers after the last change. Absent: no caller has asked for them since. */
  snapshot?: QueueStats | undefined
  /** No task is left: callers of the queue's `idle()` may be waiting for that. */
  idle(): void
}
