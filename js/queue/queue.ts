/**
 * The queue as its users see it. What every page loads is here: the caller's own first attempt, and nothing that only
 * a failed call needs. The rest (core, runner) comes with its own chunk, at idle, and is started by the first failure.
 */

import { Emitter, reporter } from '../api/emitter.ts'
import { notFound, QueueClosedError, WasmUnavailableError } from '../api/errors.ts'
import type { QueueEvents } from '../api/events.ts'
import type {
  DeadLetters,
  EnqueueReceipt,
  ListFilter,
  PageOptions,
  ScopeOptions,
  SwitchOptions,
  TaskOutcome,
  TaskPage,
} from '../api/methods.ts'
import type { QueueStats } from '../api/stats.ts'
import { emptyStats } from '../api/stats.ts'
import type { AttemptLog, Decision, RetryTask } from '../api/task.ts'
import { attempt, deliver, type Finished, mayPass } from '../call/attempt.ts'
import type { Call } from '../call/call.ts'
import { passesThrough, type RedriveInit, readFetch } from '../call/read-fetch.ts'
import { check, flag, fn, follow, ms, originOf, type Rules } from '../options/check.ts'
import { PRINCIPAL, type RetryQueueOptions, resolveOptions } from '../options/queue-options.ts'
import type { TaskOptions } from '../options/task-options.ts'
import { assertNotAborted, bothSignals, orAbort, orLeft } from '../platform/abort.ts'
import { instantOf, steady } from '../platform/clock.ts'
import { hostDraw, random128, seededDraw } from '../platform/random.ts'
import type { QueueContext } from '../runner/context.ts'
import type { TaskManager } from '../runner/manager.ts'
import { CoreLoader, type EngineSource } from './core-loader.ts'
import { expose } from './internals.ts'
import { assertNoSwitch, assertOwn, holdDuring, whenSwitched } from './switching.ts'

const DRAIN_MS = 5_000
const CLOSE_RULES = { drainMs: ms() }
const PRINCIPAL_RULES: Rules<SwitchOptions> = { purge: flag, during: fn }
const NO_TASKS: TaskPage = { tasks: [] }

export class RetryQueue implements AsyncDisposable {
  readonly name: string
  readonly deadLetters: DeadLetters
  readonly #core: CoreLoader
  readonly #host: QueueContext
  #closing: Promise<void> | undefined
  #calls = 0
  #attempts = 0
  #firstAttemptSucceeded = 0
  #idleWaiters: (() => void)[] = []

  /** Checks its options at once: TypeError and RangeError name the option, what was expected and what came. */
  constructor(options: RetryQueueOptions, source: EngineSource) {
    const settings = resolveOptions(options)
    this.name = settings.name
    const events = new Emitter<QueueEvents>((event, error) => {
      const words = this.#core.opened?.runner.words(error) ?? error
      degraded('hook_threw', `a listener of '${String(event)}' threw: ${words}`)
    })
    const degraded = reporter(events)
    const draw = settings.seed === undefined ? hostDraw() : seededDraw(settings.seed)
    this.#host = {
      settings,
      events,
      now: steady(settings.clock),
      draw,
      makeKey: () => random128(draw),
      principal: settings.principal ?? null,
      declaredAt: instantOf(settings.clock),
      degraded,
      sent: () => {
        this.#attempts++
      },
      attempt: (_, plan) => attempt(plan, settings.clock, this.#host.now),
      idle: () => this.#checkIdle(),
    }
    this.deadLetters = {
      list: (options) => this.#ask((manager) => manager.deadLetters.list(options), NO_TASKS),
      redrive: async (taskId, options) => found(taskId, await this.#manager()).deadLetters.redrive(taskId, options),
      redriveAll: (options) => this.#ask((manager) => manager.deadLetters.redriveAll(options), 0),
      purge: (taskId, options) => this.#ask((manager) => manager.deadLetters.purge(taskId, options), 0),
      purgeAll: (options) => this.#ask((manager) => manager.deadLetters.purgeAll(options), 0),
      export: async (options) => (await this.#running()).deadLetters.export(options),
    }
    expose(this, {
      host: this.#host,
      run: async (call) => {
        this.#assertOpen()
        return this.#run(call)
      },
    })
    this.#core = new CoreLoader(source, this.#host)
  }

  /**
   * Core loaded, store open, earlier tasks taken up. Every method waits for it by itself. Where it cannot load,
   * `degraded` says so and this resolves all the same.
   */
  get ready(): Promise<void> {
    return this.#core.open().then(() => undefined)
  }

  /**
   * fetch, made retryable: the caller's own Response or error, exactly once. Exhausted: the last attempt's Response,
   * else its own error, each with `redrive: { taskId, reason }`.
   */
  async fetch(input: RequestInfo | URL, init?: RedriveInit): Promise<Response> {
    this.#assertOpen()
    if (passesThrough(input, init)) return this.#host.settings.fetch(input, init)
    const reading = readFetch(input, init, this.#host)
    return this.#run(reading instanceof Promise ? await reading : reading) as Promise<Response>
  }

  /**
   * Queues without a first attempt by the caller; resolves when the task is as durable as the receipt says. From then
   * on `init.signal` has no say any more: `cancel(taskId)` has.
   */
  async enqueue(input: RequestInfo | URL, init?: RequestInit & { redrive?: TaskOptions }): Promise<EnqueueReceipt> {
    this.#assertOpen()
    const createdAt = this.#host.now()
    const call = await readFetch(input, init, this.#host)
    return (await this.#running()).enqueue(call, createdAt, passesThrough(input, init))
  }

  /**
   * undefined: there is none of that id, it is past its retention, or it is another principal's. This and all below that name
   * a task or show some go by the current principal; `allPrincipals` is for tools.
   */
  get(taskId: string, scope?: ScopeOptions): Promise<RetryTask | undefined> {
    return this.#ask((manager) => manager.get(taskId, scope), undefined)
  }

  /** Oldest first; the last 100 are kept. */
  attempts(
    taskId: string,
    page?: PageOptions & ScopeOptions,
  ): Promise<{ attempts: readonly AttemptLog[]; cursor?: string }> {
    return this.#ask((manager) => manager.attempts(taskId, page), { attempts: [] })
  }

  /** In the order the tasks were made. */
  list(filter?: ListFilter): Promise<TaskPage> {
    return this.#ask((manager) => manager.list(filter), NO_TASKS)
  }

  /** Resolves when the task is terminal. Rejects with `TASK_NOT_FOUND` where there is none of that id. */
  async result(taskId: string, scope?: ScopeOptions): Promise<TaskOutcome> {
    return found(taskId, await this.#manager()).result(taskId, scope)
  }

  /** PENDING: CANCELLED at once. IN_FLIGHT: aborted; a success still counts, anything else is CANCELLED. */
  cancel(taskId: string, scope?: ScopeOptions): Promise<'cancelled' | 'requested' | 'gone'> {
    return this.#ask((manager) => manager.cancel(taskId, scope), 'gone')
  }

  /**
   * Starts no more attempts, of everything or of one origin, exactly as `new URL(url).origin` has it; what is in flight ends.
   * First attempts are the caller's.
   */
  pause(scope?: { readonly origin: string }): void {
    this.#assertOpen()
    this.#core.pause(originOf('pause', scope))
  }

  /** The decisions taken about a task, in order, as data and in words; the last one says what it waits for. */
  explain(taskId: string, scope?: ScopeOptions): Promise<readonly Decision[]> {
    return this.#ask((manager) => manager.explain(taskId, scope), [])
  }

  /** Undoes the `pause` of one origin, or every pause, and lets go tasks that a 401 parked. */
  resume(scope?: { readonly origin: string }): void {
    this.#assertOpen()
    this.#core.resume(originOf('resume', scope))
  }

  /** Makes everything that waits for its own curve due now; a server's delay and the limits still hold. */
  flush(): Promise<number> {
    return this.#ask((manager) => manager.runner.flush(), 0)
  }

  /**
   * Says whose requests are made from now on. Tasks of the principal before wait until theirs is back. Calls made after this
   * one have the new principal, even before it resolves; one made before whose body was still being read rejects with
   * `PRINCIPAL_CHANGED`, unsent. Cookies that change before this is called go out with the retries of the principal before: log
   * in with `during`.
   */
  async setPrincipal(principal: string | null, options: SwitchOptions = {}): Promise<void> {
    this.#assertOpen()
    follow('setPrincipal', principal, PRINCIPAL)
    check('setPrincipal', options, PRINCIPAL_RULES)
    const host = this.#host
    const { purge = false, during } = options
    const { principal: before, declaredAt, settings } = host
    if (during || principal !== before) assertNoSwitch(host)
    host.principal = principal
    host.declaredAt = instantOf(settings.clock)
    if (during) {
      await holdDuring(during, { principal: before, declaredAt }, host, (from) => this.#follow(from, false))
    }
    await this.#follow(before, purge)
  }

  #follow(before: string | null, purge: boolean): Promise<void> {
    const { principal } = this.#host
    return this.#ask((manager) => manager.setPrincipal(before, principal, purge), undefined)
  }

  /** Resolves when no call runs and no task waits, in memory or, of this principal, in the store. */
  async idle(): Promise<void> {
    this.#assertOpen()
    if (this.#host.settings.durable) await this.#core.open()
    return new Promise((resolve) => {
      this.#idleWaiters.push(resolve)
      this.#checkIdle()
    })
  }

  /**
   * Tasks of the current principal; with `allPrincipals` those of all. What the queue has counted (`attempts`, `succeeded`,
   * `exhausted`, `cancelled`, `firstAttemptSucceeded`, `unusableRetryAfter`) is the whole queue's either way. What other processes
   * did to a store is as of the last look.
   */
  stats(scope?: ScopeOptions): QueueStats {
    const runner = this.#core.opened?.runner
    return {
      capacity: this.#host.settings.capacity,
      firstAttemptSucceeded: this.#firstAttemptSucceeded,
      attempts: this.#attempts,
      ...(runner ? runner.stats(scope) : emptyStats),
    }
  }

  on<E extends keyof QueueEvents>(event: E, listener: (payload: QueueEvents[E]) => void): () => void {
    follow(`on('${event}')`, listener, fn)
    return this.#host.events.on(event, listener)
  }

  /**
   * Starts no more attempts, lets those in flight end (or aborts them after drainMs), then settles every caller with
   * what there is. Tasks in memory end CANCELLED, those of a store stay in it. A caller's own first attempt is the
   * caller's: it goes on as plain fetch would. drainMs @default 5_000
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
    return call.options.detach ? orLeft(call.signal, work) : work
  }

  async #firstAttempt(call: Call): Promise<unknown> {
    const { settings, now } = this.#host
    const { durable, persist } = settings
    const createdAt = now()
    const { plain, method, origin, options } = call
    const { detach, orderKey, expiresAt = createdAt } = options
    const signal = detach ? null : call.signal
    if (plain === 'origin-missing') {
      const remedy = 'if it accepts the key, add it to idempotency.origins'
      this.#host.degraded('key_origin_missing', `${method} ${origin} is plain fetch; ${remedy}`, origin)
    }
    if (!plain || orderKey !== undefined) {
      // in an order, too late to be sent, without its key, or to be stored first: not sent before the core was asked
      const asks =
        orderKey !== undefined || expiresAt < createdAt || call.key === '' || (durable && persist === 'before-send')
      const opened = asks ? await orAbort(signal, this.#core.open()) : this.#core.opened
      const asked = opened?.admission.beforeSending(call, createdAt)
      const early = asked && (await asked)
      if (early) return early.answer
    }
    while (this.#host.switching) await whenSwitched(call, this.#host, signal, this.#host.switching)
    assertOwn(call, this.#host)
    this.#attempts++
    const controller = new AbortController()
    const timeoutMs = plain ? 0 : call.timeoutMs
    const plan = {
      transport: call.transport,
      overlay: null,
      isReplay: false,
      controller,
      signal: bothSignals(signal, controller.signal),
      timeoutMs,
    }
    const finished = await this.#host.attempt(call, plan)
    if (!finished.answer) assertNotAborted(signal)
    else if (!plain && finished.status < 400) this.#firstAttemptSucceeded++
    if (plain || !mayPass(call, finished)) {
      this.#observe(call, finished)
      return deliver(finished)
    }
    const manager = await orAbort(signal, this.#core.open())
    return manager && !manager.runner.stopped
      ? manager.admission.afterFailure(call, finished, createdAt)
      : deliver(finished)
  }

  /** Has the core hear of an attempt that makes no task; of one that ends while it still loads, as soon as it is there. */
  #observe(call: Call, finished: Finished): void {
    const core = this.#core
    const { durable, preload } = this.#host.settings
    const tell = (manager: TaskManager | undefined) => manager?.admission.observeUntracked(call, finished)
    if (core.opened) tell(core.opened)
    else (preload !== 'never' && durable && !core.failure ? core.open() : core.starting)?.then(tell)
  }

  /** Without a manager there is no task to speak of: `nothing`. */
  async #ask<T>(question: (manager: TaskManager) => T | Promise<T>, nothing: T): Promise<T> {
    const manager = await this.#manager()
    return manager ? question(manager) : nothing
  }

  /** Asking starts none, unless tasks may lie in a store. */
  async #manager(start = this.#host.settings.durable): Promise<TaskManager | undefined> {
    this.#assertOpen()
    const manager = await (start ? this.#core.open() : this.#core.starting)
    this.#assertOpen()
    return manager
  }

  /** For what only a running core can do. */
  async #running(): Promise<TaskManager> {
    const manager = await this.#manager(true)
    if (!manager || manager.runner.stopped) throw new WasmUnavailableError(this.#core.failure)
    return manager
  }

  #assertOpen(): void {
    if (this.#closing) throw new QueueClosedError(this.name)
  }

  #checkIdle(): void {
    if (this.#calls > 0 || this.#core.opened?.runner.depth) return
    for (const resolve of this.#idleWaiters.splice(0)) resolve()
  }
}

function found(taskId: string, manager: TaskManager | undefined): TaskManager {
  if (!manager) throw notFound(taskId)
  return manager
}
