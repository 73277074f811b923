/**
 * A queue's tasks in a store: takes calls in, runs what the store leases to this process, and tells callers and listeners what the
 * store has answered, never what an attempt alone has shown. What waits is in the store only; here is what runs, and
 * whose caller, or whose headers that are not stored, are in this process.
 */

import { answer, outcomeOf, release } from '../callers.ts'
import { errorText } from '../error-text.ts'
import { QueueClosedError } from '../errors.ts'
import { FetchTransport } from '../fetch-transport.ts'
import type { Ruling } from '../judge.ts'
import { showEntry } from '../log.ts'
import { UNSAFE_METHODS } from '../options.ts'
import type { RunnerStats } from '../report.ts'
import type { Call } from '../request.ts'
import type { Runner } from '../runner.ts'
import { type Lease, laneName, type Settlement, type StoredTask, type TaskStore, type Turn } from '../stores/store.ts'
import { Task } from '../task.ts'
import type { TaskStatus } from '../types.ts'
import { notSent, UNSENT } from '../unsent.ts'
import { VERDICT } from '../verdict.ts'
import { Entering } from './entering.ts'
import { cancelled, hear } from './hints.ts'
import { Known } from './known.ts'
import { Leases } from './leases.ts'
import { callOf } from './record.ts'
import { report, tellGoesOn, unreadable } from './report.ts'
import { nextOf } from './settlement.ts'
import { type Counts, withStored } from './stats.ts'
import { type Listener, Turns } from './turns.ts'
import { Waiting } from './waiting.ts'

type GoesOn = Extract<Settlement['next'], { readonly delayMs: number }>

export class Durable implements Listener {
  readonly store: TaskStore
  readonly turns: Turns
  readonly waiting: Waiting
  readonly runner: Runner
  readonly #leases: Leases
  readonly #methods: ReadonlySet<string>
  /** Tasks whose caller waits here, or that need what is not stored. */
  readonly #here = new Map<string, Task>()
  readonly known: Known = new Known()
  readonly entering: Entering = new Entering()
  #counts: Counts | undefined
  #turn: Turn | undefined
  #waited = 0
  #unsubscribe: () => void = () => {}

  constructor(store: TaskStore, owner: string, runner: Runner) {
    const { persistMethods = UNSAFE_METHODS } = runner.host.settings
    this.store = store
    this.runner = runner
    this.turns = new Turns(store, owner, runner, this)
    this.waiting = new Waiting(this)
    this.#leases = new Leases(this)
    this.#methods = new Set(persistMethods.map((method) => method.toUpperCase()))
  }

  /** Opens the store and takes up what is there. Rejects where it cannot be opened. */
  async begin(): Promise<void> {
    const { capacity } = this.runner.host.settings
    const { capacityBytes, retention } = this.runner.limits
    this.store.configure?.({ capacity, capacityBytes, retention })
    // whoever starts brings credentials anew
    await this.store.unpark?.({ principal: this.runner.host.principal })
    this.#unsubscribe = this.store.subscribe?.((hint) => hear(this, hint)) ?? this.#unsubscribe
    await this.turns.run()
  }

  /** Whether calls like this one are stored. */
  takes({ method, options }: Call): boolean {
    return options.sensitive !== true && this.#methods.has(method)
  }

  get wakeAt(): number {
    return Math.min(this.turns.wakeAt, this.waiting.wakeAt)
  }

  get settling(): number {
    return this.turns.settling
  }

  get depth(): number {
    return this.turns.waiting
  }

  pump(now: number): void {
    this.waiting.pump(now)
    this.turns.pump(now)
  }

  /** A task of this process is in the store now. */
  keep(task: Task): void {
    this.known.add(task.taskId)
    this.turns.stored()
    this.#remember(task)
    this.entering.end(task.taskId, true)
    this.runner.pumpSoon()
  }

  /** The task as this process has it. */
  find(taskId: string): Task | undefined {
    return this.#here.get(taskId) ?? this.turns.leased.get(taskId)
  }

  /** The same, made of what the store has if it is not here. */
  shell(record: StoredTask): Task {
    const known = this.find(record.taskId)
    const { host } = this.runner
    const task =
      known ?? new Task(record.taskId, record.createdAt, record.principal, callOf(record, undefined, host.settings))
    task.announced = true
    task.status = record.status
    task.reason = record.reason
    task.nextAttemptAt = record.dueAt
    task.take(record)
    return task
  }

  /** Kept for as long as somebody here waits for it. */
  watch(task: Task): void {
    this.#here.set(task.taskId, task)
  }

  get watches(): boolean {
    return this.#here.size > 0
  }

  *watched(): Iterable<Task> {
    for (const task of this.#here.values()) if (!task.lease) yield task
  }

  /** It has ended, or others have it: nothing of it is needed here any more. */
  leave(task: Task): void {
    this.#here.delete(task.taskId)
    this.turns.leased.delete(task.taskId)
    this.waiting.over(task)
    task.lease = undefined
    if (task.slot < 0) return
    // an attempt of it goes on: whatever it comes to, its place in the core is free
    const { controller } = task
    this.runner.guard(() => this.runner.rule(task, notSent(UNSENT.released, this.runner.host.now())))
    task.slot = -1
    controller?.abort()
  }

  /** The task is terminal, and this process has made it so. */
  end(task: Task, status: TaskStatus, reason?: StoredTask['reason']): void {
    this.leave(task)
    this.known.delete(task.taskId)
    this.#leases.forget(task.taskId)
    this.runner.tellEnd(task, status, reason)
    task.strip()
  }

  /** An attempt of a leased task has ended, and its slot is free. */
  settle(task: Task, ruling: Ruling): void {
    const { lease } = task
    task.slot = -1
    if (!lease) return
    if (lease.lost && ruling.verdict !== VERDICT.succeeded) {
      // fenced off: whoever has it now decides
      this.#lost(task)
      return
    }
    const next = nextOf(ruling, lease)
    this.#leases.note(task, next)
    const due = 'delayMs' in next && !('park' in next && next.park) ? this.runner.host.now() + next.delayMs : Number.NaN
    const kind = next.kind === 'release' ? (next.park ? 'parked' : 'released') : 'retry'
    const words = next.kind === 'exhausted' ? next.reason : next.kind === 'succeeded' ? 'succeeded' : 'next'
    const entry = ruling.entry(kind, kind === 'parked' ? 'parked until resume()' : words, due)
    task.log(entry)
    const settlement: Settlement = {
      lease: { taskId: task.taskId, token: lease.token, forMs: lease.forMs },
      log: showEntry(task.taskId, entry),
      ...(ruling.holdMs > 0 ? { holdLaneForMs: ruling.holdMs } : {}),
      next,
    }
    this.turns.add({ task, settlement, answered: (said) => this.#settled(task, ruling, settlement, said) })
  }

  /** The end of a task in flight here was asked for. */
  abort(task: Task, reason: unknown): void {
    task.cancelRequested = true
    this.runner.guard(() => this.runner.core.cancel(task.slot))
    task.controller?.abort(reason)
  }

  async cancel(taskId: string, reason: unknown = cancelled()): Promise<'cancelled' | 'requested' | 'gone'> {
    const said = await this.store.cancel(taskId)
    const task = this.find(taskId)
    if (said === 'requested') {
      if (task) release(task)?.reject(reason)
      if (task?.lease) this.abort(task, reason)
    } else if (said === 'cancelled') {
      const record = await this.store.get(taskId)
      const ended = this.find(taskId) ?? (record && this.shell(record))
      if (ended) release(ended)?.reject(reason)
      if (ended) this.end(ended, 'CANCELLED')
    }
    this.changed()
    return said
  }

  async flush(): Promise<number> {
    const flushed = await this.store.flush()
    this.changed()
    return flushed
  }

  /** The store has purged what was a principal's: so does this process. */
  forget(principal: string | null): void {
    for (const task of new Set([...this.#here.values(), ...this.turns.leased.values()])) {
      if (task.principal !== principal) continue
      if (task.lease) {
        task.lease.lost = true
        this.abort(task, cancelled())
      } else this.#purged(task)
    }
  }

  /** Parked tasks go on. */
  async unpark(principal: string | null, origin: string | undefined): Promise<void> {
    await this.store.unpark?.(origin === undefined ? { principal } : { lane: laneName(principal, origin) })
    this.changed()
  }

  resume(origin: string | undefined): void {
    this.unpark(this.runner.host.principal, origin).catch(this.failed)
  }

  /** `here`: without the store. */
  stats(here: RunnerStats): RunnerStats {
    return withStored(here, this.#counts, this.#turn?.lanes ?? [], this.turns.wakeAt)
  }

  /** The queue closes: what runs is given back, what waits stays, callers get what there is. */
  async letGo(): Promise<void> {
    const { host } = this.runner
    const closed = new QueueClosedError(host.settings.name)
    // what a claim under way brings is given back too; a store that fails is asked no more often than this
    for (let round = 0; round < 3; round++) {
      for (const task of [...this.turns.leased.values()]) {
        task.controller?.abort(closed)
        if (task.slot >= 0) this.runner.settle(task, notSent(UNSENT.released, host.now()))
      }
      if (round > 0 && this.turns.settling === 0) break
      await this.turns.run()
    }
    this.stop(closed)
    await this.store.homes?.hold(this.turns.owner, 0).catch(this.failed)
    await this.store.close().catch(this.failed)
  }

  /** Nothing can be decided here any more: callers get their last answer, or `error`. The tasks come back by their leases. */
  stop(error: unknown): void {
    this.turns.stop()
    this.#unsubscribe()
    for (const task of new Set([...this.#here.values(), ...this.turns.leased.values()])) {
      task.controller?.abort(error)
      task.slot = -1
      this.leave(task)
      answer(task, () => error)
      task.outcome?.resolve({ ...outcomeOf(task, this.runner.show(task)), error: error as never })
      task.outcome = undefined
    }
  }

  claimed(record: StoredTask, lease: Lease, endsAt: number, turn: Turn): void {
    this.entering.claimed(record.taskId, () => this.#leases.take(record, lease, endsAt, turn.now))
  }

  ended(record: StoredTask): void {
    let task: Task
    try {
      task = this.shell(record)
    } catch (error) {
      // written by another version, or by hand: nobody here waits for it, and it is a dead letter all the same
      unreadable(this.runner, record.taskId, error, `it was ended, ${record.reason}`)
      return
    }
    this.end(task, record.status, record.reason)
  }

  renewed(task: Task, said: Turn['renewed'][number]): void {
    if (said === 'cancelled' && !task.cancelRequested) this.abort(task, cancelled())
    if (said !== 'lost' || !task.lease) return
    task.lease.lost = true
    task.controller?.abort()
  }

  turned(failed: number, error: unknown, turn: Turn | undefined): void {
    if (!turn) {
      this.failed(error)
      // who waits for a success that cannot be written down is not kept waiting, nor whose time is up
      const now = this.runner.host.now()
      for (const task of this.turns.unanswered) {
        const succeeded = task.last?.answer && task.last.status < 400
        if (succeeded || this.waiting.until(task) <= now) answer(task, () => error)
      }
      if (failed === 1) this.runner.arm()
      return
    }
    this.#turn = turn
    report(turn, this.runner)
    void this.recount()
    if (this.#waited > 0 && this.depth === 0) this.runner.tellIdle()
    this.#waited = this.depth
    this.runner.drained()
  }

  #settled(task: Task, ruling: Ruling, { next }: Settlement, said: Turn['settled'][number]): void {
    task.attemptNumber = ruling.attemptNumber
    if (said === 'stale') this.#lost(task)
    else if (said === 'gone') this.#purged(task)
    else if (said === 'cancelled') this.end(task, 'CANCELLED')
    else if (next.kind === 'succeeded') this.end(task, 'SUCCEEDED')
    else if (next.kind === 'exhausted') this.end(task, 'EXHAUSTED', next.reason)
    else this.#goOn(task, ruling, next)
  }

  #goOn(task: Task, ruling: Ruling, next: GoesOn): void {
    const { runner } = this
    const { host } = runner
    const parked = next.kind === 'release' && next.park === true
    if (next.kind === 'release' && next.refund) task.attemptNumber--
    task.lease = undefined
    this.turns.leased.delete(task.taskId)
    task.status = 'PENDING'
    task.nextAttemptAt = parked ? null : host.now() + next.delayMs
    if (task.record) task.record = { ...task.record, status: 'PENDING', attemptNumber: task.attemptNumber }
    this.#remember(task)
    tellGoesOn(runner, task, ruling, next.delayMs)
    this.waiting.again(task)
  }

  /** Others have it now. */
  #lost(task: Task): void {
    task.lease = undefined
    this.turns.leased.delete(task.taskId)
    task.status = 'PENDING'
    this.#remember(task)
    if (this.#here.has(task.taskId)) this.waiting.lookSoon(task)
    this.waiting.again(task)
  }

  #purged(task: Task): void {
    this.leave(task)
    task.status = 'CANCELLED'
    const outcome = outcomeOf(task, this.runner.show(task))
    answer(task, () => outcome.error)
    task.outcome?.resolve(outcome)
    task.outcome = undefined
  }

  /** Held in memory only while something of it is nowhere else. */
  #remember(task: Task): void {
    const { call, record } = task
    const waits = task.waiter !== undefined || task.joined.length > 0 || task.outcome !== undefined
    const own = call !== null && !call.rebuilt
    const needed = own && ((record?.withheldHeaders.length ?? 0) > 0 || !(call.transport instanceof FetchTransport))
    if (waits || needed) this.#here.set(task.taskId, task)
    else this.#here.delete(task.taskId)
  }

  /** `stats()` cannot wait for the store, so it shows what was counted last. */
  async recount(): Promise<void> {
    await this.store.counts().then((counts) => {
      this.#counts = counts
    }, this.failed)
  }

  /** Something in the store may be due now. */
  changed(): void {
    this.turns.poke()
    this.runner.pumpSoon()
  }

  /** The store did not do what it was asked. */
  readonly failed = (error: unknown): void => {
    const message = `the store fails (${errorText(error)}): tasks wait in it until it answers again`
    this.runner.host.degraded('storage_unavailable', message, 'store')
  }
}
