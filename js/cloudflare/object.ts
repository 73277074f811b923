/**
 * The Durable Object that keeps what a Worker could not deliver while its request lived, and delivers it. A queue like any
 * other, over the object's own SQLite; its wake-ups are alarms, and each alarm does a bounded part of the work.
 */

import { DurableObject } from 'cloudflare:workers'
import { RedriveError } from '../api/errors.ts'
import type { ListFilter, PageOptions, TaskPage } from '../api/methods.ts'
import type { QueueStats } from '../api/stats.ts'
import { laneName, type NewTask, type StoredTask, type TaskStore } from '../api/store.ts'
import type { AttemptLog, Decision, RetryTask } from '../api/task.ts'
import { check, flag, follow, MAX_MS, num } from '../options/check.ts'
import { limitsOf } from '../options/limits.ts'
import { FOREVER, systemClock } from '../platform/clock.ts'
import { errorText, unsaid } from '../platform/error-text.ts'
import * as engine from '../queue/chunk.workerd.ts'
import { internalsOf } from '../queue/internals.ts'
import { RetryQueue } from '../queue/queue.ts'
import { areElsewhere } from '../runner/key-conflict.ts'
import { type DurableObjectStore, durableObjectStore } from '../stores/durable-object.ts'
import { Alarm } from './alarm.ts'
import { AlarmClock } from './alarm-clock.ts'
import { AlarmRun, type Work } from './alarm-run.ts'
import type { WorkerEnv } from './env.ts'
import { MadeFor } from './made-for.ts'
import type { ObjectFault, Taken } from './namespace.ts'
import { type ObjectSettings, type RedriveObjectOptions, resolveObjectOptions, warn } from './object-options.ts'
import type { ObjectState } from './object-state.ts'

/** No more is claimed after so long; an alarm may take 15 minutes. */
const RUN_MS = 5 * 60_000
/** The wait before another look at tasks that were due and not claimed, for a reason without a time of its own. */
const LOOK_AGAIN_MS = 1_000
/** Likewise where its tasks need hooks that the class does not have: only a deployment changes that. */
const LACKING_MS = 30_000
/** A parked task is tried again by the next instance, which a deployment makes, and no call may come to make one. */
const PARKED_MS = 10 * 60_000
const MOST_IDLE_RUNS = 3
const LEAST_MS = 100
const FIRST_AGAIN_MS = 1_000
const LAST_AGAIN_MS = 60_000
/** A layout of a later version: only a deployment changes that. */
const NEWER_MS = 10 * 60_000

const NO_SQL: ObjectFault = {
  code: 'OBJECT_MISCONFIGURED',
  message: 'its class has no SQLite: name it in new_sqlite_classes, or another if it was deployed without',
}

const REDRIVE_RULES = { acceptDuplicateRisk: flag }
const WAIT = num(0, MAX_MS)

interface Parts {
  readonly settings: ObjectSettings
  readonly queue: RetryQueue
  readonly clock: AlarmClock
  readonly run: AlarmRun
}

export class RedriveObject<Env = WorkerEnv> extends DurableObject<Env> {
  /** Overridden where the defaults do not do, which is where tasks need credentials: they are never stored. Read at the first call. */
  options: RedriveObjectOptions = {}
  readonly #store: DurableObjectStore
  readonly #madeFor: MadeFor
  readonly #alarm: Alarm
  #made: Parts | undefined
  /** The principal whose tasks the queue sends now. */
  #principal: string | null = null
  #lacksSql = false
  #failedRuns = 0
  /** Runs in a row that did nothing although something was due. */
  #idleRuns = 0

  constructor(ctx: ObjectState, env: Env) {
    super(ctx, env)
    const { storage, id } = ctx
    this.#madeFor = new MadeFor(id.name, storage)
    this.#store = durableObjectStore({ storage, wrote: () => this.#alarm.need(this.#dueAt()) })
    this.#alarm = new Alarm(storage, systemClock, (error) =>
      this.#degraded(`its alarm could not be set (${errorText(error)}): the next call does`),
    )
    // calls wait until the tables are there; a failure shows again in the next call
    void ctx.blockConcurrencyWhile(async () => {
      try {
        // a new one has none until its first task: one that is only asked whether it can take tasks leaves nothing behind
        if (storage.sql.exec('SELECT 1 FROM sqlite_master LIMIT 1').toArray().length > 0) this.#store.migrate()
      } catch (error) {
        // other storage that fails may work again
        this.#lacksSql = /SQL is not enabled/.test(`${error}`)
        this.#degraded(`its tables could not be made (${errorText(error)}): the next call tries again`)
      }
    })
  }

  /** Takes tasks, each as `TaskStore.enqueue` does. They are on the disk when it resolves, and an alarm stands. */
  async enqueue(tasks: readonly NewTask[]): Promise<readonly Taken[]> {
    if (!Array.isArray(tasks)) throw new TypeError('enqueue: expected an array of tasks, as workerFetch sends them')
    const fault = await this.verify()
    if (fault) return tasks.map(({ taskId }) => ({ taskId, outcome: 'refused', ...fault }))
    const { settings } = this.#parts()
    const taken: Promise<Taken>[] = tasks.map((task) => this.#take(task, settings))
    const answers = await Promise.all(taken)
    await this.#alarm.check(this.#dueAt())
    return answers
  }

  /** Says what is wrong with `options`, if anything is: a Worker asks before there is a task. */
  async verify(): Promise<ObjectFault | undefined> {
    try {
      this.#settings()
      return this.#lacksSql ? NO_SQL : undefined
    } catch (error) {
      const { code, message } = error as RedriveError
      return { code, message }
    }
  }

  /** Has its tasks wait for `forMs`, as far as `maxLaneHoldMs` permits: a Worker says so itself, when their server has asked that of another call. */
  async holdLane(forMs: number): Promise<void> {
    follow('holdLane: forMs', forMs, WAIT)
    const { owner } = this.#madeFor
    if (!owner) return
    this.#parts()
    this.#store.holdLane(laneName(owner.principal, owner.origin), forMs)
    await this.#alarm.check(this.#dueAt())
  }

  /** undefined: there is none of that id, or it is past its retention. */
  get(taskId: string): Promise<RetryTask | undefined> {
    return this.#ask((queue) => queue.get(taskId))
  }

  list(filter?: ListFilter): Promise<TaskPage> {
    return this.#ask((queue) => queue.list(filter))
  }

  /** Those in the Worker included. */
  attempts(taskId: string, page?: PageOptions): Promise<{ attempts: readonly AttemptLog[]; cursor?: string }> {
    return this.#ask((queue) => queue.attempts(taskId, page))
  }

  explain(taskId: string): Promise<readonly Decision[]> {
    return this.#ask((queue) => queue.explain(taskId))
  }

  cancel(taskId: string): Promise<'cancelled' | 'requested' | 'gone'> {
    return this.#ask((queue) => queue.cancel(taskId))
  }

  /** Puts a dead letter back: see `RetryQueue.deadLetters`. */
  redrive(taskId: string, options: { readonly acceptDuplicateRisk?: boolean } = {}): Promise<RetryTask> {
    check('redrive', options, REDRIVE_RULES)
    return this.#ask((queue) => queue.deadLetters.redrive(taskId, options))
  }

  /** Deletes tasks, whatever their status: all that fit what is given. Says how many. Rejects where nothing is given, or something as undefined. */
  purge(filter: Parameters<TaskStore['purge']>[0]): Promise<number> {
    return this.#ask(() => this.#store.purge(filter))
  }

  /** Deletes every task. Says how many. */
  purgeAll(): Promise<number> {
    return this.#ask(() => this.#store.purgeAll())
  }

  /** Parked tasks go on, those whose credentials were missing or refused: they are asked for anew. Says how many. */
  resume(): Promise<number> {
    return this.#ask(async () => (await this.#store.unpark?.({})) ?? 0)
  }

  /** Makes due now what waits for its own curve, as `RetryQueue.flush` does, and the alarm with it. Says how many. */
  flush(): Promise<number> {
    return this.#ask((queue) => queue.flush())
  }

  stats(): Promise<QueueStats> {
    return this.#ask((queue) => queue.stats())
  }

  /** One part of the work, and then the next alarm. Never rejects: the platform gives up an alarm that fails again and again. */
  async alarm(): Promise<void> {
    // the watch of a run that takes longer: that one's end sets the next
    if (this.#alarm.isRunning) return
    let work: Work = { attempts: 0, ended: 0, isUsedUp: false }
    let failure: { readonly error: unknown } | undefined
    try {
      // storage that cannot set an alarm may still do the rest, and the end asks again
      await this.#alarm
        .start()
        .catch((error) =>
          this.#degraded(`the alarm could not be set before a run (${errorText(error)}): it is set after it`),
        )
      work = await this.#run()
      if (work.error !== undefined) failure = { error: work.error }
    } catch (error) {
      failure = { error }
    } finally {
      this.#failedRuns = failure ? this.#failedRuns + 1 : 0
      const nextRunAt = this.#nextAt(work, failure?.error)
      await this.#alarm
        .end(nextRunAt)
        .catch((error) => this.#degraded(`no alarm could be set (${errorText(error)}): the next call does`))
      if (failure)
        this.#degraded(`an alarm did not do its work (${errorText(failure.error)}): the next one tries again`)
      const { attempts, ended } = work
      this.#tell({ attempts, ended, nextRunAt, ...failure })
      this.#renew(work, nextRunAt)
    }
  }

  async #run(): Promise<Work> {
    const { settings, queue, clock, run } = this.#parts()
    let total: Work = { attempts: 0, ended: 0, isUsedUp: false }
    clock.start()
    const overAt = systemClock.now() + RUN_MS
    try {
      const { owner } = this.#madeFor
      const due = this.#store.owners()
      if (owner) await run.putAside(due.filter((principal) => principal !== owner.principal))
      const owners = owner ? [owner.principal] : due
      for (const principal of owners.length > 0 ? owners : [this.#principal]) {
        const left = settings.attemptsPerRun - total.attempts
        const forMs = Math.max(0, overAt - systemClock.now())
        const work = await run.work(left, forMs, () => this.#becomes(principal, queue))
        total = { ...work, attempts: total.attempts + work.attempts, ended: total.ended + work.ended }
        if (work.isUsedUp || work.error !== undefined) break
      }
      return total
    } finally {
      clock.stop()
    }
  }

  /** The queue sends tasks of one principal at a time. */
  async #becomes(principal: string | null, queue: RetryQueue): Promise<void> {
    if (principal !== this.#principal) {
      this.#principal = principal
      await queue.setPrincipal(principal)
    }
    await queue.ready
  }

  #nextAt({ isUsedUp }: Work, error: unknown): number | null {
    const now = systemClock.now()
    if ((error as RedriveError | undefined)?.code === 'STORAGE_NEWER') return now + NEWER_MS
    const backoffMs = error === undefined ? 0 : Math.min(LAST_AGAIN_MS, FIRST_AGAIN_MS * 2 ** (this.#failedRuns - 1))
    try {
      // a lane that was shut for the attempts under way is not shut when they are over
      const at = isUsedUp ? this.#soonest() : this.#dueAt()
      if (at === null || at > now || isUsedUp) return at && Math.max(at, now + backoffMs)
      // due, and not claimed
      const isLacking = this.#made?.queue.stats().lacking !== undefined
      return now + Math.max(isLacking ? LACKING_MS : LOOK_AGAIN_MS, backoffMs)
    } catch {
      // storage that fails says nothing: `error` is told, and there may be tasks
      return now + Math.max(LOOK_AGAIN_MS, backoffMs)
    }
  }

  /** When there is something to do; where the queue lets lanes start nothing, it knows until when. */
  #dueAt(): number | null {
    const { run, clock } = this.#made ?? {}
    const shut = run?.shut ?? []
    const at = this.#soonest(shut)
    if (shut.length === 0) return at
    const now = systemClock.now()
    const wakeAt = Math.max(clock?.nextAt() ?? now + LOOK_AGAIN_MS, now + LEAST_MS)
    return at === null ? wakeAt : Math.min(at, wakeAt)
  }

  #soonest(shut?: readonly string[]): number | null {
    const at = this.#store.nextAt(shut)
    return this.#store.hasParked() ? Math.min(at ?? FOREVER, systemClock.now() + PARKED_MS) : at
  }

  /** A queue that could not open its store, or that finds nothing to do again and again although there is, is made anew by the next call. */
  #renew({ attempts }: Work, nextRunAt: number | null): void {
    const isStuck = attempts === 0 && nextRunAt !== null && nextRunAt <= systemClock.now() + LOOK_AGAIN_MS
    this.#idleRuns = isStuck ? this.#idleRuns + 1 : 0
    if (this.#made?.run.isOpen && this.#idleRuns < MOST_IDLE_RUNS) return
    this.#forget()
  }

  #forget(): void {
    this.#idleRuns = 0
    void this.#made?.queue.close({ drainMs: 0 }).catch(() => {}) // its callers have their answers
    this.#made = undefined
  }

  async #take(task: NewTask, { maxBodyBytes }: ObjectSettings): Promise<Taken> {
    const { taskId, body } = task
    const bytes = body?.byteLength ?? 0
    if (bytes > maxBodyBytes) {
      const message = `a body of ${bytes} bytes is larger than this object's maxBodyBytes ${maxBodyBytes}`
      return { taskId, outcome: 'refused', code: 'BODY_TOO_LARGE', message }
    }
    try {
      const why = this.#madeFor.takes(task)
      if (why !== undefined)
        return { taskId, outcome: 'refused', code: 'WRONG_OBJECT', message: `${why}; nothing was stored` }
      const [taken] = await this.#store.enqueue([task])
      if (!taken) throw new TypeError('the store gave no answer for the task')
      const { outcome } = taken
      if (outcome === 'unreadable') {
        const message = `its idempotency key belongs to task ${taken.taskId}, which a later version has stored; deploy that version, or purge the task`
        return { taskId, outcome: 'refused', code: 'KEY_UNREADABLE', message }
      }
      if (outcome === 'full') return { ...taken, outcome, deadLetters: (await this.#store.counts()).exhausted }
      if (outcome === 'stored') return { ...taken, outcome }
      const same = await this.#store.get(taken.taskId)
      if (outcome === 'conflict') {
        return { ...taken, outcome, isElsewhere: same !== undefined && areElsewhere(same.targetUrl, task.targetUrl) }
      }
      return { ...taken, outcome, hasEnded: same?.status !== 'PENDING' && same?.status !== 'IN_FLIGHT' }
    } catch (error) {
      if (!(error instanceof RedriveError)) throw error
      // an error loses its code on its way to the Worker
      return { taskId, outcome: 'refused', code: error.code, message: error.message }
    }
  }

  /** Every call sees to it that an alarm stands when something is to be done. */
  async #ask<T>(question: (queue: RetryQueue) => T | Promise<T>): Promise<T> {
    const { queue, run } = this.#parts()
    await queue.ready
    if (!run.isOpen) {
      this.#forget()
      throw new RedriveError('STORAGE_UNAVAILABLE', 'the object could not read its tasks: ask again')
    }
    await this.#becomes(this.#madeFor.owner?.principal ?? this.#principal, queue)
    const answer = await question(queue)
    await this.#alarm.check(this.#dueAt())
    return answer
  }

  #parts(): Parts {
    this.#made ??= this.#make()
    return this.#made
  }

  #make(): Parts {
    const settings = this.#settings()
    // this object has begun: no attempt of an earlier one can be told of any more
    this.#store.lapse()
    // and what was parked for want of credentials may have them by now
    void this.#store
      .unpark?.({})
      .catch((error) => this.#degraded(`parked tasks stay parked (${errorText(error)}): call resume()`))
    const { owner } = this.#madeFor
    const [principal = null] = owner ? [owner.principal] : this.#store.owners('any')
    this.#principal = principal
    const clock = new AlarmClock()
    const run = new AlarmRun(this.#store, systemClock, (task) => this.#refuses(task))
    const own = { ...settings.queue, clock, principal, store: run.store } as const
    const queue = new RetryQueue({ ...own, preload: 'never' }, async () => engine, engine.CHECKS)
    queue.on('degraded', settings.onDegraded)
    queue.on('exhausted', settings.onExhausted)
    // before the queue has opened it: the first call may be an enqueue
    const { host } = internalsOf(queue)
    host.unparkedBy = "resume() on the object's stub, or the next deployment"
    const { capacity } = host.settings
    this.#store.configure?.({ capacity, ...limitsOf(host.settings) })
    return { settings, queue, clock, run }
  }

  #settings(): ObjectSettings {
    try {
      return resolveObjectOptions(this.options)
    } catch (error) {
      throw new RedriveError('OBJECT_MISCONFIGURED', (error as Error).message, { cause: error })
    }
  }

  #degraded(what: string): void {
    const report = { code: 'storage_unavailable', message: what } as const
    const tell = async () => (this.#made?.settings.onDegraded ?? this.options?.onDegraded ?? warn)(report)
    // a report that cannot be given must not keep an alarm from being set
    tell().catch(() => warn(report))
  }

  #refuses(task: StoredTask): string | undefined {
    const why = this.#madeFor.refuses(task)
    if (why !== undefined) this.#degraded(`task ${task.taskId} was changed in its row (${why}): it is parked, not sent`)
    return why
  }

  #tell(run: Parameters<ObjectSettings['onRun']>[0]): void {
    const tell = async () => this.#made?.settings.onRun(run)
    tell().catch((error) => this.#degraded(`onRun threw (${unsaid(error)}): the run itself went on`))
  }
}
