/** All that a judge knows of a run, and what follows from it about single visits: who sent them, and until when they may go on. */

import type { Visit } from '../../servers/start.mjs'
import { type Counts, FOREVER, GRAIN_MS, grouped, type Row, type Still } from '../checks.ts'
import type { Call } from './clients.ts'
import type { Death, Exit, Struck } from './fleet.ts'
import type { Intent } from './intents.ts'
import type { PauseSpan } from './operator.ts'
import type { CallbackVisit } from './receiver.ts'

/** A task as the API lists it. */
export interface TaskRow extends Row {
  readonly tenant: string | null
  readonly idempotencyKey: string | null
  readonly tags?: Readonly<Record<string, string>>
}

/** A callback is a task, too; this is the one whose end it tells. undefined: the row is a client's own. */
export const callbackOf = ({ tags }: TaskRow): string | undefined => tags?.['callback-of']

/** A line of `GET /retry-tasks/{taskId}/explain`. */
export interface Said {
  readonly at: number
  readonly kind: string
  readonly data?: {
    readonly attemptNumber?: number
    readonly durationMs?: number
    readonly responseStatus?: number
    readonly delayMs?: number
    readonly serverDelayMs?: number
    readonly counted?: boolean
  }
}

/** When a task was put back, each time. */
export const redrivesIn = (story: readonly Said[] = []): readonly number[] =>
  story.filter(({ kind }) => kind === 'redriven').map(({ at }) => at)

/** The numbers of the store while it ran. */
export interface Sample {
  /** Tasks acknowledged before it was asked, and asked for when the answer had come. */
  readonly acknowledged: number
  readonly asked: number
  /** Ends that may have been told by tasks of their own by then. */
  readonly ends: number
  readonly total: number
}

/** The rows at a moment at which nothing was left to do. */
export interface Quiet {
  readonly at: number
  readonly rows: readonly TaskRow[]
}

export interface ServiceFacts extends Still {
  readonly intents: readonly Intent[]
  readonly calls: readonly Call[]
  readonly visits: readonly Visit[]
  readonly effects: ReadonlyMap<string, number>
  /** The target's origins. */
  readonly targets: readonly string[]
  /** In the order in which they came. */
  readonly callbacks: readonly CallbackVisit[]
  readonly quiet: readonly Quiet[]
  /** Intent -> the task of its first receipt, as `GET /retry-tasks/{taskId}` shows it. */
  readonly found: ReadonlyMap<string, TaskRow>
  /** All that is listed of everyone. */
  readonly rows: readonly TaskRow[]
  /** Task -> its story, as the API tells it. */
  readonly stories: ReadonlyMap<string, readonly Said[]>
  readonly deadLetters: readonly string[]
  readonly counts: Counts
  readonly samples: readonly Sample[]
  readonly pauses: readonly PauseSpan[]
  /** Redrives that were asked for, by task. */
  readonly redriven: ReadonlyMap<string, number>
  readonly failedOperations: readonly string[]
  readonly struck: readonly Struck[]
  readonly exits: readonly Exit[]
  readonly deaths: readonly Death[]
  readonly drained: boolean
  readonly limit: number
  readonly limitPerOrigin: number
  /** How long a process that is told to end may take. */
  readonly exitMs: number
}

/** A process that goes on sends what it had in its hands when it was stopped: within so long. */
const THAW_MS = 2_000

/** Facts by the names that laws ask for. */
export class Index {
  readonly facts: ServiceFacts
  readonly intents: ReadonlyMap<string, Intent>
  /** Intent -> the tasks of its receipts, each once. */
  readonly tasks: ReadonlyMap<string, readonly string[]>
  readonly rows: ReadonlyMap<string, TaskRow>
  /** Rows that clients have posted: those of callbacks are the service's own. */
  readonly posted: readonly TaskRow[]
  /** Key -> the tasks that tell ends under it; and task -> those that tell its ends. */
  readonly callbackRows: ReadonlyMap<string, readonly TaskRow[]>
  readonly callbacksOf: ReadonlyMap<string, readonly TaskRow[]>
  /** Intent -> its visits, in the order in which they began. */
  readonly visits: ReadonlyMap<string, readonly Visit[]>

  constructor(facts: ServiceFacts) {
    this.facts = facts
    this.intents = new Map(facts.intents.map((intent) => [intent.name, intent]))
    this.rows = new Map(facts.rows.map((row) => [row.taskId, row]))
    this.posted = facts.rows.filter((row) => callbackOf(row) === undefined)
    const telling = facts.rows.filter((row) => callbackOf(row) !== undefined)
    this.callbackRows = grouped(telling, ({ idempotencyKey }) => idempotencyKey ?? '')
    this.callbacksOf = grouped(telling, (row) => callbackOf(row) ?? '')
    const told = grouped(receipts(facts.calls), ({ intent }) => intent)
    this.tasks = new Map([...told].map(([intent, own]) => [intent, [...new Set(own.map(({ taskId = '' }) => taskId))]]))
    this.visits = grouped(
      facts.visits.toSorted((a, b) => a.startedAt - b.startedAt),
      ({ intent }) => intent,
    )
  }

  /** The task of an intent, as its first receipt has it. */
  taskOf(intent: string): string {
    return this.tasks.get(intent)?.[0] ?? ''
  }

  readonly storyOf = (intent: string): readonly Said[] => this.facts.stories.get(this.taskOf(intent)) ?? []

  /**
   * From then on another attempt may be made: its maker could do nothing about it any more. That is where it had its end, or its process was
   * stopped, or the store was away, or has said that it took the task back. `story`: of the task that it was an attempt of.
   */
  overAt(visit: Visit, story: readonly Said[] = this.storyOf(visit.intent)): number {
    const { startedAt, by } = visit
    const endedAt = this.endOf(visit)
    const cut = this.facts.struck
      .filter(({ kind, life }) => kind === 'redis' || (kind === 'stop' && (by === null || life === by)))
      .filter(({ from, until }) => from < endedAt && until > startedAt)
      .map(({ from }) => from)
    const lost = story
      .filter(({ kind, at }) => kind === 'lost' && at >= startedAt - GRAIN_MS && at <= endedAt)
      .map(({ at }) => at)
    return Math.min(endedAt, ...cut, ...lost)
  }

  /**
   * When a visit was over for its sender. The target says so, but a busy one notices late that a sender has broken off: for such a visit the
   * sender's own line holds where it is earlier.
   */
  endOf(visit: Visit): number {
    const heard = visit.endedAt ?? FOREVER
    const line = isBrokenOff(visit) ? this.lineOf(visit) : undefined
    return line ? Math.min(heard, line.at) : heard
  }

  /** Whether a visit may have left its process before that was stopped, and come when it went on: then it is not known when it was made. */
  isLate({ by, startedAt }: Visit): boolean {
    return this.facts.struck.some(
      ({ kind, life, until }) =>
        kind === 'stop' && (by === null || life === by) && startedAt >= until - GRAIN_MS && startedAt < until + THAW_MS,
    )
  }

  /** The line of the story that tells how this visit ended; undefined: it is told by none, as its process had no time to. */
  lineOf(visit: Visit): Said | undefined {
    const { intent, startedAt, endedAt, status } = visit
    if (endedAt === null) return undefined
    // of one that was broken off the target may have heard long after its line; that of the attempt before is older than its start
    const from = isBrokenOff(visit) ? startedAt : endedAt - GRAIN_MS
    return this.storyOf(intent).find(({ at, kind, data = {} }) => {
      const { durationMs = 0, responseStatus = null } = data
      const isIt = ENDS.has(kind) && responseStatus === status
      return isIt && at >= from && at - durationMs <= startedAt + GRAIN_MS && at - durationMs >= startedAt - EARLY_MS
    })
  }
}

/** Ended by its sender, and not by the target. */
const isBrokenOff = ({ outcome }: Visit): boolean => outcome === 'caller_gone' || outcome === 'half'

/** Lines that tell of an attempt with an answer. */
const ENDS: ReadonlySet<string> = new Set(['retry', 'exhausted', 'succeeded'])
/** From the start of an attempt to its arrival, on a machine with other work. */
const EARLY_MS = 3_000

/** Answers that acknowledge a task. */
export const receipts = (calls: readonly Call[]): readonly Call[] =>
  calls.filter(({ kind, status, taskId }) => {
    return (kind === 'post' || kind === 'again') && (status === 200 || status === 201) && taskId !== undefined
  })

/** When something that matters to a visit began: one that was asked for by then is older. */
export const firstAsked = (calls: readonly Call[], intent: string): number =>
  Math.min(
    FOREVER,
    ...calls.filter((call) => call.intent === intent && call.kind === 'post').map(({ askedAt }) => askedAt),
  )

/** An answer to the end of a task that was asked for, and when it came. */
export interface Cancel {
  /** 'unknown': there was none, or none that says what was done. */
  readonly answer: string
  readonly answeredAt: number
}

/** Task -> its cancel. One that was answered with a task's end has changed nothing. */
export function cancelsOf({ calls }: ServiceFacts): ReadonlyMap<string, Cancel> {
  const tasks = new Map(receipts(calls).map(({ intent, taskId = '' }) => [intent, taskId]))
  return new Map(
    calls
      .filter(({ kind, status }) => kind === 'cancel' && status !== 409)
      .map(({ intent, status, said = 'unknown', endedAt }) => {
        const answer = status === 200 || status === 202 ? said : 'unknown'
        return [tasks.get(intent) ?? '', { answer, answeredAt: endedAt }]
      }),
  )
}
