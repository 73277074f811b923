/**
 * The only loop: start what the core says is due, send, settle, arm the timer for the next moment that matters.
 *
 * Every decision is the core's; this acts on it. It keeps tasks, callers and timers, and tells the core how attempts
 * ended. Tasks here live in memory and end with the page.
 */

import { discard } from './answers.ts'
import { askedBy } from './asked.ts'
import { attempt, bothSignals, type Finished, isOffline } from './attempt.ts'
import { answer, count, link, outcomeOf, release, tellEnd, whenEnded } from './callers.ts'
import type { Engine } from './core/engine.ts'
import type { CoreQueue } from './core/generated/queue/glue.js'
import { NONE } from './core/none.ts'
import { chosen, type Standing, standingOf } from './decision.ts'
import { errorText } from './error-text.ts'
import { QueueClosedError } from './errors.ts'
import { accepted, isFinal, replay } from './fetch-replay.ts'
import { askHooks } from './hooks.ts'
import type { Host } from './host.ts'
import { random128 } from './ids.ts'
import { Lanes } from './lanes.ts'
import { type Limits, limitsOf } from './limits.ts'
import { type Entry, lineOf, showEntry } from './log.ts'
import { nothingHeld } from './nothing.ts'
import { Orders } from './orders.ts'
import { Registry } from './registry.ts'
import { type CoreStats, type RunnerStats, report } from './report.ts'
import type { Call } from './request.ts'
import { Sanitizer } from './sanitizer.ts'
import { type Task, traceIdOf } from './task.ts'
import type { AttemptContext, ExhaustedReason, RetryTask, TaskOutcome, TaskStatus } from './types.ts'
import { notSent, UNSENT } from './unsent.ts'
import { ENDED, reasonOf, VERDICT } from './verdict.ts'
import { makeWakeTimer, type WakeTimer } from './wake.ts'

/** The core's batch: pairs of slot and action. */
const BATCH = 256

export class Runner {
  readonly core: CoreQueue
  readonly lanes: Lanes
  readonly orders: Orders
  readonly registry: Registry
  readonly host: Host
  readonly limits: Limits
  readonly totals = { succeeded: 0, exhausted: 0, cancelled: 0 }
  readonly #engine: Engine
  readonly #timer: WakeTimer
  readonly #sanitizer: Sanitizer
  /** What an error says, without secrets (S12). */
  readonly #words = (error: unknown) => this.guard(() => this.#sanitizer.message(error)) ?? 'an error'
  readonly #tasks = new Map<number, Task>()
  readonly #onNetwork = () => this.#setOnline(!isOffline())
  #pumpQueued = false
  #trapped = false
  #state: 'open' | 'closing' | 'stopped' = 'open'
  #drained: (() => void) | undefined
  readonly #closing = new AbortController()

  constructor(engine: Engine, host: Host) {
    const { capacity, seed, clock, sanitize = {} } = host.settings
    this.limits = limitsOf(host.settings)
    const { concurrency, concurrencyPerOrigin, capacityBytes, retention } = this.limits
    this.host = host
    this.#engine = engine
    this.core = new engine.glue.CoreQueue(concurrency, concurrencyPerOrigin, capacity, capacityBytes, seed)
    this.lanes = new Lanes(this.core)
    this.orders = new Orders(this.core)
    this.#sanitizer = new Sanitizer(engine, sanitize)
    this.registry = new Registry(retention, (count) => {
      const message = `${count} dead letter(s) over maxDeadLetters ${retention.maxDeadLetters} were purged, oldest first`
      host.degraded('dead_letters_trimmed', message)
    })
    this.#timer = makeWakeTimer(engine, clock, () => this.pump())
    globalThis.addEventListener?.('online', this.#onNetwork)
    globalThis.addEventListener?.('offline', this.#onNetwork)
    if (isOffline()) this.core.setOnline(host.now(), false)
  }

  /** Closed or closing, or the core trapped: nothing new can be decided here. */
  get stopped(): boolean {
    return this.#state !== 'open'
  }

  /** Aborted when no new work is begun here any more. */
  get closing(): AbortSignal {
    return this.#closing.signal
  }

  /** The core has this task now, under `slot`. */
  hold(task: Task, slot: number): void {
    task.slot = slot
    this.#tasks.set(slot, task)
  }

  show(task: Task): RetryTask {
    return task.show(this.#sanitizer)
  }

  /** The task is held now: says so, answers a deferring caller, listens to the signal of one who waits. */
  announce(task: Task): void {
    this.#emitQueued(task)
    if (task.call?.options.mode === 'defer' && task.waiter) {
      release(task)?.resolve(accepted(task.call.transport, task.taskId, this.traceId(task.call)))
      discard(task.last?.answer)
    } else if (task.call?.signal && task.waiter) {
      link(task, task.call.signal, (reason) => this.cancel(task, reason))
    }
  }

  traceId(call: Call): string {
    return traceIdOf(call.headers) ?? random128(this.host.draw)
  }

  /** What the task waits for right now. */
  standing(task: Task): Standing | undefined {
    return task.slot < 0 ? undefined : this.guard(() => standingOf(this.#engine, this.core, task.slot))
  }

  /** Starts what may start, ends what ran out of time, arms the timer. */
  pump(): void {
    if (this.#state === 'stopped') return
    this.guard(() => {
      let now = 0
      for (let count = BATCH; count === BATCH; ) {
        now = this.host.now()
        count = this.core.poll(now)
        if (count === 0) break
        // copied: what runs below may call back into the core, and its memory may move
        const actions = new Uint32Array(this.#engine.memory.buffer, this.core.actionsPtr(), count * 2).slice()
        for (let i = 0; i < actions.length; i += 2) this.#act(actions[i] as number, actions[i + 1] as number)
      }
      if (this.#state !== 'stopped') this.#timer.arm(this.core.wakeAt(), now)
    })
  }

  /** Many at once cost one look. */
  pumpSoon(): void {
    if (this.#pumpQueued) return
    this.#pumpQueued = true
    queueMicrotask(() => {
      this.#pumpQueued = false
      this.pump()
    })
  }

  /** Tells the core how an attempt ended and does what it says. */
  settle(task: Task, finished: Finished): void {
    if (this.#state === 'stopped' || task.slot < 0) {
      discard(finished.answer)
      return
    }
    this.guard(() => this.#decide(task, finished))
    // attempts that end together cost the core one look
    this.pumpSoon()
    if (this.#drained && !this.guard(() => this.core.inFlight())) this.#drained()
  }

  cancel(task: Task, reason: unknown): 'cancelled' | 'requested' | 'gone' {
    if (task.slot < 0) return 'gone'
    const requested = this.guard(() => this.core.cancel(task.slot)) === 2
    // the core trapped: the task has ended already
    if (task.slot < 0) return 'gone'
    // the caller learns at once, even while the attempt in flight still ends
    release(task)?.reject(reason)
    if (requested) {
      task.cancelRequested = true
      task.controller?.abort(reason)
      return 'requested'
    }
    this.#end(task, 'CANCELLED')
    this.pumpSoon()
    return 'cancelled'
  }

  result(task: Task): Promise<TaskOutcome> {
    if (task.slot < 0) return Promise.resolve(outcomeOf(task, this.show(task)))
    return whenEnded(task)
  }

  /** Until when calls to this origin have to wait; 0: they need not. */
  heldUntil(origin: string): number {
    const lane = this.lanes.find(origin)
    if (lane === undefined || this.stopped) return 0
    return this.guard(() => this.core.heldUntil(lane, this.host.now())) ?? 0
  }

  get depth(): number {
    return this.#tasks.size
  }

  pause(origin: string | undefined): void {
    this.guard(() => this.core.pause(origin === undefined ? NONE : this.lanes.of(origin)))
  }

  resume(origin: string | undefined): void {
    this.guard(() => this.core.resume(this.host.now(), origin === undefined ? NONE : this.lanes.of(origin)))
    this.pump()
  }

  flush(): number {
    const count = this.guard(() => this.core.flush(this.host.now(), NONE)) ?? 0
    this.pump()
    return count
  }

  stats(): RunnerStats {
    const counted = { deadLetters: this.registry.deadLetters, ...this.totals }
    const held = this.guard(() => report(this.core.stats() as CoreStats, this.lanes))
    return { ...(held ?? nothingHeld), ...counted }
  }

  /** Lets attempts in flight end, for `drainMs` at most; then every caller gets what there is. */
  async close(drainMs: number): Promise<void> {
    this.#closing.abort()
    if (this.#state === 'open' && this.core.inFlight() > 0) {
      this.#state = 'closing'
      this.core.pause(NONE)
      await new Promise<void>((resolve) => {
        const disarm = this.host.settings.clock.after(drainMs, resolve)
        this.#drained = () => {
          disarm()
          resolve()
        }
      })
    }
    // everything ended with the trap, and a core that trapped is not safe to call any more, not even to free it
    if (this.#trapped) return
    this.#stop(new QueueClosedError(this.host.settings.name))
    this.#sanitizer.free()
    this.core.free()
  }

  #emitQueued(task: Task): void {
    task.announced = true
    if (this.host.events.has('queued')) this.host.events.emit('queued', { task: this.show(task) })
  }

  #act(slot: number, action: number): void {
    const task = this.#tasks.get(slot)
    if (!task) return
    if (action >= ENDED) this.#end(task, 'EXHAUSTED', reasonOf(action))
    else this.#run(task)
  }

  #run(task: Task): void {
    const { settings, events } = this.host
    task.status = 'IN_FLIGHT'
    task.nextAttemptAt = null
    task.attemptNumber = this.core.attempts(task.slot)
    task.controller = new AbortController()
    const asks = settings.credentials !== undefined || settings.beforeAttempt !== undefined
    if (!asks && !events.has('attempt')) {
      this.#send(task, task.controller, null, null)
      return
    }
    const { signal } = task.controller
    const context = { attemptNumber: task.attemptNumber, signal, unauthorized: task.unauthorized }
    if (asks) void this.#ask(task, task.controller, context)
    else this.#send(task, task.controller, null, context)
  }

  /** Asks the user's hooks before the attempt. */
  async #ask(task: Task, controller: AbortController, context: AttemptContext): Promise<void> {
    const { overlay, outcome } = await askHooks(this.host, this.show(task), context, this.#words)
    if (outcome === undefined) this.#send(task, controller, overlay, context)
    else this.settle(task, notSent(outcome, this.host.now()))
  }

  #send(task: Task, controller: AbortController, overlay: Headers | null, context: AttemptContext | null): void {
    const { host } = this
    const { call } = task
    // the queue closed, or a listener or hook cancelled the task, while others were asked
    if (!call || this.#state === 'stopped') return
    if (task.cancelRequested || this.#state === 'closing') {
      this.settle(task, notSent(UNSENT.released, host.now()))
      return
    }
    if (context && host.events.has('attempt')) host.events.emit('attempt', { task: this.show(task), context })
    host.sent()
    const caller = task.waiter && !call.options.detach ? call.signal : null
    const signal = bothSignals(caller, controller.signal)
    const plan = { overlay, replay: true, signal, controller, timeoutMs: call.timeoutMs, send: replay, isFinal }
    attempt(call.transport, plan, host.settings.clock, host.now).then((finished) => this.settle(task, finished))
  }

  #decide(task: Task, finished: Finished): void {
    const { core, host } = this
    const { outcome, status, durationMs } = finished
    const now = host.now()
    const sent = finished.answer !== null || finished.error !== undefined
    if (sent) {
      // before the core is asked: should it trap, this is what the caller gets
      discard(task.last?.answer)
      task.last = finished
      task.lastStatus = status
    }
    const asked = askedBy(this.#engine, finished.answer, task.call?.policy.retryableStatusCodes ?? [], now)
    const { serverDelayMs } = asked
    const unusable = serverDelayMs < 0
    const delayMs = unusable ? Number.NaN : serverDelayMs
    const verdict = core.settle(now, task.slot, outcome, status, delayMs, durationMs, asked.rateLimitMs, unusable)
    const attemptNumber = task.attemptNumber || (sent ? 1 : 0)
    task.controller = undefined
    const why = verdict === VERDICT.retry ? chosen(this.#engine, core) : undefined
    const log = (kind: Entry['kind'], next: string, nextAt = Number.NaN): Entry => {
      const curveMs = why?.curveMs ?? Number.NaN
      const entry = lineOf(finished, this.#words, { sent, kind, attemptNumber, serverDelayMs, curveMs, next, nextAt })
      task.log(entry)
      return entry
    }
    if (verdict === VERDICT.retry || verdict === VERDICT.parked) {
      task.status = 'PENDING'
      task.attemptNumber = core.attempts(task.slot)
      task.nextAttemptAt = why ? core.dueAt(task.slot) : null
      task.unauthorized = why?.authorize === true
      const given = task.attemptNumber < attemptNumber ? 'released' : 'retry'
      const entry = why ? log(given, 'next', task.nextAttemptAt ?? Number.NaN) : log('parked', 'parked until resume()')
      if (!task.announced) this.announce(task)
      else if (verdict === VERDICT.parked) host.events.emit('unauthorized', { task: this.show(task) })
      else if (sent && host.events.has('retry')) {
        const log = showEntry(task.taskId, entry)
        host.events.emit('retry', { task: this.show(task), delayMs: why?.delayMs ?? 0, log })
      }
      return
    }
    if (verdict === VERDICT.succeeded) {
      log('retry', 'succeeded')
      this.#end(task, 'SUCCEEDED')
    } else if (verdict === VERDICT.cancelled) {
      log('retry', 'cancelled')
      this.#end(task, 'CANCELLED')
    } else if (verdict >= ENDED) {
      log('retry', reasonOf(verdict))
      task.attemptNumber = attemptNumber
      if (!task.announced) this.#emitQueued(task)
      this.#end(task, 'EXHAUSTED', reasonOf(verdict))
    }
  }

  #end(task: Task, status: TaskStatus, reason?: ExhaustedReason): void {
    const { events } = this.host
    this.#tasks.delete(task.slot)
    task.slot = -1
    task.status = status
    task.reason = reason
    task.nextAttemptAt = null
    count(this.totals, status)
    tellEnd(task, events, () => this.show(task))
    this.registry.end(task, status === 'EXHAUSTED', this.host.now())
    // shown only to those who ask: most tasks end without anybody looking
    const outcome = () => outcomeOf(task, this.show(task))
    answer(task, () => outcome().error)
    task.outcome?.resolve(outcome())
    task.outcome = undefined
    task.last = undefined
    if (status !== 'EXHAUSTED') task.strip()
    if (this.#tasks.size === 0) {
      events.emit('idle', {})
      this.host.idle()
    }
  }

  #setOnline(online: boolean): void {
    if (this.#state === 'stopped') return
    this.guard(() => this.core.setOnline(this.host.now(), online))
    this.pump()
  }

  /** A core that traps is dead: every caller gets what there is, and later calls are plain (S18). undefined: it is. */
  guard<T>(work: () => T): T | undefined {
    if (this.#state === 'stopped') return undefined
    try {
      return work()
    } catch (error) {
      const message = `the core stopped (${errorText(error)}): waiting calls got their last answer; calls are plain fetch now`
      this.host.degraded('core_unreachable', message)
      this.#trapped = true
      this.#stop(error)
      return undefined
    }
  }

  /** Ends everything: each caller gets its last answer or error, or else `error`. */
  #stop(error: unknown): void {
    this.#state = 'stopped'
    this.#closing.abort()
    globalThis.removeEventListener?.('online', this.#onNetwork)
    globalThis.removeEventListener?.('offline', this.#onNetwork)
    this.#timer.free(this.#trapped)
    for (const task of [...this.#tasks.values()]) {
      if (!task.last) release(task)?.reject(error)
      task.controller?.abort(error)
      this.#end(task, 'CANCELLED')
    }
  }
}
