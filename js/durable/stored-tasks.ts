/**
 * A queue's tasks in a store: runs what the store leases to this process, and tells callers and listeners what the store has answered,
 * never what an attempt alone has shown.
 *
 * It wires the parts of this folder together and answers the runner. How a call becomes a stored task is left to `admission.ts`, questions
 * about stored tasks to `manager.ts`.
 */

import { QueueClosedError } from '../api/errors.ts'
import type { RunnerStats } from '../api/stats.ts'
import { type ClaimedTask, type Hint, laneName, type StoredTask, type TaskStore, type Turn } from '../api/store.ts'
import type { Durability, ExhaustedReason, TaskStatus } from '../api/task.ts'
import { notSent } from '../call/not-sent.ts'
import { OP_CANCEL, OUTCOME_RELEASED } from '../core/codes.ts'
import { assertNotAborted } from '../platform/abort.ts'
import { within } from '../platform/clock.ts'
import type { Runner } from '../runner/runner.ts'
import type { StoredSide } from '../runner/stored.ts'
import { abandonOwn, answer, answerClosed, cancelled, outcomeOf, rejectCallers } from '../tasks/callers.ts'
import type { Task } from '../tasks/task.ts'
import { Leadership } from './leadership.ts'
import { reportTurn, reportUnreadable, StoreCounts } from './notices.ts'
import { drain, type PageParts, watchPage } from './page-lifecycle.ts'
import { PrincipalGuard } from './principal-guard.ts'
import { Settler } from './settle.ts'
import { type Endings, StoredState } from './state.ts'
import { StoreLoop, type TurnListener } from './store-loop.ts'
import { LeaseStarter } from './take-lease.ts'
import { type Said, WaitingCallers } from './waiting-callers.ts'

/** The last word to a store may take this long. */
const STORE_MS = 2_000

export class StoredTasks implements StoredSide, TurnListener, Endings, PageParts {
  readonly state: StoredState
  readonly leadership: Leadership
  readonly loop: StoreLoop
  readonly callers: WaitingCallers
  readonly guard: PrincipalGuard
  readonly counts: StoreCounts
  readonly settler: Settler
  readonly #starter: LeaseStarter
  /** The store cannot be had: new tasks stay in memory. */
  isAway = false
  #depthBefore = 0
  #unsubscribe: () => void = () => {}

  constructor(store: TaskStore, owner: string, runner: Runner) {
    this.state = new StoredState(store, owner, runner)
    this.leadership = new Leadership(this.state, () => {
      this.loop.requestTurn()
      runner.tickSoon()
    })
    this.guard = new PrincipalGuard(this.state)
    this.loop = new StoreLoop(this.state, this.leadership, this.guard, this)
    this.callers = new WaitingCallers(this.state, this, this.leadership)
    this.counts = new StoreCounts(this.state)
    this.#starter = new LeaseStarter(this.state, this.loop, this.callers)
    this.settler = new Settler(this.state, this, this.loop, this.callers, this.#starter)
  }

  /** Opens the store and takes up what is there. Rejects where it cannot be opened. */
  async begin(): Promise<void> {
    const { store, runner } = this.state
    const { capacityBytes, maxLaneHoldMs, retention } = runner.limits
    const { capacity } = runner.host.settings
    store.configure?.({ capacity, capacityBytes, maxLaneHoldMs, retention }, (code, message) => {
      runner.host.degraded(code, message, code)
      // a new database names no principal
      if (code === 'storage_evicted') void this.guard.check()
      // callers may wait for tasks that are not there any more
      for (const task of this.state.watched()) this.callers.lookSoon(task)
    })
    // a queue that starts brings credentials anew
    await this.#declarePrincipal()
    // a queue that is closed by now would never let go of what it takes up from here on
    assertNotAborted(runner.closing)
    const unsubscribe = store.subscribe?.((hint) => this.#onHint(hint))
    const unwatch = watchPage(this)
    this.#unsubscribe = () => {
      unsubscribe?.()
      unwatch()
    }
    this.leadership.seek()
    await this.loop.run()
    await this.counts.recount()
  }

  // what the runner asks

  get wakeAt(): number {
    return Math.min(this.loop.wakeAt, this.callers.wakeAt, this.guard.askAt)
  }

  get durability(): Durability {
    return this.state.store.durability
  }

  tick(now: number): void {
    for (const task of this.state.leased.values()) {
      // this process was held up for longer than the lease: another may have the task by now
      if (task.lease && this.loop.terms.isOver(task.lease, now)) this.renewed(task, 'lost')
    }
    if (this.guard.askAt <= now) void this.#suspectPrincipal()
    this.callers.tick(now)
    this.loop.tick(now)
  }

  readonly isLost: StoredSide['isLost'] = (lease, now) => lease.lost === true || this.loop.terms.isOver(lease, now)

  holdLane(principal: string | null, origin: string, until: number): void {
    const { runner } = this.state
    if (until <= runner.host.now()) return
    this.loop.holdLane(laneName(principal, origin), until)
    runner.tickSoon()
  }

  resume(origin: string | undefined): void {
    const { store, runner, failed } = this.state
    // parked tasks of one origin have as many lanes there as there are principals
    const isOne = origin !== undefined && !store.everyone
    const which = isOne ? { lane: laneName(runner.host.principal, origin) } : this.state.whose
    store.unpark?.(which).then(() => this.workOffered(), failed)
  }

  async flush(lane?: string): Promise<number> {
    const flushed = await this.state.store.flush(lane)
    if (flushed > 0) this.state.runner.host.changed?.({ others: true })
    this.workOffered()
    return flushed
  }

  async switchPrincipal(): Promise<void> {
    await this.#declarePrincipal().catch((error) => {
      this.guard.tellLater()
      throw error
    })
    this.workOffered()
    this.state.runner.tick()
    // only then it is known what waits for the new one: `idle` and `stats` go by it
    await this.loop.run()
    await this.counts.recount()
  }

  principalNamed(isOwn: boolean): void {
    void this.#suspectPrincipal().then((isSure) => !isSure && isOwn && this.guard.trust())
  }

  stats(here: RunnerStats, all: boolean): RunnerStats {
    const { failingSinceAt: storeFailingSinceAt } = this.loop
    const more = { ...(storeFailingSinceAt && { storeFailingSinceAt }), ...this.leadership.lacking }
    return { ...this.counts.addTo(here, this.loop.wakeAt, all), ...more }
  }

  /** Ends everything here: the tasks come back by their leases, and callers get their last answer, or `error`. */
  stop(error: unknown): void {
    const { store, runner } = this.state
    this.loop.stop()
    this.#unsubscribe()
    // other processes go on with what waits
    this.leadership.suspend()
    store.suspend?.()
    for (const task of this.state.all()) {
      task.attempt?.abort(error)
      task.slot = -1
      this.leave(task)
      answerClosed(task, error)
      task.outcome?.resolve({ ...outcomeOf(task, runner.show(task)), error: error as never })
      task.outcome = undefined
    }
  }

  /** The leases of a store that hangs run out by themselves. */
  async close(): Promise<void> {
    const { runner, failed } = this.state
    await within(runner.host.settings.clock, STORE_MS, 'the store', this.#close()).catch(failed)
  }

  async #close(): Promise<void> {
    const { store, owner, runner, failed } = this.state
    const closed = new QueueClosedError(runner.host.settings.name)
    this.callers.endAll()
    await drain(this, closed)
    this.stop(closed)
    await store.homes?.holdHome(owner, 0).catch(failed)
    await store.close().catch(failed)
  }

  // how tasks end

  end(task: Task, status: TaskStatus, reason?: ExhaustedReason): void {
    this.leave(task)
    this.state.seen.delete(task.taskId)
    this.#starter.forgetCarry(task.taskId)
    // those whose attempts were cut off end CANCELLED
    if (reason === 'closed' || (status === 'CANCELLED' && this.callers.isClosing)) this.callers.tellClosed(task)
    this.state.runner.announcer.ended(task, status, reason)
    task.strip()
  }

  leave(task: Task): void {
    const { runner, hasSole } = this.state
    this.state.forget(task)
    abandonOwn(task)
    this.callers.stopWaiting(task)
    if (hasSole) this.callers.callerLeft()
    task.lease = undefined
    if (task.slot < 0) return
    // an attempt of it goes on: whatever it comes to, its place in the core is free
    const { attempt } = task
    const now = runner.host.now()
    runner.guard(() => runner.rule(task, notSent(OUTCOME_RELEASED, now), now))
    task.slot = -1
    attempt?.abort()
  }

  abort(task: Task, reason: unknown): void {
    const { runner } = this.state
    task.cancelRequested = true
    runner.guard(() => runner.core.call(OP_CANCEL, task.slot))
    task.attempt?.abort(reason)
  }

  purged(task: Task): void {
    this.leave(task)
    task.status = 'CANCELLED'
    this.state.runner.host.changed?.(task)
    const outcome = outcomeOf(task, this.state.runner.show(task))
    answer(task, () => outcome.error)
    task.outcome?.resolve(outcome)
    task.outcome = undefined
  }

  // what a turn brings

  claimed(claimed: ClaimedTask, endsAt: number, turn: Turn, isOurs: () => boolean): void {
    // by the lease: what a record says of itself is looked at when it is taken up
    this.state.pending.claimed(claimed.lease.taskId, (isStored) => {
      if (isStored && isOurs()) this.#starter.startLease(claimed, endsAt, turn.now)
      else this.#starter.giveBack(claimed.lease, 'page or call gone: given back', { delayMs: 0, park: false })
    })
  }

  ended(record: StoredTask): void {
    let task: Task
    try {
      task = this.state.taskOf(record)
    } catch (error) {
      // written by another version, or by hand: no caller waits for it here, and it is a dead letter all the same
      reportUnreadable(this.state.runner, String(record?.taskId), error, `it was ended, ${String(record?.reason)}`)
      return
    }
    this.end(task, record.status, record.reason)
  }

  renewed(task: Task, said: Turn['renewed'][number]): void {
    if (said === 'cancelled' && !task.cancelRequested) this.abort(task, cancelled())
    if (said !== 'lost' || !task.lease) return
    task.lease.lost = true
    task.attempt?.abort()
  }

  readonly turning = (): void => this.counts.asking()

  turned(failed: number, error: unknown, turn: Turn | undefined, shut: readonly string[] = []): void {
    const { runner } = this.state
    if (!turn) {
      this.callers.storeFailed(this.loop.unanswered, error)
      if (failed === 1) runner.arm()
      return
    }
    this.state.answered()
    this.callers.storeAnswered()
    this.counts.learn(turn, shut)
    this.isAway = false
    if (turn.isForeign && !this.guard.isForeign) void this.#suspectPrincipal()
    reportTurn(turn, runner)
    if (this.#depthBefore > 0 && this.loop.depth === 0) runner.announcer.idle()
    this.#depthBefore = this.loop.depth
    runner.draining.look()
  }

  // what admission and the manager ask

  /** Takes note that a task of this process is in the store now. */
  registerStored(task: Task): void {
    const { seen, pending, runner } = this.state
    seen.add(task.taskId)
    this.counts.written(task.taskId, laneName(task.principal, task.origin))
    this.loop.taskStored()
    this.#depthBefore = this.loop.depth
    this.state.remember(task)
    pending.end(task.taskId, true)
    runner.tickSoon()
  }

  /** `isCallers`: its last caller has left. */
  async cancel(taskId: string, reason: unknown = cancelled(), isCallers = false): Promise<Said> {
    const { store } = this.state
    let said = await store.cancel(taskId, undefined, isCallers)
    const task = this.state.find(taskId)
    if (said === 'requested') {
      if (task) rejectCallers(task, reason)
      if (task?.lease) this.abort(task, reason)
      else if (task && isCallers) this.callers.waitNoMore(task)
    } else if (said === 'cancelled') {
      const record = await store.get(taskId)
      const ended = this.state.find(taskId) ?? (record && this.state.taskOf(record))
      if (ended) rejectCallers(ended, reason)
      if (ended && abandonOwn(ended, reason)) said = 'requested'
      if (ended) this.end(ended, 'CANCELLED')
      // also where nothing may start: it may have been the last
      this.loop.requestTurn()
    }
    this.workOffered()
    return said
  }

  /** Takes note that something in the store may be due now. */
  workOffered(): void {
    this.leadership.seek()
    this.loop.workOffered()
    this.state.runner.tickSoon()
  }

  /** Takes note that the store cannot be had, by its own word. It is asked until it can. */
  away(message: string): void {
    this.isAway = true
    this.state.reportOutage(message)
    void this.loop.run()
  }

  // what other processes do

  /** Looks after what another queue of the store says it has done. Nothing depends on a hint being heard. */
  #onHint({ kind, taskId }: Hint): void {
    const { runner } = this.state
    if (runner.stopped) return
    const task = taskId === undefined ? undefined : this.state.find(taskId)
    if (kind !== 'principal')
      runner.host.changed?.({ ...(taskId === undefined ? { others: true } : { taskId }), isStores: true })
    if (kind === 'changed') return
    if (kind === 'due') this.workOffered()
    else if (kind === 'principal') void this.#suspectPrincipal()
    else if (kind === 'cancelled') {
      if (task?.lease && !task.cancelRequested) this.abort(task, cancelled())
    } else {
      if (task && !task.lease) this.callers.lookSoon(task)
      this.loop.roomMade()
      this.loop.endedElsewhere()
      runner.tickSoon()
    }
  }

  /** Sends nothing until it is known which principal is there: another tab may have said that it is another one. */
  #suspectPrincipal(): Promise<boolean> {
    this.guard.suspect()
    return this.guard.check().then((isOwn) => {
      if (isOwn) this.workOffered()
      return isOwn
    })
  }

  /** Tells the store which principal is there now; what was parked for want of its credentials goes on. */
  async #declarePrincipal(): Promise<void> {
    await this.guard.declare()
    this.leadership.resign()
    await this.state.store.unpark?.(this.state.whose)
  }
}
