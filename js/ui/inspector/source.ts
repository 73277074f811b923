/**
 * The port through which the inspector sees a queue, and acts on it. A live queue and a retry service satisfy it, and so may whatever else keeps tasks. The
 * element knows nothing but this. No source ever gives a body or a credential: `RetryTask` has neither.
 */

import type { AttemptLog, CircuitState, Decision, Gate, QueueStats, RetryTask, TaskStatus } from 'redrive'

/** An origin, or an origin for one tenant. Whatever is not known is absent. Times are epoch milliseconds. */
export interface InspectorOrigin {
  /** An origin as `new URL(url).origin` has it. */
  readonly origin: string
  /** null: the tasks that are no tenant's. Absent: there are no tenants. */
  readonly tenant?: string | null
  /** Tasks that wait. */
  readonly pending: number
  readonly inFlight: number
  readonly circuit: CircuitState
  /** The end of the wait that its server asked for. null: there is none. */
  readonly heldUntilAt: number | null
  /** The first gate that keeps a due retry from starting, as `explain` names it. null, absent: none does, or it is not known. */
  readonly gate?: Gate | null
  /** When that gate opens if nothing changes. null, absent: not known. */
  readonly gateUntilAt?: number | null
  /** Retries left in its budget. null: without a limit, or not known. */
  readonly retryBudget: number | null
  /** When the first of its tasks is due, whatever holds it then. */
  readonly nextAttemptAt?: number | null
  readonly paused?: boolean
}

/** The numbers of everything. */
export interface InspectorOverview
  extends Pick<QueueStats, 'depth' | 'inFlight' | 'deadLetters' | 'capacity'>,
    Partial<Pick<QueueStats, 'nextAttemptAt'>> {
  /** Successes so far, from which throughput is taken. Absent: not known. */
  readonly succeeded?: number
  /** Tasks given up so far, for the share of successes. Absent: not known. */
  readonly exhausted?: number
  /** Tasks in the list of each status. Absent: not known. */
  readonly counts: Readonly<Partial<Record<TaskStatus, number>>>
  /** Everything is paused. */
  readonly paused?: boolean
  /** Sentences about what is wrong with all of it, such as a store that fails. */
  readonly warnings?: readonly string[]
  readonly origins: readonly InspectorOrigin[]
  /** There are others, which `origins` has no room for. */
  readonly moreOrigins?: boolean
}

/** A task as it is shown. What a service says beyond a queue is optional. */
export interface InspectorTask extends RetryTask {
  readonly deadlineAt?: number | null
  readonly priority?: number
  readonly orderKey?: string
  /** The task waits for new credentials. */
  readonly parked?: boolean
  /** The gate that holds this task, where it is not its origin's. Absent: not known. */
  readonly gate?: Gate
  readonly gateUntilAt?: number | null
}

/** All that there is to tell about a task. */
export interface InspectorTaskView {
  readonly task: InspectorTask
  /** Oldest first. */
  readonly attempts: readonly AttemptLog[]
  /** Decisions as `explain` has them; the last one says what the task waits for. */
  readonly decisions: readonly Decision[]
}

export interface InspectorQuery {
  readonly status?: TaskStatus
  readonly origin?: string
  readonly limit: number
  /** From the page before. */
  readonly cursor?: string
}

export interface InspectorPage {
  readonly tasks: readonly InspectorTask[]
  /** Absent on the last page. */
  readonly cursor?: string
}

/** Something that happened. */
export interface InspectorEvent {
  /** Epoch ms. */
  readonly at: number
  /** One word: 'retry', 'circuit'. */
  readonly kind: string
  readonly text: string
  readonly taskId?: string
  readonly tone?: 'good' | 'warn' | 'bad'
}

/** An action, with what it is done to. */
export type InspectorAct =
  | { readonly type: 'cancel' | 'due' | 'purge'; readonly taskId: string }
  | { readonly type: 'redrive'; readonly taskId: string; readonly acceptDuplicateRisk?: boolean }
  /** One origin; without one, everything. */
  | { readonly type: 'pause' | 'resume'; readonly origin?: string }
  | { readonly type: 'flush' }
  | {
      readonly type: 'redriveAll'
      /** Absent: all at once. */
      readonly perSecond?: number
      readonly acceptDuplicateRisk?: boolean
      /** Aborted: stops; what went back stays. */
      readonly signal: AbortSignal
      readonly onProgress: (done: number, total: number) => void
    }
  /** `count`: how many its user has confirmed. Others than that many are not deleted. */
  | { readonly type: 'purgeAll'; readonly count: number }

export type InspectorActType = InspectorAct['type']

/** `true`: it may be done. A sentence: it may not, and why. Absent: there is no such thing here, and no button. */
export type InspectorCan = Readonly<Partial<Record<InspectorActType, true | string>>>

/** Where an inspector gets all it shows. Every method may reject; the message of the error is shown. */
export interface InspectorSource {
  /** The name of a queue, the address of a service. */
  readonly name: string
  /** Read before each render: it may change. */
  readonly can: InspectorCan
  /** The principal whose tasks it shows. Where that changes the inspector begins anew: one user must not see what another one had open. Absent: no one's alone. */
  readonly principal?: string | null | undefined
  /** The order of its lists. @default 'rising' */
  readonly order?: 'rising' | 'falling'
  overview(): Promise<InspectorOverview>
  /** A page may be empty though more follow. */
  list(query: InspectorQuery): Promise<InspectorPage>
  /** undefined: there is none of that id. */
  task(taskId: string): Promise<InspectorTaskView | undefined>
  /** Resolves with what was done, in words. */
  act(act: InspectorAct): Promise<string>
  /** Calls `changed` when something has; returns what ends that. Absent: the inspector looks once a second, which it does anyway. */
  watch?(changed: () => void): () => void
  /** Tells what happens as it does; returns what ends that. Absent: the log says what differs between two looks. */
  listen?(listener: (event: InspectorEvent) => void): () => void
  /** Takes a token, kept in memory alone. Absent: there are no tokens. */
  authorize?(token: string): void
}

/** A source's method rejects with this where there is more to say than a sentence. */
export class InspectorError extends Error {
  override readonly name = 'InspectorError'
  /** The source needs a token, or another one: the inspector asks for it. */
  readonly needsToken: boolean
  /** The inspector asks again after so long, or later. undefined: when it likes. */
  readonly retryAfterMs: number | undefined
  /** The target may have forgotten the key: it goes back with `acceptDuplicateRisk` only. */
  readonly isKeyExpired: boolean

  constructor(
    message: string,
    more: { readonly needsToken?: boolean; readonly retryAfterMs?: number; readonly isKeyExpired?: boolean } = {},
  ) {
    super(message)
    this.needsToken = more.needsToken ?? false
    this.retryAfterMs = more.retryAfterMs
    this.isKeyExpired = more.isKeyExpired ?? false
  }
}
