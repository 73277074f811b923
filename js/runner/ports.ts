/** The runner as its own parts see it, which it is made of: they cannot import it. */

import type { ExhaustedReason, RetryTask, TaskStatus } from '../api/task.ts'
import type { RestTerms } from '../call/discard.ts'
import type { Finished, RepeatAnswer } from '../call/transport.ts'
import type { Calls } from '../core/calls.ts'
import type { Rulings } from '../tasks/ruling.ts'
import type { Confidential } from '../tasks/secrets.ts'
import type { Task } from '../tasks/task.ts'
import type { QueueContext } from './context.ts'
import type { Policies } from './handles.ts'
import type { Lanes } from './lanes.ts'
import type { StoredSide } from './stored.ts'

export interface RunnerPorts {
  readonly core: Calls
  readonly host: QueueContext
  readonly lanes: Lanes
  readonly policies: Policies
  readonly rulings: Rulings
  readonly restTerms: RestTerms
  /** Undefined: there is no store to ask. */
  readonly stored: StoredSide | undefined
  /** Tasks in memory. */
  readonly tasks: readonly Task[]
  /** Tasks waiting or in flight. */
  readonly depth: number
  /** Those, and dead letters that take room. */
  readonly held: number
  /** Closed or closing, or the core trapped. */
  readonly stopped: boolean
  readonly closing: AbortSignal
  /** Whether the attempt may still be made: not paused or closing, not cancelled, lease held, principal there. */
  maySend(task: Task): boolean
  /** Calls the core; undefined: it trapped. */
  guard<T>(work: () => T): T | undefined
  /** Hears that the core trapped outside of a call that is guarded. */
  trapped(error: unknown): void
  tick(): void
  tickSoon(): void
  flush(): Promise<number>
  show(task: Task): RetryTask
  /** `now`: where it has just been read. */
  settle(task: Task, finished: Finished<RepeatAnswer>, now?: number): void
  end(task: Task, status: TaskStatus, reason?: ExhaustedReason, now?: number): void
  /** The words of an error, without secrets (S12). */
  readonly words: (error: unknown, about: Confidential) => string
}
