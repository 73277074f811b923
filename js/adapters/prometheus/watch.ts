/**
 * The counts of a queue, or of all queues of one name: where queues come and go, as in a Worker, the counts stay. Attempts and
 * ends are observed; all else is read from `stats()` at each scrape. Of a call it reads the policy's name alone, never its URL
 * or key.
 */

import type { OriginStats, QueueStats } from '../../api/stats.ts'
import type { CircuitState, TaskStatus } from '../../api/task.ts'
import type { AttemptPlan, Finished } from '../../call/attempt.ts'
import { OUTCOME_OFFLINE, OUTCOME_REDIRECT_REFUSED, OUTCOME_RESPONSE, OUTCOME_TIMED_OUT } from '../../core/codes.ts'
import { internalsOf } from '../../queue/internals.ts'
import { observe } from '../../queue/observe.ts'
import type { RetryQueue } from '../../queue/queue.ts'
import { Counter, Histogram, type Labels, Names, OTHER } from './series.ts'

/** The ends of an attempt that are counted apart. */
const ATTEMPT_OUTCOMES = [
  'success',
  'rate_limited',
  'client_error',
  'server_error',
  'network_error',
  'timeout',
  'offline',
  'refused',
  'cancelled',
] as const
type AttemptOutcome = (typeof ATTEMPT_OUTCOMES)[number]

const TASK_OUTCOMES: Partial<Record<TaskStatus, string>> = {
  SUCCEEDED: 'succeeded',
  EXHAUSTED: 'exhausted',
  CANCELLED: 'cancelled',
}

/** Seconds. Prometheus' own, and where an attempt of the default policy ends: 30 s. */
const DURATIONS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]
/** Seconds, from the first retry of a page to a day, which is the default policy's budget. */
const AGES = [0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, 3_600, 21_600, 86_400]

/** The worse, the higher: so the most of several is the one to look at. */
const STATES: Record<CircuitState, number> = { CLOSED: 0, HALF_OPEN: 1, OPEN: 2 }

export interface OriginRow {
  readonly origin: string
  readonly depth: number
  readonly state: number
  /** Infinity: it has no budget. */
  readonly tokens: number
}

export class Watch {
  /** On every series of it. */
  readonly base: Labels
  readonly attempts: Counter = new Counter()
  readonly retries: Counter = new Counter()
  readonly durations: Histogram = new Histogram(DURATIONS, ATTEMPT_OUTCOMES)
  readonly ages: Histogram = new Histogram(AGES, Object.values(TASK_OUTCOMES))
  readonly #queues = new Map<RetryQueue, () => void>()
  readonly #policies: Names
  readonly #maxOrigins: number
  #snapshot: readonly QueueStats[] | undefined

  constructor(base: Labels, maxPolicies: number, maxOrigins: number) {
    this.base = base
    this.#policies = new Names(maxPolicies)
    this.#maxOrigins = maxOrigins
  }

  /** Gives what takes it off again; what was counted stays. */
  add(queue: RetryQueue): () => void {
    const { host } = internalsOf(queue)
    if (this.#queues.has(queue)) throw new RangeError(`the queue '${queue.name}' is counted here already`)
    for (const id of host.settings.policies.keys()) {
      const policy = this.#policies.of(id)
      for (const outcome of ATTEMPT_OUTCOMES) {
        this.attempts.add({ outcome, policy }, 0)
        this.retries.add({ outcome, policy }, 0)
      }
    }
    const detach = this.#attach(queue)
    this.#queues.set(queue, detach)
    this.#snapshot = undefined
    return () => {
      if (this.#queues.get(queue) !== detach) return
      this.#queues.delete(queue)
      this.#snapshot = undefined
      detach()
    }
  }

  detach(): void {
    for (const detach of this.#queues.values()) detach()
    this.#queues.clear()
    this.#snapshot = undefined
  }

  sum(of: 'depth' | 'capacity' | 'deadLetters'): number {
    return this.#stats.reduce((sum, stats) => sum + stats[of], 0)
  }

  /** The worst and the fullest have a row each; the rest share one, which shows the worst of them. */
  get origins(): readonly OriginRow[] {
    const byOrigin = new Map<string, OriginRow>()
    for (const [origin, stats] of this.#stats.flatMap(({ origins }) => Object.entries(origins))) {
      const row = rowOf(origin, stats)
      byOrigin.set(origin, worseOf(byOrigin.get(origin), row))
    }
    const rows = [...byOrigin.values()]
    if (rows.length <= this.#maxOrigins) return rows
    rows.sort((a, b) => b.state - a.state || b.depth - a.depth || (a.origin < b.origin ? -1 : 1))
    const [first, ...rest] = rows.splice(this.#maxOrigins)
    return first ? [...rows, { ...rest.reduce(worseOf, first), origin: OTHER }] : rows
  }

  /** One answer for all that is asked at once, so that the numbers of a scrape are of one moment. */
  get #stats(): readonly QueueStats[] {
    if (!this.#snapshot) {
      this.#snapshot = [...this.#queues.keys()].map((queue) => queue.stats({ allPrincipals: true }))
      queueMicrotask(() => {
        this.#snapshot = undefined
      })
    }
    return this.#snapshot
  }

  #attach(queue: RetryQueue): () => void {
    const { host } = internalsOf(queue)
    let active = true
    const stopObserving = observe(queue, {
      attempt: async (call, plan, next) => {
        // read before the attempt: its task has gone on when it has ended
        const isRetry = plan.task !== undefined && plan.task.attemptNumber > 1
        const finished = await next()
        if (!active) return finished
        const outcome = outcomeOf(finished, plan)
        const labels = { outcome, policy: this.#policies.of(call.policy.policyId) }
        this.attempts.add(labels)
        if (isRetry) this.retries.add(labels)
        this.durations.observe(outcome, finished.durationMs / 1_000)
        return finished
      },
      onEnd: ({ status, createdAt }) => {
        this.ages.observe(TASK_OUTCOMES[status] ?? OTHER, (host.now() - createdAt) / 1_000)
      },
    })
    return () => {
      active = false
      stopObserving()
    }
  }
}

function rowOf(origin: string, { circuit, retryBudget, depth }: OriginStats): OriginRow {
  return { origin, depth, state: STATES[circuit], tokens: retryBudget }
}

function worseOf(one: OriginRow | undefined, other: OriginRow): OriginRow {
  if (!one) return other
  const { origin } = one
  const depth = one.depth + other.depth
  return { origin, depth, state: Math.max(one.state, other.state), tokens: Math.min(one.tokens, other.tokens) }
}

function outcomeOf({ outcome, status }: Finished, { signal }: AttemptPlan): AttemptOutcome {
  if (outcome === OUTCOME_RESPONSE) {
    if (status < 400) return 'success'
    if (status === 429) return 'rate_limited'
    return status < 500 ? 'client_error' : 'server_error'
  }
  // before the abort is looked at: a timeout aborts it too
  if (outcome === OUTCOME_TIMED_OUT) return 'timeout'
  if (signal.aborted) return 'cancelled'
  if (outcome === OUTCOME_OFFLINE) return 'offline'
  return outcome >= OUTCOME_REDIRECT_REFUSED ? 'refused' : 'network_error'
}
