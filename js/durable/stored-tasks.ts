/**
 * A queue's tasks in a store: takes calls in, runs what the store leases to this process, and tells callers and listeners what the
 * store has answered, never what an attempt alone has shown. What waits is in the store only; here is what runs, and
 * whose caller, or whose headers that are not stored, are in this process.
 */

import { StorageFullError } from '../api/errors.ts'
import type { RunnerStats } from '../api/stats.ts'
import { type Lease, laneName, type StoredTask, type TaskStore, type Turn } from '../api/store.ts'
import type { TaskStatus } from '../api/task.ts'
import { FetchTransport } from '../call/fetch-transport.ts'
import { notSent, UNSENT } from '../call/not-sent.ts'
import { assertNotAborted } from '../platform/abort.ts'
import { within } from '../platform/clock.ts'
import { errorText } from '../platform/error-text.ts'
import type { Runner } from '../runner/runner.ts'
import type { StoredSide } from '../runner/stored.ts'
import { answer, detachCaller, outcomeOf } from '../tasks/callers.ts'
import type { Ruling } from '../tasks/ruling.ts'
import { Task } from '../tasks/task.ts'
import { cancelled, hear } from './hints.ts'
import { type Counts, reportTurn, reportUnreadable, withStored } from './notices.ts'
import { drain, watchPage } from './page-lifecycle.ts'
import { PendingWrites, SeenTasks } from './pending-writes.ts'
import { PrincipalGuard } from './principal-guard.ts'
import { callOf } from './record.ts'
import { Settler } from './settle.ts'
import { StoreLoop, type TurnListener } from './store-loop.ts'
import { LeaseStarter } from './take-lease.ts'
import { WaitingCallers } from './waiting-callers.ts'

/** For the last word to a store. */
const STORE_MS = 2_000

export class StoredTasks implements TurnListener, StoredSide {
  readonly store: TaskStore
  readonly loop: StoreLoop
  readonly callers: WaitingCallers
  readonly guard: PrincipalGuard
  readonly runner: Runner
  readonly #starter: LeaseStarter
  readonly #settler: Settler
  /** Tasks whose caller waits here, or that need what is not stored. */
  readonly #here = new Map<string, Task>()
  /** The store cannot be had: new tasks stay in memory. */
  isAway = false
  readonly seen: SeenTasks = new SeenTasks()
  readonly pending: PendingWrites = new PendingWrites()
  #counts: Counts | undefined
  #turn: Turn | undefined
  #depthBefore = 0
  #unsubscribe: () => void = () => {}

  constructor(store: TaskStore, owner: string, runner: Runner) {
    this.store = store
    this.runner = runner
    this.loop = new StoreLoop(store, owner, runner, this)
    this.callers = new WaitingCallers(this)
    this.guard = new PrincipalGuard(store, runner, this.failed)
    this.#starter = new LeaseStarter(this)
    this.#settler = new Settler(this, this.#starter)
  }

  /** Opens the store and takes up what is there. Rejects where it cannot be opened. */
  async begin(): Promise<void> {
    const { capacity } = this.runner.host.settings
    const { capacityBytes, retention } = this.runner.limits
    this.store.configure?.({ capacity, capacityBytes, retention }, (code, message) => {
      this.runner.host.degraded(code, message, code)
      // whatever that is, callers may wait for what is not there any more
      for (const task of this.watched()) this.callers.lookSoon(task)
    })
    // whoever starts brings credentials anew
    await this.switched()
    // what is taken up from here on nobody would let go of
    assertNotAborted(this.runner.closing)
    const unsubscribe = this.store.subscribe?.((hint) => hear(this, hint))
    const unwatch = watchPage(this)
    this.#unsubscribe = () => {
      unsubscribe?.()
      unwatch()
    }
    this.loop.leadership.seek()
    await this.loop.run()
  }

  /** Another principal is there, or the first: what was parked for want of credentials goes on. */
  async switched(): Promise<void> {
    await this.guard.declare()
    this.loop.leadership.resign()
    await this.store.unpark?.({ principal: this.runner.host.principal })
  }

  /** Another tab says that another principal is there. Until it is known which, nothing is sent. */
  suspectPrincipal(): void {
    this.guard.suspect()
    void this.guard.check().then((isOwn) => isOwn && this.changed())
  }

  /**
   * Hooks may have taken seconds since the claim, and the hint that somebody else is there may be lost. Whether a leased task
   * may still go; one in memory may while nothing else is known.
   */
  async confirm(task: Task): Promise<boolean> {
    return !this.store.principals || (await this.guard.check()) || !task.lease
  }

  async switchPrincipal(): Promise<void> {
    await this.switched()
    this.changed()
    this.runner.tick()
    // only then it is known what waits for the new one: `idle` and `stats` go by it
    await this.loop.run()
  }

  /** The leases of a store that hangs run out by themselves. */
  async close(): Promise<void> {
    await within(this.runner.host.settings.clock, STORE_MS, 'the store', drain(this)).catch(this.failed)
  }

  get isForeign(): boolean {
    return this.guard.isForeign
  }

  get wakeAt(): number {
    return Math.min(this.loop.wakeAt, this.callers.wakeAt, this.guard.askAt)
  }

  get isClaiming(): boolean {
    return this.loop.isClaiming
  }

  get isSuspended(): boolean {
    return this.loop.isSuspended
  }

  roomMade(): void {
    this.loop.roomMade()
  }

  get settling(): number {
    return this.loop.settling
  }

  get depth(): number {
    return this.loop.depth
  }

  tick(now: number): void {
    for (const task of this.loop.leased.values()) {
      // held up for longer than anybody waited: others may have it by now
      if (task.lease && this.loop.terms.isOver(task.lease, now)) this.renewed(task, 'lost')
    }
    if (this.guard.askAt <= now) this.suspectPrincipal()
    this.callers.tick(now)
    this.loop.tick(now)
  }

  /** A task of this process is in the store now. */
  registerStored(task: Task): void {
    this.seen.add(task.taskId)
    this.loop.taskStored()
    this.#depthBefore = this.depth
    this.remember(task)
    this.pending.end(task.taskId, true)
    this.runner.tickSoon()
  }

  /** The task as this process has it. */
  find(taskId: string): Task | undefined {
    return this.#here.get(taskId) ?? this.loop.leased.get(taskId)
  }

  /** The same, made of what the store has if it is not here. */
  taskOf(record: StoredTask): Task {
    const known = this.find(record.taskId)
    const { host } = this.runner
    const task =
      known ?? new Task(record.taskId, record.createdAt, record.principal, callOf(record, undefined, host.settings))
    task.announced = true
    task.status = record.status
    task.reason = record.reason
    task.nextAttemptAt = record.dueAt
    task.setRecord(record)
    return task
  }

  /** Kept for as long as somebody here waits for it. */
  watch(task: Task): void {
    this.#here.set(task.taskId, task)
  }

  get watches(): boolean {
    return this.#here.size > 0
  }

  /** It is not in the store any more. */
  purged(task: Task): void {
    this.#settler.purged(task)
  }

  *watched(): Iterable<Task> {
    for (const task of this.#here.values()) if (!task.lease) yield task
  }

  /** It has ended, or others have it: nothing of it is needed here any more. */
  leave(task: Task): void {
    this.#here.delete(task.taskId)
    this.loop.leased.delete(task.taskId)
    this.callers.stopWaiting(task)
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
    this.seen.delete(task.taskId)
    this.#starter.forgetCarry(task.taskId)
    this.runner.reportEnd(task, status, reason)
    task.strip()
  }

  /** An attempt of a leased task has ended, and its slot is free. */
  settle(task: Task, ruling: Ruling): void {
    this.#settler.settle(task, ruling)
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
      if (task) detachCaller(task)?.reject(reason)
      if (task?.lease) this.abort(task, reason)
    } else if (said === 'cancelled') {
      const record = await this.store.get(taskId)
      const ended = this.find(taskId) ?? (record && this.taskOf(record))
      if (ended) detachCaller(ended)?.reject(reason)
      if (ended) this.end(ended, 'CANCELLED')
      // also where nothing may start: it may have been the last
      this.loop.requestTurn()
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
  forgetPrincipal(principal: string | null): void {
    for (const task of new Set([...this.#here.values(), ...this.loop.leased.values()])) {
      if (task.principal !== principal) continue
      if (task.lease) {
        task.lease.lost = true
        this.abort(task, cancelled())
      } else this.#settler.purged(task)
    }
  }

  /** Parked tasks go on. */
  resume(origin: string | undefined): void {
    const { principal } = this.runner.host
    const which = origin === undefined ? { principal } : { lane: laneName(principal, origin) }
    this.store.unpark?.(which).then(() => this.changed(), this.failed)
  }

  /** `here`: without the store. */
  stats(here: RunnerStats): RunnerStats {
    return withStored(here, this.#counts, this.#turn?.lanes ?? [], this.loop.wakeAt)
  }

  /** Nothing can be decided here any more: callers get their last answer, or `error`. The tasks come back by their leases. */
  stop(error: unknown): void {
    this.loop.stop()
    this.#unsubscribe()
    // others go on with what waits
    this.loop.leadership.suspend()
    this.store.rest?.()
    for (const task of new Set([...this.#here.values(), ...this.loop.leased.values()])) {
      task.controller?.abort(error)
      task.slot = -1
      this.leave(task)
      answer(task, () => error)
      task.outcome?.resolve({ ...outcomeOf(task, this.runner.show(task)), error: error as never })
      task.outcome = undefined
    }
  }

  claimed(record: StoredTask, lease: Lease, endsAt: number, turn: Turn, isOurs: () => boolean): void {
    this.pending.claimed(record.taskId, () => {
      if (isOurs()) this.#starter.startLease(record, lease, endsAt, turn.now)
      else this.#starter.giveBack(lease, 'the page was put away: given back', { delayMs: 0, park: false })
    })
  }

  ended(record: StoredTask): void {
    let task: Task
    try {
      task = this.taskOf(record)
    } catch (error) {
      // written by another version, or by hand: nobody here waits for it, and it is a dead letter all the same
      reportUnreadable(this.runner, record.taskId, error, `it was ended, ${record.reason}`)
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
      for (const task of this.loop.unanswered) {
        const succeeded = task.last?.answer && task.last.status < 400
        if (succeeded || this.callers.until(task) <= now) answer(task, () => error)
      }
      if (failed === 1) this.runner.arm()
      return
    }
    this.#turn = turn
    this.isAway = false
    if (turn.isForeign && !this.isForeign) this.suspectPrincipal()
    reportTurn(turn, this.runner)
    if (turn.counts) this.#counts = turn.counts
    else void this.recount()
    if (this.#depthBefore > 0 && this.depth === 0) this.runner.reportIdle()
    this.#depthBefore = this.depth
    this.runner.drained()
  }

  /** Held in memory only while something of it is nowhere else. */
  remember(task: Task): void {
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

  ownDueAt({ lanes }: Turn): number {
    const now = this.runner.host.now()
    const held = new Map(lanes.map(({ lane, heldForMs }) => [lane, now + heldForMs]))
    let at = Number.POSITIVE_INFINITY
    for (const { record, nextAttemptAt } of this.watched()) {
      if (record?.home !== this.loop.owner || nextAttemptAt === null) continue
      at = Math.min(at, Math.max(nextAttemptAt, held.get(record.lane) ?? 0))
    }
    return at
  }

  /** Something in the store may be due now. */
  changed(): void {
    this.loop.leadership.seek()
    this.loop.workOffered()
    this.runner.tickSoon()
  }

  /** The store says that it cannot be had. It is asked until it can. */
  away(message: string): void {
    this.isAway = true
    this.runner.host.degraded('storage_unavailable', message, 'store')
    void this.loop.run()
  }

  /** The store did not do what it was asked. */
  readonly failed = (error: unknown): void => {
    const message = `the store fails (${errorText(error)}): tasks wait in it until it answers again`
    if (error instanceof StorageFullError) this.runner.host.degraded('storage_full', message, 'full')
    else this.runner.host.degraded('storage_unavailable', message, 'store')
  }
}
