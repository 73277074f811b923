/**
 * The only loop: start what is due, send, settle, arm the timer for the next moment that matters. Every decision is the
 * core's; this acts on it. Tasks in memory live here; those in a store are leased by `durable/`, which this loop asks.
 */

import { QueueClosedError } from '../api/errors.ts'
import type { ScopeOptions, TaskOutcome } from '../api/methods.ts'
import { emptyStats, type RunnerStats } from '../api/stats.ts'
import type { ExhaustedReason, RetryTask, TaskStatus } from '../api/task.ts'
import { putAside, type RestTerms } from '../call/discard.ts'
import type { Finished, RepeatAnswer } from '../call/transport.ts'
import { Calls } from '../core/calls.ts'
import {
  BATCH,
  CANCEL_REQUESTED,
  ENDED,
  NONE,
  OP_CANCEL,
  OP_FLUSH,
  OP_IN_FLIGHT,
  OP_PAUSE,
  OP_POLL,
  OP_WAKE_AT,
  reasonOf,
} from '../core/codes.ts'
import type { Engine } from '../core/engine.ts'
import { Sanitizer } from '../core/sanitizer.ts'
import { type Limits, limitsOf, reportTrimmed } from '../options/limits.ts'
import { FOREVER } from '../platform/clock.ts'
import { errorText } from '../platform/error-text.ts'
import { abandonOwn, answerClosed, link, outcomeOf, rejectCallers, whenEnded } from '../tasks/callers.ts'
import { Registry } from '../tasks/registry.ts'
import { type Ruling, Rulings } from '../tasks/ruling.ts'
import { type Confidential, secretsOf } from '../tasks/secrets.ts'
import type { Task } from '../tasks/task.ts'
import { Announcer } from './announcer.ts'
import { applyRuling } from './apply-ruling.ts'
import type { QueueContext } from './context.ts'
import { Door } from './door.ts'
import { Draining } from './draining.ts'
import { Evidence } from './evidence.ts'
import { factsOf } from './facts.ts'
import { Gates } from './gates.ts'
import { Orders, Policies } from './handles.ts'
import { Lanes } from './lanes.ts'
import type { RunnerPorts } from './ports.ts'
import { endIfLeft } from './principal-left.ts'
import type { PrincipalNews } from './principal-news.ts'
import { Sender } from './sender.ts'
import { type Action, Slots } from './slots.ts'
import { type CoreStats, heldStats } from './stats.ts'
import type { StoredSide } from './stored.ts'
import { readScope } from './task-scope.ts'
import { WakeTimer } from './wake-timer.ts'

export class Runner {
  readonly core: Calls
  readonly lanes: Lanes
  readonly orders: Orders
  readonly policies: Policies
  readonly registry: Registry
  readonly host: QueueContext
  limits: Limits
  readonly sanitizer: Sanitizer
  readonly rulings: Rulings
  readonly gates: Gates
  readonly door: Door
  readonly evidence: Evidence
  readonly announcer: Announcer
  /** Hears other pages; undefined: this is a host without any. */
  readonly news: PrincipalNews | undefined
  /** Keeps tasks in a store; undefined: the queue has none, or it could not be opened. */
  stored: StoredSide | undefined
  readonly #timer: WakeTimer
  readonly #sender: Sender
  /** The words of an error, without secrets (S12). */
  readonly words = (error: unknown, about?: Confidential): string =>
    this.guard(() => this.sanitizer.message(error, about && secretsOf(about, this.sanitizer))) ?? 'an error'
  readonly #slots = new Slots()
  #tickQueued = false
  isTrapped = false
  /** While it is closing, calls that are enqueued can still be stored. */
  state: 'open' | 'closing' | 'stopped' = 'open'
  readonly draining: Draining = new Draining(
    () => !this.guard(() => this.core.call(OP_IN_FLIGHT)) && !this.stored?.loop.settling,
  )
  readonly #closing = new AbortController()
  /** Aborted when no new work is begun here any more. */
  readonly closing: AbortSignal = this.#closing.signal
  /** The terms on which answers are dropped. */
  readonly restTerms: RestTerms
  readonly #tickNow = () => {
    this.#tickQueued = false
    this.tick()
  }

  constructor(engine: Engine, host: QueueContext, newsFor?: (runner: RunnerPorts) => PrincipalNews) {
    const { capacity, seed, clock, sanitize = {} } = host.settings
    this.limits = limitsOf(host.settings)
    const { concurrency, concurrencyPerOrigin, capacityBytes, maxLaneHoldMs, retention } = this.limits
    this.host = host
    this.restTerms = { clock, signal: this.closing }
    // the holds of each principal are left to such a store: here they would be everyone's
    const longestHold = host.settings.store?.everyone ? 0 : maxLaneHoldMs
    const most = [concurrency, concurrencyPerOrigin, capacity, capacityBytes, longestHold] as const
    this.core = new Calls(engine, ...most, seed)
    this.lanes = new Lanes(this.core, host)
    this.gates = new Gates(this)
    this.orders = new Orders(this.core)
    this.policies = new Policies(this.core, host)
    this.sanitizer = host.sanitizer = new Sanitizer(engine, sanitize)
    this.announcer = new Announcer(this)
    this.rulings = new Rulings(engine, this.core, this.policies, this.words, (url) => this.sanitizer.url(url))
    this.door = new Door(this)
    this.#sender = new Sender(this)
    this.registry = new Registry(retention, (trimmed, why) => reportTrimmed(trimmed, retention, host.degraded, why))
    this.#timer = new WakeTimer(engine, host, () => this.tick())
    this.evidence = new Evidence(this)
    this.news = newsFor?.(this)
  }

  /** Closed or closing, or the core trapped: nothing new is begun here. */
  get stopped(): boolean {
    return this.state !== 'open'
  }

  /** Takes the last answer of a task that waits again off its connection; without a caller there is none to keep it for. */
  putAside({ last, waiter, joined }: Task): void {
    if (!last?.answer) return
    if (waiter || joined.length > 0) putAside(last.answer, this.restTerms)
    else last.answer.rest(false, this.restTerms)
  }

  /** Notes the slot of a task, in place of one that it had. */
  trackSlot(task: Task, slot: number): void {
    this.#slots.remove(task)
    this.#slots.add(task, slot)
  }

  show(task: Task): RetryTask {
    return task.show(this.sanitizer)
  }

  maySend(task: Task): boolean {
    if (this.state !== 'open' || task.slot < 0 || task.cancelRequested) return false
    const { principal, origin, lease } = task
    return this.lanes.maySend(principal, origin) && (!lease || lease.endsAt > this.host.now())
  }

  /** Tells that the task is kept now: listeners, and its caller, who may have deferred it or may still abort it. */
  announce(task: Task): void {
    this.announcer.queued(task)
    const { call, waiter } = task
    if (this.announcer.answerDeferred(task) || !call?.signal || !waiter) return
    link(task, call.signal, { cancel: (reason) => this.cancel(task, reason), leave: () => this.goOnAlone(task) })
  }

  /** Goes on with a task whose caller has left it: as with background work. */
  goOnAlone({ call, slot }: Task): void {
    if (call) this.guard(() => this.policies.handOver(call, slot))
  }

  /** Starts what may start, ends what ran out of time, arms the timer. */
  tick(): void {
    // what a claim on its way brings has to fit
    if (this.state === 'stopped' || this.stored?.loop.isClaiming) return
    try {
      let now = 0
      for (let count = BATCH; count === BATCH; ) {
        now = this.host.now()
        count = this.core.call(OP_POLL, now)
        if (count > 0) for (const action of this.#slots.of(this.core, count)) this.#act(action, now)
      }
      this.stored?.tick(now)
      this.arm()
    } catch (error) {
      this.trapped(error)
    }
  }

  /** Arms the timer for the next moment that matters, here or in the store. */
  arm(): void {
    if (this.state === 'stopped') return
    const wakeAt = this.guard(() => this.core.call(OP_WAKE_AT)) ?? Number.POSITIVE_INFINITY
    const at = Math.min(wakeAt, this.stored?.wakeAt ?? wakeAt)
    this.#timer.arm(at, at < FOREVER ? this.host.now() : 0)
  }

  /** Ticks once the code that runs now has ended: many calls cost one tick. */
  tickSoon(): void {
    if (this.#tickQueued) return
    this.#tickQueued = true
    queueMicrotask(this.#tickNow)
  }

  /** Tells the core how an attempt ended and does what it says. `now`: where it has just been read. */
  settle(task: Task, finished: Finished<RepeatAnswer>, now: number = this.host.now()): void {
    if (this.state === 'stopped' || task.slot < 0) {
      finished.answer?.discard()
      return
    }
    try {
      const ruling = this.rule(task, finished, now)
      if (task.lease) this.stored?.settler.settle(task, ruling)
      else {
        applyRuling(this, task, ruling, now)
        endIfLeft(task, this)
        this.stored?.holdLane(task.principal, task.origin, now + ruling.holdMs)
        this.stored?.loop.roomMade()
      }
    } catch (error) {
      this.trapped(error)
    }
    task.overlay = null
    // attempts that end together cost the core one look
    this.tickSoon()
    this.draining.look()
  }

  /** Tasks in memory. */
  get tasks(): readonly Task[] {
    return this.#slots.all
  }

  /** Cancels a task in memory. */
  cancel(task: Task, reason: unknown): 'cancelled' | 'requested' | 'gone' {
    if (task.slot < 0) return 'gone'
    const requested = this.guard(() => this.core.call(OP_CANCEL, task.slot)) === CANCEL_REQUESTED
    // the core trapped: the task has ended already
    if (task.slot < 0) return 'gone'
    // they learn at once, even while the attempt in flight still ends
    rejectCallers(task, reason)
    if (requested) {
      task.cancelRequested = true
      task.attempt?.abort(reason)
      return 'requested'
    }
    const isSent = abandonOwn(task, reason)
    this.end(task, 'CANCELLED')
    this.tickSoon()
    return isSent ? 'requested' : 'cancelled'
  }

  /** Resolves when a task in memory is terminal. */
  result(task: Task): Promise<TaskOutcome> {
    if (task.slot < 0) return Promise.resolve(outcomeOf(task, this.show(task)))
    return whenEnded(task)
  }

  /** Tasks waiting or in flight, as far as this process knows. */
  get depth(): number {
    return this.#slots.size + (this.stored?.loop.depth ?? 0)
  }

  /** Tasks that take room: those, and dead letters of what was accepted. */
  get held(): number {
    return this.depth + this.registry.roomTaken().count + (this.stored?.counts.deadLetters ?? 0)
  }

  pause(origin: string | undefined): void {
    this.guard(() => this.lanes.pause(origin))
  }

  resume(origin: string | undefined): void {
    this.guard(() => this.lanes.resume(this.host.now(), origin))
    this.stored?.resume(origin)
    this.tick()
  }

  async flush(): Promise<number> {
    const flushed = this.guard(() => this.core.call(OP_FLUSH, this.host.now(), NONE)) ?? 0
    this.tick()
    return flushed + ((await this.stored?.flush()) ?? 0)
  }

  /** Tasks of the current principal, unless `scope` asks for those of all. */
  stats(scope: ScopeOptions = {}): RunnerStats {
    const of = readScope(this.host, 'stats', scope)
    const counted = { deadLetters: this.registry.deadLetters(this.host.now(), of), ...this.announcer.totals }
    const held = this.guard(() =>
      heldStats(this.core.stats(this.host.now()) as CoreStats, this.lanes, (lane) => this.gates.ofLane(lane), of),
    )
    const here = { ...(held ?? emptyStats), ...counted }
    return this.stored?.stats(here, of === undefined) ?? here
  }

  /** Answers the callers of waiting retries; lets attempts in flight, and `own` calls, end within `drainMs`; then every caller gets what there is. */
  async close(drainMs: number, own: Promise<unknown>): Promise<void> {
    this.#closing.abort()
    if (this.state === 'open') {
      this.state = 'closing'
      this.core.call(OP_PAUSE, NONE)
      this.door.close(false)
      for (const task of this.tasks) if (task.status === 'PENDING') this.endIfClosing(task)
      this.stored?.callers.endWaiting()
      await this.draining.wait(this.host.settings.clock, drainMs, own)
    }
    await this.stored?.close()
    // everything ended with the trap, and a core that trapped is not safe to call any more, not even to free it
    if (this.isTrapped) return
    this.#stop(new QueueClosedError(this.host.settings.name))
    this.sanitizer.free()
    this.core.free()
  }

  /** Ends a call that the core has given up before it was a task anywhere. */
  giveUp(task: Task, ruling: Ruling): void {
    this.registry.add(task)
    applyRuling(this, task, ruling, this.host.now())
  }

  #act({ slot, action, task }: Action, now: number): void {
    if (this.door.hears(slot, action) || this.gates.report(slot, action) || task?.slot !== slot) return
    if (action >= ENDED) {
      this.end(task, 'EXHAUSTED', reasonOf(action))
      return
    }
    // whatever does not count is taken back when it has ended
    task.attemptNumber++
    this.start(task, now)
  }

  /** Makes the attempt that the core, or a store, has granted. `now`: where it has just been read. */
  start(task: Task, now?: number): void {
    if (this.stored) this.lanes.changed(task)
    task.status = 'IN_FLIGHT'
    task.nextAttemptAt = null
    this.#sender.start(task, now)
  }

  /** Has the core rule on an attempt of a task that has a slot. */
  rule(task: Task, finished: Finished<RepeatAnswer>, now: number): Ruling {
    // before the core is asked: should it trap, this is what the caller gets
    if (finished.answer !== null || finished.error !== undefined) {
      task.last?.answer?.discard()
      task.last = { answer: finished.answer, error: finished.error, status: finished.status }
      task.lastStatus = finished.status
    }
    task.attempt = undefined
    if (finished.answer && finished.status < 500) this.evidence.answered(task.origin)
    if (this.stored) this.lanes.changed(task)
    return this.rulings.rule(task, finished, now, factsOf(this, task, finished, now))
  }

  /** Ends a task in memory. */
  end(task: Task, status: TaskStatus, reason?: ExhaustedReason, now: number = this.host.now()): void {
    this.#slots.remove(task)
    abandonOwn(task)
    const isTold = task.waiter !== undefined || task.joined.length > 0
    this.registry.end(task, status !== 'EXHAUSTED' ? 'ended' : isTold ? 'told' : 'dead', now)
    this.announcer.ended(task, status, reason)
    if (status !== 'EXHAUSTED') task.strip()
    this.announcer.idle()
  }

  endIfClosing(task: Task): boolean {
    if (this.state !== 'closing' || (!task.waiter && task.joined.length === 0)) return false
    this.guard(() => this.core.call(OP_CANCEL, task.slot))
    if (task.slot >= 0) this.#dropTask(task, new QueueClosedError(this.host.settings.name))
    return true
  }

  /** Ends a task in memory because nothing goes on here; its caller gets its last answer or error, or else `error`. */
  #dropTask(task: Task, error: unknown): void {
    task.attempt?.abort(error)
    if (!this.isTrapped) task.reason = 'closed'
    answerClosed(task, error)
    this.end(task, 'CANCELLED')
  }

  /** Calls the core. One that traps is dead: every caller gets what there is, later calls are plain (S18), and this gives undefined. */
  guard<T>(work: () => T): T | undefined {
    if (this.state === 'stopped') return undefined
    try {
      return work()
    } catch (error) {
      this.trapped(error)
      return undefined
    }
  }

  trapped(error: unknown): void {
    if (this.state === 'stopped') return
    const message = `the core stopped (${errorText(error)}): waiting calls got their last answer; calls are plain fetch until a restart`
    this.host.degraded('core_unreachable', message)
    this.isTrapped = true
    this.#stop(error)
  }

  /** Ends everything: each caller gets its last answer or error, or else `error`. */
  #stop(error: unknown): void {
    this.state = 'stopped'
    this.#closing.abort()
    this.#timer.free(this.isTrapped)
    this.door.close(this.isTrapped)
    this.stored?.stop(error)
    for (const task of this.tasks) this.#dropTask(task, error)
  }
}
