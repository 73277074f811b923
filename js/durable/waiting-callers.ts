/**
 * Callers of this process who wait for stored tasks: how long each waits, and how they learn of an end that another
 * process has made.
 */

import { RedriveError, SettledElsewhereError } from '../api/errors.ts'
import type { TaskOutcome } from '../api/events.ts'
import type { StoredTask } from '../api/store.ts'
import { answer, detachCaller, outcomeOf } from '../tasks/callers.ts'
import type { Task } from '../tasks/task.ts'
import type { StoredTasks } from './stored-tasks.ts'

/** A caller's task is left to its home by all who obey; only one that was frozen may find it ended. */
const OWN_LOOK_MS = 10_000
/** Requests that nobody waits for are kept for what of them is not stored: looked at now and then, some at a time. */
const SWEEP_MS = 60_000
const SWEEP_SIZE = 100
const FOREVER = Number.POSITIVE_INFINITY

interface Wait {
  readonly until: number
  disarm(): void
}

export class WaitingCallers {
  readonly #durable: StoredTasks
  readonly #waits = new Map<Task, Wait>()
  readonly #looking = new Set<Task>()
  /** When to look after those that others may end at any time, and after those they should not. */
  #lookAt = FOREVER
  #lookAtOwn = FOREVER
  #sweepAt = 0
  #swept = 0
  /** Callers whose tasks are on their way into the store. */
  #entering = 0

  constructor(durable: StoredTasks) {
    this.#durable = durable
  }

  /** When to look what others have made of the tasks that are waited for here. */
  get wakeAt(): number {
    // those who waited have their answer by now
    if (!this.#durable.watches) return FOREVER
    return Math.min(this.#lookAt, this.#lookAtOwn)
  }

  /** Until when the caller of a task waits for an attempt to start. */
  until(task: Task): number {
    return this.#waits.get(task)?.until ?? FOREVER
  }

  /** A caller waits from now on, until `until` at most. */
  begin(task: Task, until: number): void {
    const { clock } = this.#durable.runner.host.settings
    const arm = (): (() => void) =>
      until === FOREVER
        ? () => {}
        : clock.after(Math.max(0, until - this.#durable.runner.host.now()), () => this.#timeUp(task, arm))
    this.#waits.set(task, { until, disarm: arm() })
    this.#durable.watch(task)
    this.#lookAtOwn = Math.min(this.#lookAtOwn, this.#durable.runner.host.now() + OWN_LOOK_MS)
    void this.#keepHome()
  }

  /** Its caller is going to wait: the task must not be in the store before this is known to be its home. */
  async enter<T>(store: () => Promise<T>): Promise<T> {
    this.#entering++
    try {
      await this.#keepHome()
      return await store()
    } finally {
      this.#entering--
    }
  }

  /** Somebody waits for what others may do, or have done since it was looked at: nobody may tell of it. */
  follow(task: Task): void {
    this.#durable.watch(task)
    this.#watchFrom(this.#durable.runner.host.now())
    this.#durable.runner.arm()
    this.lookSoon(task)
  }

  /** It waits once more: its caller's time may have run out during the attempt. */
  waitsAgain(task: Task): void {
    if (this.until(task) <= this.#durable.runner.host.now()) this.#endWait(task)
  }

  stopWaiting(task: Task): void {
    this.#waits.get(task)?.disarm()
    if (this.#waits.delete(task)) this.callerLeft()
  }

  /** A caller does not wait any more. */
  callerLeft(): void {
    this.#durable.loop.leadership.leaveHome().catch(this.#durable.failed)
  }

  tick(now: number): void {
    if (now >= this.#sweepAt) this.#sweep(now)
    if (now < this.wakeAt) return
    const [theirs, own] = [now >= this.#lookAt, now >= this.#lookAtOwn]
    if (theirs) this.#lookAt = FOREVER
    if (own) this.#lookAtOwn = FOREVER
    for (const task of this.#durable.watched()) {
      const isOwn = task.record?.home === this.#durable.loop.owner
      if (isOwn ? own : theirs) this.lookSoon(task)
      // what nobody waits for is worth a look, but no timer
      if (!isAwaited(task)) continue
      if (isOwn) this.#lookAtOwn = Math.min(this.#lookAtOwn, now + OWN_LOOK_MS)
      else this.#watchFrom(now)
    }
  }

  /** No timer brings it about: a process that is not busy keeps little. */
  #sweep(now: number): void {
    this.#sweepAt = now + SWEEP_MS
    const kept = [...this.#durable.watched()].filter((task) => !isAwaited(task))
    for (let i = 0; i < Math.min(SWEEP_SIZE, kept.length); i++) {
      this.lookSoon(kept[this.#swept++ % kept.length] as Task)
    }
  }

  /** Looks whether others have ended it. */
  lookSoon(task: Task): void {
    if (this.#looking.has(task)) return
    this.#looking.add(task)
    this.#look(task)
      .catch((error) => this.#durable.failed(error))
      .finally(() => this.#looking.delete(task))
  }

  /** The outcome of a task that has ended. */
  async outcome(record: StoredTask): Promise<TaskOutcome> {
    const task = this.#durable.taskOf(record)
    const { attempts } = await this.#durable.store.attempts(record.taskId, { limit: 100 })
    task.lastStatus = attempts[attempts.length - 1]?.responseStatus ?? 0
    return outcomeOf(task, this.#durable.runner.show(task))
  }

  async #look(task: Task): Promise<void> {
    const record = await this.#durable.store.get(task.taskId)
    const settled = record && record.status !== 'PENDING' && record.status !== 'IN_FLIGHT'
    // taken up here meanwhile, or ended by this process, which tells by itself
    if (task.lease || !this.#isWatched(task) || (record && !settled)) return
    const outcome = settled ? await this.outcome(record) : undefined
    if (!this.#isWatched(task)) return
    if (!record || !outcome) {
      this.#durable.purged(task)
      this.#durable.runner.host.idle()
      return
    }
    this.#durable.leave(task)
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
    this.#durable.runner.host.idle()
  }

  #watchFrom(now: number): void {
    this.#lookAt = Math.min(this.#lookAt, now + this.#lookMs)
  }

  #isWatched(task: Task): boolean {
    return this.#durable.find(task.taskId) === task
  }

  #timeUp(task: Task, arm: () => () => void): void {
    const wait = this.#waits.get(task)
    if (!wait) return
    // a timer holds 24.8 days at most and may wake early
    if (this.#durable.runner.host.now() < wait.until) this.#waits.set(task, { ...wait, disarm: arm() })
    // one that runs may end well, and is asked then whether there is time for another
    else if (!task.lease) this.#endWait(task)
  }

  #endWait(task: Task): void {
    this.#giveUp(task).catch((error) => this.#durable.failed(error))
  }

  /** The caller is told that it failed, so it must not go on behind its back. */
  async #giveUp(task: Task): Promise<void> {
    let said: 'cancelled' | 'requested' | 'gone' = 'requested'
    try {
      said = await this.#durable.store.cancel(task.taskId, 'wait_exceeded')
    } finally {
      if (said === 'cancelled') this.#durable.end(task, 'EXHAUSTED', 'wait_exceeded')
      else if (said === 'gone') this.lookSoon(task)
      else if (!task.lease) {
        // who asked for its result goes on waiting for it
        if (task.outcome) this.stopWaiting(task)
        else this.#durable.leave(task)
        answer(task, () => new RedriveError('WAIT_EXCEEDED', `${task.what} is under way as task ${task.taskId}`))
      }
    }
  }

  async #keepHome(): Promise<void> {
    const isWanted = () => this.#waits.size + this.#entering > 0
    await this.#durable.loop.leadership.keepHome(isWanted).catch((error) => this.#durable.failed(error))
  }

  get #lookMs(): number {
    return this.#durable.store.idleCheckMs ?? OWN_LOOK_MS
  }
}

function isAwaited({ waiter, outcome, joined }: Task): boolean {
  return waiter !== undefined || outcome !== undefined || joined.length > 0
}
