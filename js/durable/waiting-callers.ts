/**
 * Callers of this process that wait for stored tasks: how long each of them waits, and how they learn of an end that another
 * process has made.
 *
 * A hint or a turn tells of most such ends. Against those that are lost, waiting callers are looked after now and then.
 */

import { QueueClosedError, RedriveError } from '../api/errors.ts'
import type { TaskOutcome } from '../api/methods.ts'
import type { StoredTask, TaskStore } from '../api/store.ts'
import type { ExhaustedReason } from '../api/task.ts'
import { SettledElsewhereError } from '../api/task-errors.ts'
import type { Call } from '../call/call.ts'
import { FOREVER } from '../platform/clock.ts'
import { isLive } from '../stores/engine/row.ts'
import { orderName } from '../stores/engine/rules.ts'
import { ANSWERED, answer, answerClosed, detachCaller, outcomeOf } from '../tasks/callers.ts'
import type { Task } from '../tasks/task.ts'
import type { Leadership } from './leadership.ts'
import type { Endings, StoredState } from './state.ts'

/** All processes leave the task of a caller to its home; only a home that was frozen may find it ended. */
const OWN_LOOK_MS = 10_000
/** A store that takes longer to end a task keeps its caller no longer. */
const TELL_MS = 20
/** Tasks without a caller, which are here for what of them is not stored, are looked at this often, some at a time. */
const SWEEP_MS = 60_000
const SWEEP_SIZE = 100

/** The store's answer about a task that is to be cancelled. */
export type Said = Awaited<ReturnType<TaskStore['cancel']>>

interface Wait {
  readonly until: number
  disarm(): void
}

export class WaitingCallers {
  readonly #state: StoredState
  readonly #endings: Endings
  readonly #leadership: Leadership
  readonly #waits = new Map<Task, Wait>()
  readonly #looking = new Set<Task>()
  /** When to look after tasks that other processes may end at any time, and after those whose home is here. */
  #lookAt = FOREVER
  #lookAtOwn = FOREVER
  #sweepAt = 0
  #swept = 0
  /** Tasks that ended for their callers, and not in the store yet, and why; undefined: they are cancelled. */
  readonly #endedHere = new Map<string, ExhaustedReason | undefined>()
  /** Those of them that the store is asked to end just now. */
  readonly #ending = new Set<string>()
  isClosing = false
  /** By order, when all of its calls have asked the store. */
  readonly #orders = new Map<string, Promise<void>>()
  /** Each call of an order: those before it, and a function that lets on those behind it. */
  readonly turns: WeakMap<Call, { readonly before: Promise<void> | undefined; ask(): void }> = new WeakMap()
  /** Callers whose tasks are on their way into the store. */
  #entering = 0

  constructor(state: StoredState, endings: Endings, leadership: Leadership) {
    this.#state = state
    this.#endings = endings
    this.#leadership = leadership
  }

  /** When to look what other processes have made of the tasks that are waited for here. */
  get wakeAt(): number {
    // the callers have their answers by now
    if (!this.#state.isWatching) return FOREVER
    return Math.min(this.#lookAt, this.#lookAtOwn)
  }

  /** Until when the caller of a task waits for an attempt to start. */
  until(task: Task): number {
    return this.#waits.get(task)?.until ?? FOREVER
  }

  /** Begins the wait of a task's caller, until `until` at most. */
  begin(task: Task, until: number): void {
    const { host } = this.#state.runner
    const { clock } = host.settings
    const arm = (): (() => void) =>
      until === FOREVER ? () => {} : clock.after(Math.max(0, until - host.now()), () => this.#timeUp(task, arm))
    this.#waits.set(task, { until, disarm: arm() })
    this.#state.watch(task)
    this.#lookAtOwn = Math.min(this.#lookAtOwn, host.now() + OWN_LOOK_MS)
    void this.#keepHome()
    // stored while the queue was closing
    if (this.isClosing) queueMicrotask(() => this.#endClosed(task))
  }

  /** Stores a task whose caller is going to wait: the task must not be in the store before this process is known as its home. */
  async enter<T>(store: () => Promise<T>): Promise<T> {
    this.#entering++
    try {
      await this.#keepHome()
      return await store()
    } finally {
      this.#entering--
    }
  }

  /** Has calls of one order ask the store in the order in which they came, whatever each waits for on its way. */
  inLine<T>(call: Call, store: () => Promise<T>): Promise<T> {
    const { principal, options } = call
    if (options.orderKey === undefined) return store()
    const name = orderName(principal, options.orderKey)
    const before = this.#orders.get(name)
    let ask = (): void => {}
    const own = new Promise<void>((resolve) => (ask = resolve))
    // a value of its own: where calls never cease, each would keep all before it
    const asked = before ? before.then(() => own) : own
    this.#orders.set(name, asked)
    this.turns.set(call, { before, ask })
    return store().finally(() => {
      ask()
      if (this.#orders.get(name) === asked) this.#orders.delete(name)
    })
  }

  /** Follows a task that another process may end, or has ended since it was looked at, without a hint that arrives. */
  follow(task: Task): void {
    const { runner } = this.#state
    this.#state.watch(task)
    this.#watchFrom(runner.host.now())
    runner.arm()
    this.lookSoon(task)
  }

  /** Ends the wait of a caller whose time ran out during an attempt that has not ended the task. */
  waitsAgain(task: Task): void {
    if (this.isClosing) this.#endClosed(task)
    else if (this.until(task) <= this.#state.runner.host.now()) this.endWait(task)
  }

  /** Ends the tasks that `isOf` names and whose callers wait, unless one of their attempts runs, which may end well. */
  endWaits(isOf: (task: Task) => boolean, reason: ExhaustedReason): void {
    for (const [task, { until }] of this.#waits) {
      if (until < FOREVER && !task.lease && isOf(task)) this.endWait(task, reason)
    }
  }

  /** The queue is about to close: ends the tasks whose callers wait here, unless one of their attempts runs, which may end well. */
  endWaiting(): void {
    this.isClosing = true
    for (const task of this.#state.watched()) if (!task.lease) this.#endClosed(task)
  }

  /** Ends those whose attempts run, too: their time to end well is over. */
  endAll(): void {
    for (const task of this.#state.all()) this.#endClosed(task)
  }

  /** Background tasks go on in the store; one whose caller waits, and gets its failure, must have no late effect. */
  #endClosed(task: Task): void {
    const { runner } = this.#state
    runner.announcer.answerDeferred(task)
    // of an attempt that was made and must not be repeated, the outcome is unknown: its end says so
    const isUnknown = task.lease && task.call?.replayable === false
    if (!task.waiter || task.isHandedOver) this.tellClosed(task)
    else if (!isUnknown) this.endWait(task, 'closed')
  }

  /** Answers the callers of a task that ends because the queue closes. */
  tellClosed(task: Task): void {
    task.reason = 'closed'
    answerClosed(task, new QueueClosedError(this.#state.runner.host.settings.name))
    task.reason = undefined
  }

  /** Takes note that the store fails. Answers the callers of `tasks`, whose settlements it does not take: those of a success, and those whose time is up. */
  storeFailed(tasks: readonly Task[], error: unknown): void {
    this.#state.failed(error)
    const now = this.#state.runner.host.now()
    for (const task of tasks) {
      const succeeded = task.last?.answer && task.last.status < 400
      if (succeeded || this.until(task) <= now) answer(task, () => error)
    }
  }

  stopWaiting(task: Task): void {
    this.#waits.get(task)?.disarm()
    if (this.#waits.delete(task)) this.callerLeft()
  }

  /** Keeps a task that goes on without its caller for what is here alone: a part of its request, or a caller of `result()`. */
  waitNoMore(task: Task): void {
    this.stopWaiting(task)
    this.#state.remember(task)
  }

  /** Takes note that a caller does not wait any more: this process may be no home now. */
  callerLeft(): void {
    this.#leadership.leaveHome().catch(this.#state.failed)
  }

  tick(now: number): void {
    if (now >= this.#sweepAt) this.#sweep(now)
    if (now < this.wakeAt) return
    const [theirs, own] = [now >= this.#lookAt, now >= this.#lookAtOwn]
    if (theirs) this.#lookAt = FOREVER
    if (own) this.#lookAtOwn = FOREVER
    for (const task of this.#state.watched()) {
      const isOwn = task.record?.home === this.#state.owner
      if (isOwn ? own : theirs) this.lookSoon(task)
      // a task without a caller is worth a look, but no timer
      if (!isAwaited(task)) continue
      if (isOwn) this.#lookAtOwn = Math.min(this.#lookAtOwn, now + OWN_LOOK_MS)
      else this.#watchFrom(now)
    }
  }

  /** Looks after some tasks that no caller waits for. No timer brings it about: a process that is not busy keeps few. */
  #sweep(now: number): void {
    this.#sweepAt = now + SWEEP_MS
    const unawaited = [...this.#state.watched()].filter((task) => !isAwaited(task))
    for (let i = 0; i < Math.min(SWEEP_SIZE, unawaited.length); i++) {
      this.lookSoon(unawaited[this.#swept++ % unawaited.length] as Task)
    }
  }

  /** Looks in the store whether another process has ended a task. */
  lookSoon(task: Task): void {
    if (this.#looking.has(task)) return
    this.#looking.add(task)
    this.#look(task)
      .catch(this.#state.failed)
      .finally(() => this.#looking.delete(task))
  }

  /** The outcome of a task that has ended. */
  async outcome(record: StoredTask): Promise<TaskOutcome> {
    const { store, runner } = this.#state
    const task = this.#state.taskOf(record)
    const { attempts } = await store.attempts(record.taskId, { limit: 100 })
    task.lastStatus = attempts[attempts.length - 1]?.responseStatus ?? 0
    return outcomeOf(task, runner.show(task))
  }

  async #look(task: Task): Promise<void> {
    const { store, runner } = this.#state
    const record = await store.get(task.taskId)
    const settled = record && !isLive(record)
    // taken up here meanwhile, or ended by this process, which tells by itself
    if (task.lease || !this.#isHere(task) || (record && !settled)) return
    const outcome = settled ? await this.outcome(record) : undefined
    if (!this.#isHere(task)) return
    if (!record || !outcome) {
      this.#endings.purged(task)
      runner.host.idle()
      return
    }
    this.#endings.leave(task)
    const { responseStatus } = outcome
    const how = `${record.status}${responseStatus ? ` with ${responseStatus}` : ''}`
    const message = `${task.what} was ended by another process: ${how}; its response went there`
    const waiter = detachCaller(task)
    for (const each of [waiter ?? [], ...task.joined].flat()) {
      each.reject(new SettledElsewhereError(message, responseStatus))
    }
    task.joined = []
    task.outcome?.resolve(outcome)
    task.outcome = undefined
    runner.host.idle()
  }

  #watchFrom(now: number): void {
    this.#lookAt = Math.min(this.#lookAt, now + (this.#state.store.idleCheckMs ?? OWN_LOOK_MS))
  }

  #isHere(task: Task): boolean {
    return this.#state.find(task.taskId) === task
  }

  #timeUp(task: Task, arm: () => () => void): void {
    const wait = this.#waits.get(task)
    if (!wait) return
    // a timer holds 24.8 days at most and may wake early
    if (this.#state.runner.host.now() < wait.until) this.#waits.set(task, { ...wait, disarm: arm() })
    // an attempt under way may end well; if not, `waitsAgain` asks whether there is time for another
    else if (!task.lease) this.endWait(task)
    else this.#tellSoon(task)
  }

  /** Ends a task whose caller waits no longer, and tells the caller. */
  endWait(task: Task, reason: ExhaustedReason = 'wait_exceeded'): void {
    this.#giveUp(task, reason).catch(this.#state.failed)
  }

  /** Whether a task has ended for its caller, and its store does not know it yet. */
  isEndedHere(taskId: string): boolean {
    return this.#endedHere.has(taskId)
  }

  /** Takes note that the store answers: what has ended without its knowledge ends there, too. */
  storeAnswered(): void {
    for (const [taskId, reason] of this.#endedHere) if (!this.#ending.has(taskId)) void this.endThere(taskId, reason)
  }

  /** Ends a task in the store that has ended for its caller. Until it is done, and however often the store fails, nothing of it is begun. Resolves with what the store says of it, or with undefined where it fails. */
  endThere(
    taskId: string,
    reason: ExhaustedReason | undefined,
    cancel?: () => Promise<Said>,
  ): Promise<Said | undefined> {
    return this.#end(taskId, reason, cancel).catch((error) => void this.#state.failed(error))
  }

  async #end(
    taskId: string,
    reason: ExhaustedReason | undefined,
    cancel: () => Promise<Said> = () => this.#state.store.cancel(taskId, reason, true),
  ): Promise<Said> {
    this.#endedHere.set(taskId, reason)
    this.#ending.add(taskId)
    try {
      const said = await cancel()
      this.#endedHere.delete(taskId)
      return said
    } finally {
      this.#ending.delete(taskId)
    }
  }

  /** Gives the caller of a task whose time is up what there is, unless that comes about at once by itself. Returns what takes it back. */
  #tellSoon(task: Task, reason: ExhaustedReason = 'wait_exceeded'): () => void {
    return this.#state.runner.host.settings.clock.after(TELL_MS, () => {
      const { waiter, last } = task
      if (!waiter) return
      // of a success that the store has not taken yet there is nothing to say
      if (!last?.answer || last.status >= 400) task.reason = reason
      this.#answer(task)
      task.reason = undefined
      // listeners are still to be told of the end, which is no one's loss
      task.waiter = ANSWERED
    })
  }

  #answer(task: Task): void {
    const words = `${task.what} is under way as task ${task.taskId}, longer than its caller waits; queue.result(taskId) tells how it ends`
    answer(task, () => new RedriveError('WAIT_EXCEEDED', words))
  }

  /** Cancels a task whose caller gets its failure: it must not go on behind the caller's back. */
  async #giveUp(task: Task, reason: ExhaustedReason): Promise<void> {
    let said: Said = 'requested'
    const disarm = this.#tellSoon(task, reason)
    try {
      said = await this.#end(task.taskId, reason)
    } finally {
      disarm()
      if (said === 'cancelled') this.#endings.end(task, 'EXHAUSTED', reason)
      else if (said === 'gone') this.lookSoon(task)
      else if (!task.lease) {
        task.reason = reason
        if (reason === 'closed') this.tellClosed(task)
        else this.#answer(task)
        task.reason = undefined
        this.waitNoMore(task)
      }
    }
  }

  async #keepHome(): Promise<void> {
    const isWanted = () => this.#waits.size + this.#entering > 0
    await this.#leadership.keepHome(isWanted).catch(this.#state.failed)
  }
}

function isAwaited({ waiter, outcome, joined }: Task): boolean {
  return waiter !== undefined || outcome !== undefined || joined.length > 0
}
