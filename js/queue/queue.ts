/// <reference lib="esnext.disposable" preserve="true" />
/**
 * The queue as its users see it. What every page loads is here: the caller's own first attempt, and nothing that only
 * a failed call needs. The rest (core, runner) comes with its own chunk, at idle, and is started by the first failure.
 */

import { consoleWarner, Emitter, reporter } from '../api/emitter.ts'
import { QueueClosedError, WasmUnavailableError } from '../api/errors.ts'
import type { QueueEvents } from '../api/events.ts'
import type { RedriveResponse } from '../api/mark.ts'
import type {
  DeadLetters,
  EnqueueReceipt,
  ListFilter,
  PageOptions,
  ScopeOptions,
  SubscribeOptions,
  SwitchOptions,
  TaskChange,
  TaskOutcome,
  TaskPage,
} from '../api/methods.ts'
import type { QueueStats } from '../api/stats.ts'
import { emptyStats } from '../api/stats.ts'
import type { AttemptLog, Decision, RetryTask } from '../api/task.ts'
import type { Call } from '../call/call.ts'
import { type Parting, whileThere } from '../call/leaving.ts'
import { type EnqueueInit, passesThrough, type RedriveInit, readFetch, withJson } from '../call/read-fetch.ts'
import type { Checks } from '../options/checks.ts'
import { type RetryQueueOptions, settingsOf } from '../options/queue-options.ts'
import { assertNotAborted } from '../platform/abort.ts'
import { fakeTimers, instantOf, steady, within } from '../platform/clock.ts'
import { hostDraw, seededDraw, uuid4 } from '../platform/random.ts'
import type { RequestLike } from '../platform/web.ts'
import type { QueueContext, TaskChanges } from '../runner/context.ts'
import type { TaskManager } from '../runner/manager.ts'
import { type EngineSource, type Loader, loadCore, type MakeLoader } from './core-loader.ts'
import { deadLettersOf, NO_TASKS } from './dead-letters.ts'
import { firstAttempt } from './first-attempt.ts'
import { expose } from './internals.ts'
import { announce, switchPrincipal } from './switching.ts'

const DRAIN_MS = 5_000

export class RetryQueue implements AsyncDisposable {
  readonly name: string
  readonly deadLetters: DeadLetters
  readonly #core: Loader
  readonly #host: QueueContext
  #closing: Promise<void> | undefined
  /** The last `setPrincipal`. */
  #switched: Promise<void> = Promise.resolve()

  /** @internal The entries' own say how the core is loaded, and whether options are checked before that. */
  constructor(options: RetryQueueOptions, source: EngineSource, checks?: Checks, load: MakeLoader = loadCore) {
    checks?.queue(options)
    const settings = settingsOf(options)
    this.name = settings.name
    const unheard = settings.warn === false ? undefined : consoleWarner(this.name)
    const events = new Emitter<QueueEvents & TaskChanges>((event, error) => {
      const words = this.#core.opened?.runner.words(error) ?? error
      degraded('hook_threw', `a listener of '${event}' threw: ${words}`)
    }, unheard)
    const degraded = reporter(events)
    const draw = settings.seed === undefined ? hostDraw() : seededDraw(settings.seed)
    this.#host = {
      checks,
      given: options,
      settings,
      events,
      now: steady(settings.clock),
      draw,
      makeKey: () => uuid4(draw),
      principal: settings.principal ?? null,
      declaredAt: instantOf(settings.clock),
      degraded,
      counts: { attempts: 0, firstAttemptSucceeded: 0 },
      idle: () => this.#core.idle(),
    }
    this.deadLetters = deadLettersOf(
      (about) => this.#manager(about),
      (about) => this.#acting(about),
      () => this.#running(),
    )
    // libraries take it as a function of its own: `new Client({ fetch: queue.fetch })`
    this.fetch = this.fetch.bind(this)
    expose(this, {
      host: this.#host,
      run: (call) => this.#run(call),
    })
    this.#core = load(source, this.#host)
  }

  /**
   * Core loaded, store open, earlier tasks taken up. Every method waits for it by itself. Where it cannot load,
   * `degraded` says so and this resolves all the same.
   */
  get ready(): Promise<void> {
    return this.#core.open().then(() => {})
  }

  /**
   * Sends a request as the global `fetch` does, and again if it fails for a passing reason: up to 12 attempts within 30 s (`waitMs`); in a page a
   * write to another origin only if `idempotency.origins` lists that.
   * Resolves with the server's answer, whatever its status, or rejects with the error that `fetch` would have thrown. A call that
   * was given up ends with its last answer or error, which then has `redrive: { taskId, reason }`.
   *
   * @example
   * const response = await queue.fetch('https://api.example.com/orders', { method: 'POST', body: 'A-1' })
   * if (!response.ok) console.error(response.status, response.redrive?.reason)
   */
  async fetch(input: RequestLike, init?: RedriveInit): Promise<RedriveResponse> {
    this.#assertOpen()
    const trait = passesThrough(input, init)
    if (trait) {
      this.#host.checks?.passing(trait, this.#host)
      return this.#host.settings.fetch(input, init)
    }
    const reading = readFetch(input, init, this.#host)
    return this.#run(reading instanceof Promise ? await reading : reading) as Promise<RedriveResponse>
  }

  /**
   * Keeps a request as a task, which is sent in the background for 24 hours by default. Resolves once the task is as safe as the receipt's
   * `durability` says, or rejects if it cannot be kept. `result(taskId)` waits for its end. After the receipt only `cancel(taskId)` stops
   * it; until then an abort of `init.signal` or the end of a `waitMs` rejects, and ends what the store has of the call.
   *
   * @example
   * const { taskId } = await queue.enqueue('https://api.example.com/reports', { json: { ok: true } })
   * const { task } = await queue.result(taskId)
   */
  async enqueue(input: RequestLike, init?: EnqueueInit): Promise<EnqueueReceipt> {
    this.#assertOpen()
    const createdAt = this.#host.now()
    const call = await readFetch(input, withJson(input, init), this.#host, true)
    assertNotAborted(call.signal)
    const receipt = this.#running().then((manager) => {
      this.#host.checks?.early?.(call, this.#host)
      return manager.enqueue(call, createdAt, passesThrough(input, init))
    })
    // a receipt is waited for without an end, unless its caller has said so
    return whileThere(call, this.#host.settings.clock, call.options.waitMs && call.leaveMs, receipt)
  }

  /**
   * Looks up a task as it is now. Resolves with undefined if none has this id, if it is past its retention, or if it is another
   * principal's. This method and all below cover the tasks of the current principal; `allPrincipals` is for tools.
   */
  get(taskId: string, scope?: ScopeOptions): Promise<RetryTask | undefined> {
    return this.#ask((manager) => manager.get(taskId, scope), undefined, true)
  }

  /** Oldest first; the last 100 are kept. */
  attempts(
    taskId: string,
    page?: PageOptions & ScopeOptions,
  ): Promise<{ attempts: readonly AttemptLog[]; cursor?: string }> {
    return this.#ask((manager) => manager.attempts(taskId, page), { attempts: [] }, true)
  }

  /** In the order the tasks were made. */
  list(filter?: ListFilter): Promise<TaskPage> {
    return this.#ask((manager) => manager.list(filter), NO_TASKS, filter)
  }

  /**
   * Waits for the end of a task, whichever tab or process sends it, and resolves with what came of it: delivered, a dead letter or
   * cancelled. Resolves at once if it has ended already. Rejects with `TASK_NOT_FOUND` if none has this id.
   */
  async result(taskId: string, scope?: ScopeOptions): Promise<TaskOutcome> {
    return (await this.#running()).result(taskId, scope)
  }

  /**
   * PENDING: CANCELLED at once; 'requested' where the first attempt of its deferred call is under way, which is aborted. IN_FLIGHT: aborted; a success
   * still counts, anything else is CANCELLED. Rejects with `STORAGE_UNAVAILABLE` while the store of a durable queue is not open.
   */
  async cancel(taskId: string, scope?: ScopeOptions): Promise<'cancelled' | 'requested' | 'gone'> {
    return (await this.#acting(true))?.cancel(taskId, scope) ?? 'gone'
  }

  /**
   * Starts no more attempts, of everything or of one origin, exactly as `new URL(url).origin` has it; what is in flight ends.
   * A caller's own first attempt is made all the same, unless `limitFirstAttempts` is set.
   */
  pause(scope?: { readonly origin: string }): void {
    this.#assertOpen()
    this.#host.checks?.scope('pause', scope)
    this.#core.pause(scope?.origin)
  }

  /** The decisions taken about a task, in order, as data and in words; the last one says what it waits for. */
  explain(taskId: string, scope?: ScopeOptions): Promise<readonly Decision[]> {
    return this.#ask((manager) => manager.explain(taskId, scope), [], true)
  }

  /** The limit as the option has it. Set anew it holds at once, and what runs goes on. With a `TaskStore` each process goes by its own. */
  get concurrency(): number {
    return this.#host.settings.concurrency
  }

  set concurrency(most: number) {
    this.#setLimit('concurrency', most)
  }

  /** Likewise; it follows `concurrency` where that was given and this was not, until it is set. */
  get concurrencyPerOrigin(): number {
    return this.#host.settings.concurrencyPerOrigin ?? this.concurrency
  }

  set concurrencyPerOrigin(most: number) {
    this.#setLimit('concurrencyPerOrigin', most)
  }

  /**
   * Cancels every task that waits, in memory and in the store, and resolves with how many: their callers' promises reject as with `cancel`.
   * What is in flight goes on, and dead letters stay.
   */
  async clear(scope?: ScopeOptions): Promise<number> {
    return (await this.#acting(scope))?.clear(scope) ?? 0
  }

  /** Undoes the `pause` of one origin, or every pause, and goes on with tasks that a 401 parked. */
  resume(scope?: { readonly origin: string }): void {
    this.#assertOpen()
    this.#host.checks?.scope('resume', scope)
    this.#core.resume(scope?.origin)
  }

  /**
   * Makes everything that waits for its own curve due now; a server's delay and the limits still hold. Where an open circuit or the
   * ramp keeps an origin's tasks back, one of them goes at once to see whether the server is back.
   */
  flush(): Promise<number> {
    return this.#ask((manager) => manager.runner.flush(), 0)
  }

  /** The principal whose requests are made now. */
  get principal(): string | null {
    return this.#host.principal
  }

  /**
   * Says whose requests are made from now on. Tasks of the principal before wait until theirs is back; its callers that have set no
   * `waitMs` get their last answer or error now. Calls made after this
   * one have the new principal, even before it resolves; one made before whose body was still being read rejects with
   * `PRINCIPAL_CHANGED`, unsent. Cookies that change before this is called go out with the retries of the principal before: log
   * in with `during`.
   */
  async setPrincipal(principal: string | null, options: SwitchOptions = {}): Promise<void> {
    this.#assertOpen()
    const { durable } = this.#host.settings
    const tell = async (from: string | null, purge: boolean) => {
      const to = this.#host.principal
      const manager = await (durable ? this.#core.open() : this.#core.starting)
      // closed, and the login took longer than its drainMs
      if (manager?.runner.stopped) this.#assertOpen()
      if (manager) return manager.setPrincipal(from, to, purge)
      if (durable) announce(this.#host)
      if (purge) await this.#acting()
    }
    this.#switched = switchPrincipal(principal, options, this.#host, tell)
    return this.#switched
  }

  /** Resolves when no call runs and no task waits, in memory or, of this principal, in the store. */
  async idle(): Promise<void> {
    this.#assertOpen()
    if (this.#host.settings.durable) await this.#core.open()
    return new Promise((resolve) => this.#core.idle(resolve))
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
      ...this.#host.counts,
      ...(runner ? runner.stats(scope) : emptyStats),
    }
  }

  /**
   * Tells `listener` when tasks have changed, of any principal: what changed together, once. Returns what ends that. A property and bound, as
   * is `snapshot`: `useSyncExternalStore(queue.subscribe, queue.snapshot)`.
   */
  readonly subscribe = (listener: (change: TaskChange) => void, options: SubscribeOptions = {}): (() => void) => {
    const { checks, events, settings } = this.#host
    checks?.subscribe(listener, options)
    // a store that is not open tells no changes
    if (settings.durable && !this.#closing) void this.#core.open()
    return events.on(options.scope ?? 'store', listener)
  }

  /** `stats()` as it was after the last change of a task: the same object until there is another. */
  readonly snapshot = (): QueueStats => {
    this.#host.snapshot ??= this.stats()
    return this.#host.snapshot
  }

  on<E extends keyof QueueEvents>(event: E, listener: (payload: QueueEvents[E]) => void): () => void {
    this.#host.checks?.listener(event, listener)
    return this.#host.events.on(event, listener)
  }

  /**
   * Starts no more attempts, and lets those in flight end, or aborts them after `drainMs`. Callers get what there is, marked `reason: 'closed'`, those
   * of a waiting retry at once. A stored task ends with its caller; background work stays in the store. Tasks in memory end CANCELLED.
   * A caller's own first attempt that takes longer goes on as plain fetch would. drainMs @default 5_000
   */
  async close(options: { readonly drainMs?: number } = {}): Promise<void> {
    this.#host.checks?.close(options)
    const { drainMs = DRAIN_MS } = options
    const end = () => this.#core.close(drainMs).then(this.#host.idle)
    const { clock } = this.#host.settings
    // a login changes the cookies all the same, of which other tabs have to hear
    this.#closing ??= this.#host.switching ? within(clock, drainMs, '', this.#switched).then(end, end) : end()
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** A core that is yet to come reads the settings. */
  #setLimit(name: 'concurrency' | 'concurrencyPerOrigin', most: number): void {
    const { checks, settings } = this.#host
    checks?.limit(name, most)
    settings[name] = most
    this.#core.opened?.applyLimits()
  }

  async #run(call: Call): Promise<unknown> {
    // a body may have taken until now
    this.#assertOpen()
    assertNotAborted(call.signal)
    const { calls } = this.#core
    const parting: Parting = {}
    const work = firstAttempt(call, parting, this.#host, this.#core).finally(() => {
      if (!call.underWay) call.leave?.(false)
      calls.delete(work)
      this.#host.idle()
    })
    calls.add(work, call)
    return whileThere(call, this.#host.settings.clock, call.leaveMs, work, parting)
  }

  /** Without a manager there is no task to speak of: `nothing`. `about`: see `#manager`. */
  async #ask<T>(question: (manager: TaskManager) => T | Promise<T>, nothing: T, about?: unknown): Promise<T> {
    const manager = await this.#manager(about)
    return manager ? question(manager) : nothing
  }

  /** Asking starts none, unless tasks may lie in a store, or it is `about` something that only a manager can check. */
  async #manager(about?: unknown): Promise<TaskManager | undefined> {
    this.#assertOpen()
    const starts = about !== undefined || this.#host.settings.durable
    const manager = await (starts ? this.#core.open() : this.#core.starting)
    this.#assertOpen()
    return manager
  }

  /** For what changes tasks: without a core there are none, unless they lie in a store, and then it rejects. */
  #acting(about?: unknown): Promise<TaskManager | undefined> {
    return this.#host.settings.durable ? this.#running() : this.#manager(about)
  }

  /** For what only a running core can do. */
  async #running(): Promise<TaskManager> {
    const manager = await this.#manager(true)
    const { failure } = this.#core
    if (failure?.code === 'options_refused') throw failure.cause
    if (!manager || manager.runner.stopped) throw new WasmUnavailableError(failure)
    return manager
  }

  #assertOpen(): void {
    if (this.#closing) throw new QueueClosedError(this.name)
    const fake = fakeTimers()
    if (fake) fake.redrive = (fake.redrive ?? new Set()).add(this)
  }
}
