/** The options of a queue, and the settings they come to. Their checks are in `queue-rules.ts`. */

import type { Credentials } from '../api/credentials.ts'
import type { RetryHooks } from '../api/hooks.ts'
import type { GivenPolicy, RetryPolicy, TableDelays } from '../api/policy.ts'
import type { Sign } from '../api/sign.ts'
import type { StoredTask, TaskStore } from '../api/store.ts'
import type { AttemptContext, RetryTask } from '../api/task.ts'
import { type Clock, systemClock } from '../platform/clock.ts'
import type { BreakerOptions, RateOptions, RetryBudgetOptions } from './gate-options.ts'
import { type IdempotencyOptions, type IdempotencySettings, settledIdempotency } from './idempotency.ts'
import type { OwnSending } from './own-sending.ts'
import type { PolicyPair } from './policy.ts'
import { pairOf } from './policy-pair.ts'
import type { RetentionOptions } from './retention.ts'
import type { SanitizeOptions } from './sanitize.ts'

export interface RetryQueueOptions extends RetryHooks {
  /**
   * The queue's name, in messages and metrics. In a page it also names the database: queues of one name share their tasks. A SQLite file is
   * one queue, whatever the name: give queues that are to share nothing a file each. @default 'default'
   */
  readonly name?: string
  /**
   * Stores tasks, so that they outlive the page or the process, and takes up those that an earlier one has left. In a page they are in
   * IndexedDB; elsewhere it needs a `store`. Without one, as on a server that renders the page, the queue can be made: a `fetch` is kept in
   * memory, which `degraded` 'storage_unavailable' reports once, and calls in the background are refused, unless `allowMemory` is set. If a call may not be stored, `enqueue` rejects with `NotDurableError`, and `degraded`
   * says why a `fetch` is kept in memory. With true, a `principal` is required.
   * @default true with a `store`, else false
   */
  readonly durable?: boolean
  /**
   * The user on whose behalf the requests are made: an opaque id, or `null` if there is no user. A task is sent only while
   * its principal is the current one, since otherwise it could go out with the next user's cookies: see `setPrincipal`. Tasks show it. @default null; required with `durable: true`, and with a `store` in a page
   */
  readonly principal?: string | null
  /** The place for tasks that outlive the page or the process: see `durable`. @default IndexedDB in a page; none elsewhere */
  readonly store?: TaskStore
  /**
   * With a `TaskStore`: 'on-failure' stores a task when its first attempt fails; 'before-send' stores it before that, so
   * that it also survives a kill during the first. @default 'on-failure'
   */
  readonly persist?: 'on-failure' | 'before-send'
  /**
   * Methods whose awaited calls a durable queue stores; awaited calls of other methods stay in memory. A call that is enqueued or deferred
   * (`enqueue`, `mode: 'defer'`) or has an `orderKey` is stored whatever its method. @default POST PUT PATCH DELETE
   */
  readonly persistMethods?: readonly string[]
  /**
   * true: an enqueued or deferred call that a durable queue cannot store is kept in memory, and the receipt says so; false: `enqueue`
   * rejects with `NotDurableError`, and a deferred call gets its first attempt's own answer or error, with `redrive.reason`
   * 'not_durable'. In both cases a `sensitive` call stays in memory, and a store that fails midway refuses the call, since it may have
   * the task already. In a Worker a queue without a store refuses such calls, unsent, unless this is true. @default false
   */
  readonly allowMemory?: boolean
  /**
   * The most attempts of the queue itself, retries and enqueued tasks, in flight at a time. It never holds back a caller's own first
   * attempt. 1 to 10,000. @default 6
   */
  readonly concurrency?: number
  /** The most of these in flight to one origin: one that hangs leaves room for the others. 1 to 10,000. @default 3; the same as concurrency where that is given */
  readonly concurrencyPerOrigin?: number
  /**
   * The longest time for which an answer to one request (`Retry-After` of a 403, 429 or 503, a `RateLimit` with nothing left) holds back other
   * retries and enqueued tasks to that origin. It counts from the first such answer; the others then have their turn before the next
   * hold. The request that was answered waits in full. 0: it holds back no other. @default 60_000
   */
  readonly maxLaneHoldMs?: number
  /**
   * Callers' own first attempts wait, as tasks, while a server's answer holds their origin (`maxLaneHoldMs`). Otherwise they are sent at
   * once, as they are without a queue. @default false
   */
  readonly holdFirstAttempts?: boolean
  /**
   * Callers' own first attempts also count in `concurrency`, `concurrencyPerOrigin` and `rate`, and wait for room, as tasks, for their
   * `waitMs` at most. Calls that are sent once (`maxBodyBytes`, `key_origin_missing`) neither count nor wait. @default false
   */
  readonly limitFirstAttempts?: boolean
  /** How many attempts may start to one origin in a given time; see [gates](https://github.com/redrive-dev/redrive/blob/main/docs/gates.md). @default none */
  readonly rate?: RateOptions
  /**
   * The most tasks that the queue holds: waiting, in flight and dead letters. A full queue refuses new ones (`QueueFullError`) and drops
   * none. In memory, a dead letter whose caller got the failure does not count. 1 to 1,000,000. @default 10_000
   */
  readonly capacity?: number
  /** The most bytes of bodies that the queue holds. @default 50 MiB */
  readonly capacityBytes?: number
  /**
   * The largest body, in bytes, that the queue keeps: a call with a larger one is sent once, and `degraded` 'body_too_large' says so. No
   * more than this is held of a `Request`'s stream. @default 8 MiB
   */
  readonly maxBodyBytes?: number
  /**
   * When to retry, and for how long: the policy named 'default'. A field that is set applies to awaited calls and to those in the
   * background, but for `maxAttempts`, which counts for awaited calls. @default `presets.interactive`, and `presets.background` for calls in the background
   */
  readonly policy?: Partial<RetryPolicy> & TableDelays
  /** Further policies, chosen per call by `policyId`. @default none */
  readonly policies?: readonly GivenPolicy[]
  /** How long tasks that have ended are kept. @default `{}` */
  readonly retention?: RetentionOptions
  /**
   * The circuit breaker of each origin, which holds back retries to a server that is down; see [gates](https://github.com/redrive-dev/redrive/blob/main/docs/gates.md). Every attempt counts.
   * false: no breaker, and no ramp either. @default `{}`
   */
  readonly breaker?: BreakerOptions | false
  /** The retry budget of each origin: how much load retries may add; see [gates](https://github.com/redrive-dev/redrive/blob/main/docs/gates.md). false: none. @default `{}` */
  readonly retryBudget?: RetryBudgetOptions | false
  /** Which parts of a request may be shown and stored: see [headers](https://github.com/redrive-dev/redrive/blob/main/docs/headers.md). @default `{}` */
  readonly sanitize?: SanitizeOptions
  /**
   * How unsafe methods get their idempotency key; false: they get none, and POST and PATCH are not retried.
   * @default a random key for each POST PATCH PUT DELETE
   */
  readonly idempotency?: IdempotencyOptions | false
  /**
   * Headers that may not be stored, given by origin: `{ 'https://api.example.com': (request) => ({ authorization: '...' }) }`. A key is an
   * origin as `new URL(...).origin` returns it, or, in a page or service worker, `self` for its own. The record is read at construction.
   * The entry of the target's origin is asked before every retry and every attempt of an enqueued task, one question at a time, and may take
   * 5 s. Attempts that wait at once share its answer. Its headers replace those of the request; they are never stored or logged. Without an entry, a task gets no credential: it is sent with those of its
   * headers that may be stored, or is parked if some are missing (`degraded` 'credentials_missing'), and a 401 ends it. If the entry
   * throws, or returns nothing, the attempt is not counted and is made later (`degraded` 'credentials_failed'). @default none
   */
  readonly credentials?: Credentials
  /**
   * Signs each attempt, a caller's own first one included: called right before it is sent, with its method, URL, headers and the body's
   * bytes. It may take 5 s. The headers it returns replace those of the request; they are never stored or logged. If it throws, or returns
   * nothing, a first attempt rejects with the error, unsent; a task's attempt is not counted and is made later (`degraded` 'sign_failed').
   * A first attempt rejects unsent, too, where the core's chunk, which calls it, cannot be fetched. @default none
   */
  readonly sign?: Sign
  /**
   * Called right before a retry: false ends the task as 'vetoed'. If it throws, or takes longer than 5 s, the attempt is made, and
   * `degraded` 'hook_threw' says so.
   * @default none: every retry is made
   */
  readonly beforeAttempt?: (task: RetryTask, context: AttemptContext) => boolean | Promise<boolean>
  /**
   * Sends `degraded`, `alert`, and the `exhausted` of tasks that no caller waits for, to `console.warn`, once for each subject, while they have
   * no listener. @default true
   */
  readonly warn?: boolean
  /** When the core's chunk is loaded: it must be there before the network fails. @default 'idle' */
  readonly preload?: 'idle' | 'eager' | 'never'
  /**
   * The WebAssembly module, its bytes, a Response with them, or a promise or function that gives one; only if the built-in loading does
   * not fit. @default the package's own module
   */
  readonly wasm?: object | (() => unknown)
  /**
   * Sends the requests. The global fetch is looked up for each attempt, so a mock or a tracer that is installed after the queue is used; with
   * `installFetch` it is the one that was replaced. @default the global fetch at each attempt
   */
  readonly fetch?: typeof fetch
  /** For tests: see `redrive/testing`. @default the system's */
  readonly clock?: Clock
  /** For tests: makes jitter and ids repeatable. @default none: both are random */
  readonly seed?: bigint
}

/**
 * The options of a queue as they are given: one that is durable comes with the principal whose requests it keeps.
 *
 * @example
 * const options: RetryQueueOptions = {
 *   durable: true,
 *   principal: 'user-4711', // null where no user logs in
 *   policy: { retryableStatusCodes: 'broad' },
 *   credentials: { 'https://api.example.com': async () => ({ authorization: `Bearer ${await freshToken()}` }) },
 * }
 */
export type GivenOptions = RetryQueueOptions & ({ readonly durable?: false } | { readonly principal: string | null })

/** The options of a queue, complete; what only tasks are measured by gets its defaults in `limits.ts`. */
export interface Settings
  extends Omit<
    RetryQueueOptions,
    'policy' | 'policies' | 'idempotency' | 'credentials' | 'concurrency' | 'concurrencyPerOrigin' | 'fetch'
  > {
  readonly name: string
  /** Both may be set later. */
  concurrency: number
  concurrencyPerOrigin?: number | undefined
  readonly capacity: number
  readonly maxBodyBytes: number
  readonly policies: ReadonlyMap<string, PolicyPair>
  readonly idempotency: IdempotencySettings
  /** A copy, which is read by `givers`. */
  readonly credentials: Credentials
  readonly preload: 'idle' | 'eager' | 'never'
  /** `installFetch` sets it. */
  fetch: typeof fetch
  /** Sends a stored task, in a service. Absent: the options of the queue do. */
  sendingOf?: (record: StoredTask) => OwnSending
  /** The life of a lease that is renewed while its attempt runs, in milliseconds. @default 30_000 */
  leaseMs?: number
  readonly clock: Clock
  readonly durable: boolean
}

/** The options as they are at construction: what their owner sets later is not the queue's. */
export function settingsOf(given: RetryQueueOptions): Settings {
  const { policy, policies = [], idempotency = {}, store, durable = store !== undefined } = given
  return {
    name: 'default',
    concurrency: 6,
    concurrencyPerOrigin: given.concurrency === undefined ? 3 : undefined,
    capacity: 10_000,
    maxBodyBytes: 8 * 2 ** 20,
    preload: 'idle',
    clock: systemClock,
    fetch: globalFetch(),
    ...defined(given),
    // 'default' is always there; it may be given here or there, not both
    policies: new Map([
      ['default', pairOf(policy ?? {})],
      ...policies.map((each): [string, PolicyPair] => [each.policyId, pairOf(each)]),
    ]),
    idempotency: settledIdempotency(idempotency || { methods: [] }),
    credentials: { ...given.credentials },
    durable,
  }
}

/** Marks a request that a queue sends by the global fetch: that one may lead back to the queue. */
export const OWN: unique symbol = Symbol()
export type Marked = RequestInit & { readonly [OWN]?: true }

/** The global fetch of each moment: mocks and tracers may replace it later. The first one sends what has come back. */
function globalFetch(): typeof fetch {
  const first = globalThis.fetch
  const marked = marking((input, init) => globalThis.fetch(input, init))
  return (input, init: Marked = {}) => (init[OWN] ? first : marked)(input, init)
}

/** A fetch that marks what it sends as a queue's. An init of a class, which only a call that passes through has, would lose its parts. */
export const marking =
  (send: typeof fetch): typeof fetch =>
  (input, init = {}) =>
    send(input, init.constructor === Object ? ({ ...init, [OWN]: true } as Marked) : init)

/** An option given as undefined is one that is not given. */
export function defined<T extends object>(given: T): T {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as T
}
