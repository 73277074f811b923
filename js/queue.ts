/**
 * The queue as its users see it. What every page loads is here: the caller's own first attempt, and nothing that only
 * a failed call needs. The rest (core, runner) comes with its own chunk, at idle, and is started by the first failure.
 */

import { assertNotAborted, attempt, bothSignals, deliver, type Finished, OUTCOME } from './attempt.ts'
import { check, follow, ms, originIn, type Rules, show, text } from './check.ts'
import { steady } from './clock.ts'
import { checkPage, DeadLetters, PAGE_RULES, type PageOptions, type TaskPage } from './dead-letters.ts'
import { QueueClosedError, RedriveError, WasmUnavailableError } from './errors.ts'
import { Emitter } from './events.ts'
import type { Host } from './host.ts'
import { hostDraw, random128, seededDraw, uuid7Maker } from './ids.ts'
import { expose } from './internals.ts'
import type { EngineSource } from './loader.ts'
import { type Opened, Opening } from './opening.ts'
import { type RetryQueueOptions, resolveOptions, type Settings, type TaskOptions } from './options.ts'
import { nothingYet } from './report.ts'
import { type Call, passesThrough, type RedriveInit, readFetch } from './request.ts'
import type { Runner } from './runner.ts'
import type { Task } from './task.ts'
import type {
  AttemptLog,
  DegradedCode,
  EnqueueReceipt,
  QueueEvents,
  QueueStats,
  RetryTask,
  TaskOutcome,
  TaskStatus,
} from './types.ts'

const EVENTS: readonly (keyof QueueEvents)[] = [
  'queued',
  'resumed',
  'attempt',
  'retry',
  'succeeded',
  'exhausted',
  'cancelled',
  'unauthorized',
  'circuit',
  'degraded',
  'alert',
  'idle',
]
const DRAIN_MS = 5_000

export interface ListFilter extends PageOptions {
  readonly status?: TaskStatus
  readonly origin?: string
}

const LIST_RULES: Rules<ListFilter> = {
  ...PAGE_RULES,
  status: { oneOf: ['PENDING', 'IN_FLIGHT', 'SUCCEEDED', 'EXHAUSTED', 'CANCELLED'] },
  origin: text,
}

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
      const what = error instanceof Error ? error.message : String(error)
      this.#degraded('hook_threw', `a listener of '${String(event)}' threw (${what}); the queue goes on`)
    })
    const draw = settings.seed === undefined ? hostDraw() : seededDraw(settings.seed)
    this.#makeKey = () => random128(draw)
    this.#host = {
      settings,
      events: this.#events,
      now: this.#now,
      nextTaskId: uuid7Maker(draw),
      nextTraceId: this.#makeKey,
      degraded: (code, message, once) => this.#degraded(code, message, once),
      sent: () => {
        this.#attempts++
      },
      idle: () => this.#checkIdle(),
    }
    this.deadLetters = new DeadLetters(() => this.#existing(), settings.clock)
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

  /** Queues without a first attempt by the caller; resolves when the task is as durable as the receipt says. */
  async enqueue(input: RequestInfo | URL, init?: RequestInit & { redrive?: TaskOptions }): Promise<EnqueueReceipt> {
    this.#assertOpen()
    if (passesThrough(input, init)) {
      throw new TypeError(
        'enqueue: expected an http(s) request without no-cors, navigate, keepalive or `redrive: false`',
      )
    }
    const createdAt = this.#now()
    const call = await readFetch(input, init, this.#settings, this.#makeKey)
    if (call.plain === 'too-large') {
      const remedy = 'raise maxBodyBytes, or send it with fetch'
      throw new RedriveError(
        'BODY_TOO_LARGE',
        `the body has ${call.bytes} bytes, more than maxBodyBytes ${this.#settings.maxBodyBytes}; ${remedy}`,
      )
    }
    if (call.plain === 'origin-missing') {
      const remedy = 'list it there, or vouch with `idempotent: true`'
      throw new RedriveError(
        'KEY_ORIGIN_MISSING',
        `${call.method} ${call.origin} needs a key, and the origin is not in idempotency.origins; ${remedy}`,
      )
    }
    const opened = await this.#core.open()
    this.#assertOpen()
    if (!opened || opened.runner.stopped) throw new WasmUnavailableError(this.#core.failure)
    assertNotAborted(call.signal)
    const { taskId, key } = opened.intake.enqueue(call, createdAt)
    return { taskId, idempotencyKey: key, durability: 'memory', deduplicated: false }
  }

  async get(taskId: string): Promise<RetryTask | undefined> {
    const [runner, task] = await this.#find(taskId)
    return task && runner?.show(task)
  }

  /** Oldest first; the last 100 are kept. */
  async attempts(
    taskId: string,
    page: PageOptions = {},
  ): Promise<{ attempts: readonly AttemptLog[]; cursor?: string }> {
    checkPage('attempts', page)
    const [runner, task] = await this.#find(taskId)
    return runner && task ? runner.attempts(task, page) : { attempts: [] }
  }

  /** In the order the tasks were made. */
  async list(filter: ListFilter = {}): Promise<TaskPage> {
    check('list', filter, LIST_RULES)
    const opened = await this.#existing()
    if (!opened) return { tasks: [] }
    const { runner } = opened
    const fits = (task: Task) =>
      (filter.status === undefined || task.status === filter.status) &&
      (filter.origin === undefined || task.origin === filter.origin)
    const { items, cursor } = runner.registry.page(fits, filter, this.#now())
    const tasks = items.map((task) => runner.show(task))
    return cursor === undefined ? { tasks } : { tasks, cursor }
  }

  /** Resolves when the task is terminal. Rejects with `TASK_NOT_FOUND` where there is none of that id. */
  async result(taskId: string): Promise<TaskOutcome> {
    const [runner, task] = await this.#find(taskId)
    if (!runner || !task)
      throw new RedriveError('TASK_NOT_FOUND', `no task '${taskId}' is known, or it is past its retention`)
    return runner.result(task)
  }

  /** PENDING: CANCELLED at once. IN_FLIGHT: aborted; a success still counts, anything else is CANCELLED. */
  async cancel(taskId: string): Promise<'cancelled' | 'requested' | 'gone'> {
    const [runner, task] = await this.#find(taskId)
    return runner && task ? runner.cancel(task, new DOMException('the task was cancelled', 'AbortError')) : 'gone'
  }

  /** Starts no more attempts, of everything or of one origin; what is in flight ends. First attempts are the caller's. */
  pause(scope?: { readonly origin: string }): void {
    this.#assertOpen()
    const origin = originOf('pause', scope)
    this.#core.pause(origin)
  }

  /** Undoes the `pause` of one origin, or every pause, and lets go tasks that a 401 parked. */
  resume(scope?: { readonly origin: string }): void {
    this.#assertOpen()
    const origin = originOf('resume', scope)
    this.#core.resume(origin)
  }

  /** Makes everything that waits for its own curve due now; a server's delay and the limits still hold. */
  async flush(): Promise<number> {
    const opened = await this.#existing()
    return opened ? opened.runner.flush() : 0
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
    follow('event', event, { oneOf: EVENTS })
    return this.#events.on(event, listener)
  }

  /**
   * Starts no more attempts, lets those in flight end (or aborts them after drainMs), then settles every caller with
   * what there is. Tasks in memory end CANCELLED. drainMs @default 5_000
   */
  close(options: { readonly drainMs?: number } = {}): Promise<void> {
    try {
      check('close', options, { drainMs: ms() })
    } catch (error) {
      return Promise.reject(error)
    }
    this.#closing ??= this.#close(options.drainMs ?? DRAIN_MS)
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
      if (call.plain === 'origin-missing') this.#keyOriginMissing(call)
      this.#attempts++
      return deliver(await attempt(call.transport, { ...plan, timeoutMs: 0 }, clock, this.#now))
    }
    const { opened } = this.#core
    if (opened && !opened.runner.stopped && opened.runner.heldUntil(call.origin) > createdAt) {
      const held = opened.intake.hold(call, createdAt)
      if (held) return held
    }
    this.#attempts++
    const finished = await attempt(call.transport, { ...plan, timeoutMs: call.timeoutMs }, clock, this.#now)
    if (!finished.answer) {
      assertNotAborted(signal)
      if (call.addedCrossOrigin && finished.outcome === OUTCOME.network) this.#maybeCors(call)
    } else if (finished.status < 400) this.#firstAttemptSucceeded++
    if (!mayPass(call, finished)) return deliver(finished)
    const now = await orAbort(signal, this.#core.open())
    return now && !now.runner.stopped ? now.intake.adopt(call, finished, createdAt) : deliver(finished)
  }

  /** With no runner there is no task to speak of, and asking starts none. */
  async #existing(): Promise<Opened | undefined> {
    this.#assertOpen()
    const opened = await this.#core.existing()
    this.#assertOpen()
    return opened
  }

  async #find(taskId: string): Promise<[Runner, Task] | [undefined, undefined]> {
    const opened = await this.#existing()
    const task = opened?.runner.registry.get(taskId, this.#now())
    return opened && task ? [opened.runner, task] : [undefined, undefined]
  }

  async #close(drainMs: number): Promise<void> {
    await this.#core.close(drainMs)
    this.#checkIdle()
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

  #keyOriginMissing({ method, origin }: Call): void {
    const remedy = `if it accepts the header, add '${origin}' to idempotency.origins`
    this.#degraded(
      'key_origin_missing',
      `${method} ${origin} is plain fetch: it may not be given an idempotency key; ${remedy}`,
      origin,
    )
  }

  #maybeCors({ method, origin }: Call): void {
    const header = this.#settings.idempotency?.header ?? 'Idempotency-Key'
    const remedy = `if its preflight does not allow the header ${header}, take it out of idempotency.origins`
    this.#degraded('maybe_cors', `${method} ${origin} failed without an answer; ${remedy}`, origin)
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

function originOf(what: string, scope: { readonly origin: string } | undefined): string | undefined {
  if (scope === undefined) return undefined
  const origin = originIn(scope?.origin)
  if (origin) return origin
  throw new TypeError(`${what}: expected { origin: 'https://api.example' }, got ${show(scope?.origin)}`)
}
