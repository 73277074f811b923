/**
 * The queue as its users see it. What every page loads is here: the caller's own first attempt, and nothing that only
 * a failed call needs. The rest (core, runner) comes with its own chunk, at idle, and is started by the first failure.
 */

import { assertNotAborted, attempt, bothSignals, deliver, type Finished, OUTCOME } from './attempt.ts'
import { check, fn, follow, ms, object, origin, originIn } from './check.ts'
import { steady } from './clock.ts'
import type { Desk } from './desk.ts'
import { notFound, QueueClosedError, WasmUnavailableError } from './errors.ts'
import { Emitter } from './events.ts'
import type { Host } from './host.ts'
import { hostDraw, random128, seededDraw } from './ids.ts'
import { expose } from './internals.ts'
import type { EngineSource } from './loader.ts'
import { nothingYet } from './nothing.ts'
import { Opening } from './opening.ts'
import { type RetryQueueOptions, resolveOptions, type Settings, type TaskOptions } from './options.ts'
import { type Call, passesThrough, type RedriveInit, readFetch } from './request.ts'
import type {
  AttemptLog,
  DeadLetters,
  Decision,
  DegradedCode,
  EnqueueReceipt,
  ListFilter,
  PageOptions,
  QueueEvents,
  QueueStats,
  RetryTask,
  TaskOutcome,
  TaskPage,
} from './types.ts'

const DRAIN_MS = 5_000
const CLOSE_RULES = { drainMs: ms() }
const NO_TASKS: TaskPage = { tasks: [] }

export class RetryQueue implements AsyncDisposable {
  readonly name: string
  readonly deadLetters: DeadLetters
  readonly #settings: Settings
  readonly #core: Opening
  readonly #events: Emitter<QueueEvents>
  readonly #now: () => number
  readonly #makeKey: () => string
  readonly #host: Host
  readonly #reported = new Set<string>()
  #closing: Promise<void> | undefined
  #calls = 0
  #attempts = 0
  #firstAttemptSucceeded = 0
  #idleWaiters: (() => void)[] = []

  /** Checks its options at once: TypeError and RangeError name the option, what was expected and what came. */
  constructor(options: RetryQueueOptions, source: EngineSource) {
    const settings = resolveOptions(options)
    this.name = settings.name
    this.#settings = settings
    this.#now = steady(settings.clock)
    this.#events = new Emitter((event, error) => {
      this.#degraded('hook_threw', `a listener of '${String(event)}' threw: ${error}`)
    })
    const draw = settings.seed === undefined ? hostDraw() : seededDraw(settings.seed)
    this.#makeKey = () => random128(draw)
    this.#host = {
      settings,
      events: this.#events,
      now: this.#now,
      draw,
      degraded: (code, message, once) => this.#degraded(code, message, once),
      sent: () => {
        this.#attempts++
      },
      idle: () => this.#checkIdle(),
    }
    this.deadLetters = {
      list: async (options) => (await this.#desk())?.deadLetters.list(options) ?? NO_TASKS,
      redrive: async (taskId, options) => found(taskId, await this.#desk()).deadLetters.redrive(taskId, options),
      redriveAll: async (options) => (await this.#desk())?.deadLetters.redriveAll(options) ?? 0,
      purge: async (taskId) => (await this.#desk())?.deadLetters.purge(taskId) ?? 0,
    }
    expose(this, {
      settings,
      makeKey: this.#makeKey,
      run: async (call) => {
        this.#assertOpen()
        return this.#run(call)
      },
    })
    this.#core = new Opening(source, this.#host)
  }

  /** Core loaded. Every method waits for it by itself. Where it cannot load, `degraded` says so and this resolves all the same. */
  get ready(): Promise<void> {
    return this.#core.open().then(() => undefined)
  }

  /**
   * fetch, made retryable: the caller's own Response or error, exactly once. Exhausted: the last attempt's Response,
   * else its own error, each with `redrive: { taskId, reason }`.
   */
  async fetch(input: RequestInfo | URL, init?: RedriveInit): Promise<Response> {
    this.#assertOpen()
    if (passesThrough(input, init)) return this.#settings.fetch(input, init)
    const reading = readFetch(input, init, this.#settings, this.#makeKey)
    return this.#run(reading instanceof Promise ? await reading : reading) as Promise<Response>
  }

  /**
   * Queues without a first attempt by the caller; resolves when the task is as durable as the receipt says. From then
   * on `init.signal` has no say any more: `cancel(taskId)` has.
   */
  async enqueue(input: RequestInfo | URL, init?: RequestInit & { redrive?: TaskOptions }): Promise<EnqueueReceipt> {
    this.#assertOpen()
    if (passesThrough(input, init)) {
      throw new TypeError('enqueue: expected http(s), not no-cors, navigate, keepalive or `redrive: false`')
    }
    const createdAt = this.#now()
    const call = await readFetch(input, init, this.#settings, this.#makeKey)
    const desk = await this.#core.open()
    this.#assertOpen()
    if (!desk || desk.runner.stopped) throw new WasmUnavailableError(this.#core.failure)
    return desk.enqueue(call, createdAt)
  }

  /** undefined: there is none of that id, or it is past its retention. */
  async get(taskId: string): Promise<RetryTask | undefined> {
    return (await this.#desk())?.get(taskId)
  }

  /** Oldest first; the last 100 are kept. */
  async attempts(taskId: string, page?: PageOptions): Promise<{ attempts: readonly AttemptLog[]; cursor?: string }> {
    return (await this.#desk())?.attempts(taskId, page) ?? { attempts: [] }
  }

  /** In the order the tasks were made. */
  async list(filter?: ListFilter): Promise<TaskPage> {
    return (await this.#desk())?.list(filter) ?? NO_TASKS
  }

  /** Resolves when the task is terminal. Rejects with `TASK_NOT_FOUND` where there is none of that id. */
  async result(taskId: string): Promise<TaskOutcome> {
    return found(taskId, await this.#desk()).result(taskId)
  }

  /** PENDING: CANCELLED at once. IN_FLIGHT: aborted; a success still counts, anything else is CANCELLED. */
  async cancel(taskId: string): Promise<'cancelled' | 'requested' | 'gone'> {
    return (await this.#desk())?.cancel(taskId) ?? 'gone'
  }

  /** Starts no more attempts, of everything or of one origin; what is in flight ends. First attempts are the caller's. */
  pause(scope?: { readonly origin: string }): void {
    this.#assertOpen()
    this.#core.pause(originOf('pause', scope))
  }

  /** The decisions taken about a task, in order, as data and in words; the last one says what it waits for. */
  async explain(taskId: string): Promise<readonly Decision[]> {
    return (await this.#desk())?.explain(taskId) ?? []
  }

  /** Undoes the `pause` of one origin, or every pause, and lets go tasks that a 401 parked. */
  resume(scope?: { readonly origin: string }): void {
    this.#assertOpen()
    this.#core.resume(originOf('resume', scope))
  }

  /** Makes everything that waits for its own curve due now; a server's delay and the limits still hold. */
  async flush(): Promise<number> {
    return (await this.#desk())?.runner.flush() ?? 0
  }

  /** Resolves when no call runs and no task waits. */
  async idle(): Promise<void> {
    this.#assertOpen()
    if (this.#isIdle()) return
    return new Promise((resolve) => this.#idleWaiters.push(resolve))
  }

  stats(): QueueStats {
    const runner = this.#core.opened?.runner
    return {
      capacity: this.#settings.capacity,
      firstAttemptSucceeded: this.#firstAttemptSucceeded,
      attempts: this.#attempts,
      ...(runner ? runner.stats() : nothingYet),
    }
  }

  on<E extends keyof QueueEvents>(event: E, listener: (payload: QueueEvents[E]) => void): () => void {
    follow(`on('${event}')`, listener, fn)
    return this.#events.on(event, listener)
  }

  /**
   * Starts no more attempts, lets those in flight end (or aborts them after drainMs), then settles every caller with
   * what there is. Tasks in memory end CANCELLED. A caller's own first attempt is the caller's: it goes on as plain
   * fetch would. drainMs @default 5_000
   */
  async close(options: { readonly drainMs?: number } = {}): Promise<void> {
    check('close', options, CLOSE_RULES)
    this.#closing ??= this.#core.close(options.drainMs ?? DRAIN_MS).then(() => this.#checkIdle())
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #run(call: Call): Promise<unknown> {
    assertNotAborted(call.signal)
    this.#calls++
    // counted to its end, even if its caller detached and left
    const work = this.#firstAttempt(call).finally(() => {
      this.#calls--
      this.#checkIdle()
    })
    return call.options.detach ? orAbort(call.signal, work) : work
  }

  async #firstAttempt(call: Call): Promise<unknown> {
    const { clock } = this.#settings
    const createdAt = this.#now()
    const signal = call.options.detach ? null : call.signal
    const controller = new AbortController()
    const plan = { overlay: null, replay: false, controller, signal: bothSignals(signal, controller.signal) }
    if (call.plain) {
      if (call.plain === 'origin-missing') {
        const remedy = 'if it accepts the key, add it to idempotency.origins'
        const message = `${call.method} ${call.origin} is plain fetch; ${remedy}`
        this.#degraded('key_origin_missing', message, call.origin)
      }
      this.#attempts++
      return deliver(await attempt(call.transport, { ...plan, timeoutMs: 0 }, clock, this.#now))
    }
    const { orderKey, expiresAt = createdAt } = call.options
    // in an order, too late to be sent, or without its key: not sent before the core was asked
    const asks = orderKey !== undefined || expiresAt < createdAt || call.key === ''
    const opened = asks ? await this.#core.open() : this.#core.opened
    const asked = opened?.intake.before(call, createdAt)
    const early = asked && (await asked)
    if (early) return early.answer
    this.#attempts++
    const finished = await attempt(call.transport, { ...plan, timeoutMs: call.timeoutMs }, clock, this.#now)
    if (!finished.answer) assertNotAborted(signal)
    else if (finished.status < 400) this.#firstAttemptSucceeded++
    if (!mayPass(call, finished)) return deliver(finished)
    const now = await orAbort(signal, this.#core.open())
    return now && !now.runner.stopped ? now.intake.adopt(call, finished, createdAt) : deliver(finished)
  }

  /** With no runner there is no task to speak of, and asking starts none. */
  async #desk(): Promise<Desk | undefined> {
    this.#assertOpen()
    const desk = await this.#core.starting
    this.#assertOpen()
    return desk
  }

  #assertOpen(): void {
    if (this.#closing) throw new QueueClosedError(this.name)
  }

  #isIdle(): boolean {
    return this.#calls === 0 && (this.#core.opened?.runner.depth ?? 0) === 0
  }

  #checkIdle(): void {
    if (this.#idleWaiters.length === 0 || !this.#isIdle()) return
    for (const resolve of this.#idleWaiters.splice(0)) resolve()
  }

  #degraded(code: DegradedCode, message: string, once?: string): void {
    if (once !== undefined) {
      if (this.#reported.has(`${code} ${once}`)) return
      this.#reported.add(`${code} ${once}`)
    }
    this.#events.emit('degraded', { code, message })
  }
}

/** Whether the core is worth asking. What it says no to is the caller's at once, and starts nothing. */
function mayPass({ replayable, policy }: Call, { outcome, answer, status }: Finished): boolean {
  if (!replayable || outcome === OUTCOME.final || policy.maxAttempts === 1) return false
  return answer ? policy.retryableStatusCodes.includes(status) : policy.retryNetworkErrors
}

/** `work`, or the reason of `signal` as soon as it is aborted. */
function orAbort<T>(signal: AbortSignal | null, work: Promise<T>): Promise<T> {
  if (!signal) return work
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}

function found(taskId: string, desk: Desk | undefined): Desk {
  if (!desk) throw notFound(taskId)
  return desk
}

function originOf(what: string, scope: { readonly origin: string } | undefined): string | undefined {
  if (scope === undefined) return undefined
  follow(what, scope, object)
  follow(`${what}.origin`, scope.origin, origin)
  return originIn(scope.origin)
}
