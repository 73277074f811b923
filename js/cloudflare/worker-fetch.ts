/**
 * A fetch for Workers. What fails for a passing reason is tried again while the request lives; what takes longer is handed
 * over to a Durable Object, and its caller answered 202, so that nothing waits on a Worker that may be gone by then.
 *
 * A queue lives no longer than the calls of one request: timers and promises of a Worker belong to the request that made them.
 */

import { check, fn, follow, int, MAX_MS, ms, object, type Rules } from '../check.ts'
import * as engine from '../engine.workerd.ts'
import { WasmUnavailableError } from '../errors.ts'
import { accepted } from '../fetch-replay.ts'
import { random128 } from '../ids.ts'
import { internalsOf } from '../internals.ts'
import { PRINCIPAL, type RetryQueueOptions, resolveOptions, type TaskOptions } from '../options.ts'
import { RetryQueue } from '../queue.ts'
import { type RedriveInit, readFetch } from '../request.ts'
import { traceIdOf } from '../task.ts'
import type { DegradedCode, EnqueueReceipt } from '../types.ts'
import { uuid7Maker } from '../uuid7.ts'
import { HandOver } from './hand-over.ts'
import { checkNamespace, type RedriveNamespace, SHARDS } from './namespace.ts'
import { warn } from './object-options.ts'

/** What a Worker has left when its client has gone, less what the hand-over may take. */
const WALL_MS = 25_000
const INLINE_MS = 10_000
const ATTEMPT_TIMEOUT_MS = 10_000

export interface WorkerFetchOptions
  extends Pick<
    RetryQueueOptions,
    | 'policy'
    | 'policies'
    | 'idempotency'
    | 'sanitize'
    | 'maxBodyBytes'
    | 'credentials'
    | 'beforeAttempt'
    | 'fetch'
    | 'clock'
    | 'seed'
  > {
  /** `env.REDRIVE`: the binding of a Durable Object namespace whose class is `RedriveObject`, or extends it. */
  readonly queue: RedriveNamespace
  /** What the handler was given. Each call is kept alive to its answer, also when the client has left. */
  readonly ctx: { waitUntil(promise: Promise<unknown>): void }
  /** Whose requests these are. Each has objects of its own, and what it hands over is sent as its own. @default null */
  readonly principal?: string | null
  /** Objects for each principal and origin; one does some hundred tasks a second. 1..=256; changed, tasks stay where they are. @default 1 */
  readonly shards?: number
  /**
   * How long a call is tried here, from its start: a retry that would start later is handed over. With the policy's
   * `attemptTimeoutMs`, which is 10_000 here unless given, at most 25_000, since a Worker has 30 s once its client has
   * left. 0..=25_000; 0: handed over after the first failure. @default 10_000
   */
  readonly inlineMs?: number
  /** Attempts of one call here, the first included. 1..=20. @default 3 */
  readonly inlineAttempts?: number
  /** Requests of all calls of this fetch, after which no call is tried again here. The free plan has 50 subrequests for a request. 1..=1_000. @default 40 */
  readonly subrequests?: number
  /** Hears what works less well than asked. @default console.warn */
  readonly onDegraded?: (report: { readonly code: DegradedCode; readonly message: string }) => void
}

export interface WorkerFetch {
  /**
   * fetch, made retryable. After a failure that may pass the last word is a 202 once a Durable Object has the task:
   * `redrive-task-id` and a body of `{ status: 'queued', taskId, traceId }`. With `redrive: { mode: 'await' }` nothing is
   * handed over, and the last answer is the caller's.
   */
  (input: RequestInfo | URL, init?: RedriveInit): Promise<Response>
  /** Hands a request over without an attempt from here. Rejects where it cannot be stored. */
  enqueue(input: RequestInfo | URL, init?: RequestInit & { redrive?: TaskOptions }): Promise<EnqueueReceipt>
}

type OwnOptions = Pick<
  WorkerFetchOptions,
  'queue' | 'ctx' | 'principal' | 'shards' | 'inlineMs' | 'inlineAttempts' | 'subrequests' | 'onDegraded'
>

const RULES: Rules<OwnOptions> = {
  queue: object,
  ctx: object,
  principal: PRINCIPAL,
  shards: SHARDS,
  inlineMs: {
    ...ms(),
    expected: `a whole number from 0 to ${WALL_MS}`,
    ok: (value: number) => value >= 0 && value <= WALL_MS && Number.isInteger(value),
  },
  inlineAttempts: int(1, 20),
  subrequests: int(1, 1_000),
  onDegraded: fn,
}

/** Throws as `RetryQueue` does, naming the option; a binding that is missing, or of another kind, is named with what to put into the configuration. */
export function workerFetch(options: WorkerFetchOptions): WorkerFetch {
  const calls = new Calls(options)
  return Object.assign((input: RequestInfo | URL, init?: RedriveInit) => calls.fetch(input, init), {
    enqueue: (input: RequestInfo | URL, init?: RequestInit & { redrive?: TaskOptions }) => calls.enqueue(input, init),
  })
}

interface Open {
  readonly queue: RetryQueue
  readonly handOver: HandOver
}

class Calls {
  readonly #own: OwnOptions
  readonly #options: RetryQueueOptions
  /** As long as calls run. */
  #open: Open | undefined
  #running = 0
  #sent = 0

  constructor(given: WorkerFetchOptions) {
    const { queue, ctx, principal, shards, inlineMs, inlineAttempts, subrequests, onDegraded = warn, ...rest } = given
    checkNamespace('workerFetch.queue', queue)
    follow('workerFetch.ctx', ctx, object)
    follow('workerFetch.ctx.waitUntil', ctx.waitUntil, fn)
    const own = { queue, ctx, principal, shards, inlineMs, inlineAttempts, subrequests, onDegraded } as OwnOptions
    check('workerFetch', own, RULES)
    this.#own = own
    const send = rest.fetch ?? globalThis.fetch.bind(globalThis)
    this.#options = {
      ...rest,
      policy: { attemptTimeoutMs: ATTEMPT_TIMEOUT_MS, ...rest.policy },
      policies: (rest.policies ?? []).map((policy) => ({ attemptTimeoutMs: ATTEMPT_TIMEOUT_MS, ...policy })),
      principal: principal ?? null,
      store: 'memory',
      preload: 'never',
      // what waits here waits for a moment, and the calls of one request are few
      concurrency: 1_000,
      // a request sees too little of a server to judge it: its object does
      breaker: false,
      retryBudget: false,
      fetch: (input, init) => {
        this.#sent++
        return send(input, init)
      },
    }
    for (const { policyId, attemptTimeoutMs } of resolveOptions(this.#options).policies.values()) {
      const wallMs = (inlineMs ?? INLINE_MS) + attemptTimeoutMs
      if (attemptTimeoutMs > 0 && wallMs <= WALL_MS) continue
      const found = `attemptTimeoutMs ${attemptTimeoutMs} of the policy '${policyId}'`
      const remedy = `a Worker has 30 s once its client has left: together they may be ${WALL_MS} ms at most, and neither unlimited`
      throw new RangeError(`workerFetch.inlineMs ${inlineMs ?? INLINE_MS} and ${found}: ${remedy}`)
    }
  }

  fetch(input: RequestInfo | URL, init: RedriveInit | undefined): Promise<Response> {
    return this.#during((open) => this.#fetch(open, input, init))
  }

  enqueue(input: RequestInfo | URL, init?: RedriveInit): Promise<EnqueueReceipt> {
    return this.#during(async (open) => (await this.#enqueue(open, input, init)).receipt)
  }

  async #fetch(open: Open, input: RequestInfo | URL, init: RedriveInit = {}): Promise<Response> {
    const { redrive = {} } = init
    const { inlineMs = INLINE_MS } = this.#own
    if (redrive === false) return open.queue.fetch(input, init)
    const { mode = 'defer', waitMs = inlineMs, orderKey } = redrive
    if (mode !== 'defer') {
      return open.queue.fetch(input, { ...init, redrive: { ...redrive, waitMs: Math.min(waitMs, inlineMs) } })
    }
    if (orderKey === undefined)
      return open.queue.fetch(input, { ...init, redrive: { ...redrive, mode: 'await', waitMs: LEAVES } })
    // its turn is the object's to give
    const { call, receipt } = await this.#enqueue(open, input, init)
    const traceId = traceIdOf(call.headers) ?? random128(internalsOf(open.queue).host.draw)
    return accepted(call.transport, receipt.taskId, traceId) as Response
  }

  async #enqueue({ queue, handOver }: Open, input: RequestInfo | URL, init: RedriveInit | undefined) {
    const { host } = internalsOf(queue)
    const createdAt = host.now()
    const call = await readFetch(input, init, host)
    if (call.plain === 'too-large') {
      const limit = `maxBodyBytes ${host.settings.maxBodyBytes}`
      throw new RangeError(`${call.method} ${call.origin}: expected a body within ${limit}, got ${call.bytes} bytes`)
    }
    await queue.ready
    if (!host.sanitizer) throw new WasmUnavailableError(undefined)
    const taskId = uuid7Maker(host.draw)(createdAt)
    host.onTask?.(call, taskId)
    return { call, receipt: await handOver.enqueue({ call, taskId, createdAt }) }
  }

  /** The queue is there while anything runs, and its memory given back after that. */
  async #during<T>(work: (open: Open) => Promise<T>): Promise<T> {
    this.#open ??= this.#make()
    const open = this.#open
    this.#running++
    const { ctx } = this.#own
    try {
      const running = work(open)
      // heard by its caller
      ctx.waitUntil(running.catch(() => {}))
      return await running
    } finally {
      this.#running--
      if (this.#running === 0) {
        this.#open = undefined
        ctx.waitUntil(open.queue.close())
      }
    }
  }

  #make(): Open {
    const {
      queue: namespace,
      shards,
      onDegraded,
      inlineMs = INLINE_MS,
      inlineAttempts = 3,
      subrequests = 40,
    } = this.#own
    const queue = new RetryQueue(this.#options, async () => engine)
    queue.on('degraded', onDegraded ?? warn)
    const { host } = internalsOf(queue)
    const handOver = new HandOver(host, { queue: namespace, ...(shards ? { shards } : {}) }, (task, nextAt) => {
      if (task.call?.options.waitMs !== LEAVES) return true
      const isInTime = nextAt - task.createdAt <= inlineMs
      return isInTime && task.attemptNumber < inlineAttempts && this.#sent < subrequests
    })
    return { queue, handOver }
  }
}

/** Given as `waitMs` to what may be handed over: it waits here for as long as the hand-over allows. */
const LEAVES = MAX_MS
