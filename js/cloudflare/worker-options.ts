/** The options of a Worker's fetch, beside those of any queue, and the time that they may take together. */

import type { QueueEvents } from '../api/events.ts'
import {
  fn,
  follow,
  int,
  list,
  object,
  options as optionsOf,
  or,
  type Rule,
  type Rules,
  token,
} from '../options/check.ts'
import { BUDGET_RULES, type RetryBudgetOptions } from '../options/gate-options.ts'
import { UNSAFE_METHODS } from '../options/idempotency.ts'
import { defined, type RetryQueueOptions } from '../options/queue-options.ts'
import { PRINCIPAL, resolveOptions } from '../options/queue-rules.ts'
import { checkNamespace, type RedriveNamespace, SHARDS } from './namespace.ts'
import { warn } from './object-options.ts'
import { partOptions } from './own-options.ts'

/** The time that a Worker has left once its client has gone, less what the handoff may take. */
const WALL_MS = 25_000
const ATTEMPT_TIMEOUT_MS = 10_000

/** Options of any queue that a Worker may set. */
const QUEUE_OPTIONS = [
  'policy',
  'policies',
  'idempotency',
  'sanitize',
  'maxBodyBytes',
  'maxLaneHoldMs',
  'credentials',
  'beforeAttempt',
  'shouldRetry',
  'delay',
  'sign',
  'fetch',
  'clock',
  'seed',
] as const

export interface WorkerFetchOptions extends Pick<RetryQueueOptions, (typeof QUEUE_OPTIONS)[number]> {
  /** `env.REDRIVE`: the binding of a Durable Object namespace whose class is `RedriveObject`, or extends it. */
  readonly queue: RedriveNamespace
  /** The handler's own `ctx`. Each call is kept alive to its answer, also when the client has left. */
  readonly ctx: { waitUntil(promise: Promise<unknown>): void }
  /** The user on whose behalf the requests are made. Each principal has objects of its own, and its tasks are sent as its own. @default null */
  readonly principal?: string | null
  /** Objects for each principal and origin, where one is not enough. 1 to 256; changed, tasks stay where they are. @default 1 */
  readonly shards?: number
  /**
   * How long a call is tried here, from its start: a retry that would start later moves to the object. With the policy's
   * `attemptTimeoutMs`, which is 10_000 here unless given, at most 25_000, since a Worker has 30 s once its client has
   * left. A call that may not move is tried for `inlineMs` too if it is given, else for 25 s. 0 to 25,000; 0: it moves after the
   * first failure. @default 10_000
   */
  readonly inlineMs?: number
  /** Attempts of one call here, the first included. 1 to 20. @default 3 */
  readonly inlineAttempts?: number
  /**
   * Attempts of all calls of this fetch, after which none is tried again here; moves to objects come on top. The free plan has 50
   * subrequests for a request. 1 to 1,000. @default 40
   */
  readonly subrequests?: number
  /** Methods whose calls may move to the object; the last answer of others is the caller's, since the answer to a GET would reach no one. @default POST PUT PATCH DELETE */
  readonly persistMethods?: readonly string[]
  /**
   * How much the retries of all requests of an isolate may add to the load of an origin, and with it the breaker's rules:
   * what is not paid for, or meets an open circuit, moves to its object at once. false: neither. @default as RetryQueue's outside of pages
   */
  readonly retryBudget?: RetryBudgetOptions | false
  /** Hears what works less well than asked. @default console.warn */
  readonly onDegraded?: (report: QueueEvents['degraded']) => void
}

type OwnOptions = Omit<WorkerFetchOptions, (typeof QUEUE_OPTIONS)[number]>
export type WorkerTerms = Required<OwnOptions> & {
  /** How long a call is tried here that may not move. */
  readonly stayMs: number
}

const DEFAULTS: Omit<Required<OwnOptions>, 'queue' | 'ctx'> = {
  principal: null,
  shards: 1,
  inlineMs: 10_000,
  inlineAttempts: 3,
  subrequests: 40,
  retryBudget: {},
  persistMethods: UNSAFE_METHODS,
  onDegraded: warn,
}

const CTX: Rule = { ...object, expected: "the handler's ctx, its third argument" }

const RULES: Rules<OwnOptions> = {
  queue: object,
  ctx: CTX,
  principal: PRINCIPAL,
  shards: SHARDS,
  inlineMs: int(0, WALL_MS),
  inlineAttempts: int(1, 20),
  subrequests: int(1, 1_000),
  retryBudget: or(false, optionsOf(BUDGET_RULES)),
  persistMethods: list(token),
  onDegraded: fn,
}

/** Throws a TypeError or RangeError that names the option. */
export function resolveWorkerOptions(given: WorkerFetchOptions): {
  readonly own: WorkerTerms
  readonly queue: RetryQueueOptions
} {
  follow('workerFetch', given, { ...object, expected: 'options: { queue: env.REDRIVE, ctx }' })
  checkNamespace('workerFetch.queue', given.queue)
  const { own, queue: rest } = partOptions<OwnOptions, RetryQueueOptions>('workerFetch', given, QUEUE_OPTIONS, RULES)
  follow('workerFetch.ctx', given.ctx, CTX)
  follow('workerFetch.ctx.waitUntil', given.ctx.waitUntil, fn)
  const terms: WorkerTerms = { ...DEFAULTS, stayMs: own.inlineMs ?? WALL_MS, ...defined(own) }
  const queue = queueOptions(rest, terms)
  for (const { policy } of resolveOptions(queue).policies.values()) {
    checkWall(terms.inlineMs, policy.attemptTimeoutMs, `the policy '${policy.policyId}'`)
  }
  return { own: terms, queue }
}

function queueOptions(given: RetryQueueOptions, { principal }: WorkerTerms): RetryQueueOptions {
  const policies = (given.policies ?? []).map((policy) => ({ attemptTimeoutMs: ATTEMPT_TIMEOUT_MS, ...policy }))
  const hasDefault = policies.some(({ policyId }) => policyId === 'default') && !given.policy
  return {
    ...given,
    policies,
    ...(hasDefault ? {} : { policy: { attemptTimeoutMs: ATTEMPT_TIMEOUT_MS, ...given.policy } }),
    principal,
    preload: 'never',
    // it lives for one request: an alert of it would be said again in the next
    warn: false,
    // what waits here waits for a moment, and the calls of one request are few
    concurrency: 1_000,
    // one request sees too little of a server: its isolate has gates for all of them
    breaker: false,
    retryBudget: false,
  }
}

/** Whatever fails last, there is time left to move it. `whose`: the policy that has this limit. */
export function checkWall(inlineMs: number, attemptTimeoutMs: number | undefined, whose: string): void {
  if (attemptTimeoutMs === undefined) return
  if (attemptTimeoutMs > 0 && inlineMs + attemptTimeoutMs <= WALL_MS) return
  const found = `workerFetch.inlineMs ${inlineMs} and attemptTimeoutMs ${attemptTimeoutMs} of ${whose}`
  const remedy = 'and a limit: a Worker has 30 s once its client has left'
  throw new RangeError(`${found}: expected ${WALL_MS} ms at most together, ${remedy}`)
}
