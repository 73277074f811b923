/** How a call comes into the store: enqueued, before it is sent, or after its first attempt failed. */

import { IdempotencyConflictError, notFound, QueueFullError, RedriveError, StorageFullError } from '../api/errors.ts'
import type { Enqueued, NewTask } from '../api/store.ts'
import { deliver, type Finished } from '../call/attempt.ts'
import type { Call } from '../call/call.ts'
import { repeatableOf } from '../call/fetch-repeat.ts'
import { notSent } from '../call/not-sent.ts'
import type { RepeatAnswer } from '../call/transport.ts'
import { ENDED, NONE, OUTCOME_RELEASED } from '../core/codes.ts'
import { adopt, UNTRIED } from '../core/queue-calls.ts'
import { UNSAFE_METHODS } from '../options/queue-options.ts'
import { errorText } from '../platform/error-text.ts'
import type { Dedupe } from '../runner/dedupe.ts'
import { flagsOf } from '../runner/flags.ts'
import type { Runner } from '../runner/runner.ts'
import type { EarlyAnswer, Kept, Place, Terms } from '../runner/stored.ts'
import { detachCaller, link } from '../tasks/callers.ts'
import { showEntry } from '../tasks/history.ts'
import type { Ruling } from '../tasks/ruling.ts'
import type { Task } from '../tasks/task.ts'
import { asStored, type Content, contentOf, recordOf } from './record.ts'
import type { StoredTasks } from './stored-tasks.ts'

const FOREVER = Number.POSITIVE_INFINITY
/** A store that does not answer is asked again: what it may have done already counts once. */
const TRIES_AFTER_MS = [50, 250]
/** Codes of a store that cannot be had. */
const AWAY: ReadonlySet<string> = new Set(['STORAGE_UNAVAILABLE', 'STORAGE_NEWER'])

/** What it needs of those who take calls in. */
export interface Source {
  readonly dedupe: Dedupe
  newTask(call: Call, createdAt: number): Task
  /** The caller gets what the task gets. */
  join(task: Task, call: Call, own: Finished<RepeatAnswer>, createdAt: number): Promise<unknown>
}

export class StorePlace implements Place {
  readonly #durable: StoredTasks
  readonly #runner: Runner
  readonly #source: Source
  readonly #methods: ReadonlySet<string>

  constructor(durable: StoredTasks, source: Source) {
    this.#durable = durable
    this.#runner = durable.state.runner
    this.#source = source
    const { persistMethods = UNSAFE_METHODS } = this.#runner.host.settings
    this.#methods = new Set(persistMethods.map((method) => method.toUpperCase()))
  }

  takes({ method, options }: Call): boolean {
    return options.sensitive !== true && this.#methods.has(method)
  }

  /** What of the call may be stored; undefined: it stays in memory, and `degraded` has said why. */
  async contentOf(call: Call): Promise<Content | undefined> {
    const { host, sanitizer } = this.#runner
    if (this.#durable.isAway) return undefined
    host.onTask?.(call)
    const content = await contentOf(call, sanitizer, host.settings)
    if (!('code' in content)) return content
    host.degraded(content.code, content.message, content.once)
    return undefined
  }

  /** undefined: it has to stay in memory. */
  async enqueue(call: Call, createdAt: number): Promise<Kept | undefined> {
    const content = await this.contentOf(call)
    if (!content) return undefined
    const { durability } = this.#durable.state.store
    const task = this.#source.newTask(call, createdAt)
    const terms = { createdAt, expiresAt: call.options.expiresAt ?? FOREVER, waitUntil: FOREVER }
    const enqueued = await unlessAway(this.#store(task, call, content, terms))
    if (!enqueued) return undefined
    const { taskId, outcome } = enqueued
    if (outcome === 'duplicate') return { taskId, key: call.key, durability, deduplicated: true }
    this.#begin(task)
    return { taskId, key: call.key, durability, deduplicated: false }
  }

  /** A call that must not be sent at once: its caller gets what the task gets. `held`: a server has asked to wait. undefined: it has to stay in memory. */
  async hold(call: Call, content: Content, terms: Terms, held: boolean): Promise<EarlyAnswer | undefined> {
    const task = this.#source.newTask(call, terms.createdAt)
    const own = notSent(OUTCOME_RELEASED, this.#runner.host.now())
    if (held) {
      // the core knows at once whether that is too long for the caller
      const ruling = this.#rule(task, call, own, terms)
      if (ruling && ruling.verdict >= ENDED) return { answer: this.#giveUp(task, ruling) }
    }
    const { mode, orderKey } = call.options
    const deferred = mode === 'defer' && orderKey !== undefined
    const enqueued = await unlessAway(this.#store(task, call, content, terms, undefined, !deferred))
    return enqueued && { answer: this.#kept(enqueued, task, call, terms, own, deferred) }
  }

  /** A call that is to be stored before it is sent. undefined: the store fails, and the caller gets what fetch gives (S18). */
  async first(call: Call, content: Content, terms: Terms): Promise<EarlyAnswer | undefined> {
    const task = this.#source.newTask(call, terms.createdAt)
    try {
      const enqueued = await unlessAway(this.#store(task, call, content, terms, undefined, true))
      const own = notSent(OUTCOME_RELEASED, this.#runner.host.now())
      return enqueued && { answer: this.#kept(enqueued, task, call, terms, own, false) }
    } catch (error) {
      if (!(error instanceof StorageFullError) && (error as RedriveError).code !== 'STORAGE_UNAVAILABLE') throw error
      this.#sentUnstored(error, `${call.method} ${call.origin} is sent without being stored`)
      return undefined
    }
  }

  #sentUnstored(error: unknown, what: string): void {
    const full = error instanceof QueueFullError || error instanceof StorageFullError
    const [code, once] = full ? (['storage_full', 'full'] as const) : (['storage_unavailable', 'store'] as const)
    this.#runner.host.degraded(code, `${what}: ${errorText(error)}`, once)
  }

  /** The caller's own first attempt failed in a way that may pass. undefined: it has to stay in memory. */
  async adopt(
    call: Call,
    content: Content,
    finished: Finished<RepeatAnswer>,
    terms: Terms,
  ): Promise<EarlyAnswer | undefined> {
    const task = this.#source.newTask(call, terms.createdAt)
    const ruling = this.#rule(task, call, finished, terms)
    const own = async () => deliver(finished)
    if (!ruling) return { answer: own() }
    if (ruling.verdict >= ENDED) return { answer: this.#giveUp(task, ruling) }
    const deferred = call.options.mode === 'defer'
    try {
      const enqueued = await unlessAway(this.#store(task, call, content, terms, ruling, !deferred))
      return enqueued && { answer: this.#kept(enqueued, task, call, terms, finished, deferred) }
    } catch (error) {
      if (error instanceof IdempotencyConflictError) {
        finished.answer?.discard()
        throw error
      }
      this.#sentUnstored(error, `${call.method} ${call.origin} was sent once and is not tried again`)
      return { answer: own() }
    }
  }

  /** Asks the core about an attempt that was made, or given back, before there was a task. undefined: it trapped. */
  #rule(
    task: Task,
    call: Call,
    finished: Finished<RepeatAnswer>,
    { createdAt, expiresAt, waitUntil }: Terms,
  ): Ruling | undefined {
    const { core, lanes, policies, host } = this.#runner
    return this.#runner.guard(() => {
      const lane = lanes.of(task.principal, call.origin)
      const { priority = 0 } = call.options
      const now = host.now()
      const flags = flagsOf(call, host)
      const slot = policies.with(call.policy, (policy) =>
        adopt(core, {
          now,
          lane,
          policy,
          priority,
          bytes: call.bytes,
          flags,
          createdAt,
          expiresAt,
          waitUntil,
          started: true,
          ...UNTRIED,
        }),
      )
      if (slot === NONE) return undefined
      task.slot = slot
      const ruling = this.#runner.rule(task, finished)
      task.slot = -1
      return ruling
    })
  }

  /** It ended before it was ever stored: a dead letter of this process. */
  #giveUp(task: Task, ruling: Ruling): Promise<unknown> {
    return new Promise((resolve, reject) => {
      task.waiter = { resolve, reject }
      this.#runner.giveUp(task, ruling)
    })
  }

  async #kept(
    enqueued: Enqueued,
    task: Task,
    call: Call,
    terms: Terms,
    own: Finished<RepeatAnswer>,
    deferred: boolean,
  ): Promise<unknown> {
    if (enqueued.outcome === 'duplicate') {
      const record = await this.#durable.state.store.get(enqueued.taskId)
      // there is no answer to wait for any more, and a call that was sent has one of its own
      const over = record && record.status !== 'PENDING' && record.status !== 'IN_FLIGHT'
      const sent = own.outcome !== OUTCOME_RELEASED
      if (sent && (!record || over)) return deliver(own)
      if (!record) throw notFound(enqueued.taskId)
      const same = this.#durable.state.taskOf(record)
      const joined = this.#source.join(same, call, own, terms.createdAt)
      this.#durable.callers.follow(same)
      return joined
    }
    if (deferred) {
      this.#begin(task)
      own.answer?.discard()
      return repeatableOf(call).accepted(task.taskId, this.#runner.traceId(call))
    }
    return new Promise((resolve, reject) => {
      task.waiter = { resolve, reject }
      this.#durable.callers.begin(task, terms.waitUntil)
      this.#begin(task)
      if (call.signal) link(task, call.signal, (reason) => this.#abort(task, reason))
    })
  }

  #begin(task: Task): void {
    this.#runner.emitQueued(task)
    this.#durable.registerStored(task)
  }

  /** The caller has aborted: it learns at once, the task ends where it is. */
  #abort(task: Task, reason: unknown): void {
    detachCaller(task)?.reject(reason)
    this.#durable.cancel(task.taskId, reason).catch((error) => this.#durable.state.failed(error))
  }

  /** 'stored' or 'duplicate'; anything else throws, and nothing was kept. */
  async #store(
    task: Task,
    call: Call,
    content: Content,
    terms: Terms,
    ruling?: Ruling,
    waits = false,
  ): Promise<Enqueued> {
    const { host } = this.#runner
    const fingerprint = (await this.#source.dedupe.fingerprint(call)) ?? `unknown ${task.taskId}`
    const { principal, taskId } = task
    const { owner } = this.#durable.state
    const now = host.now()
    const why = ruling?.why
    const timing = { ...terms, now, dueInMs: why?.delayMs ?? 0 }
    const ids = { taskId, fingerprint, principal, home: waits ? owner : null }
    const record = { ...recordOf(ids, call, content, timing), ...this.#attempted(task, ruling) }
    this.#durable.state.pending.begin(taskId)
    let stored = false
    try {
      const enqueued = await (waits ? this.#durable.callers.enter(() => this.#try(record)) : this.#try(record))
      this.#assertTaken(enqueued, call)
      stored = enqueued.outcome === 'stored'
      task.setRecord(asStored(record, now))
      task.nextAttemptAt = now + record.dueInMs
      return enqueued
    } finally {
      // who is told that it is stored lets in what has come of it meanwhile, once its caller is there
      if (!stored) this.#durable.state.pending.end(taskId, false)
      if (!stored && waits) this.#durable.callers.callerLeft()
    }
  }

  #away({ taskId }: NewTask, error: unknown): Away {
    const message = `the store cannot be had (${errorText(error)}): new tasks stay in memory, and end with the page, until it can`
    this.#durable.away(message)
    // should the task be in it all the same
    this.#durable.state.store.cancel(taskId).catch((again) => this.#durable.state.failed(again))
    return new Away(message)
  }

  #assertTaken(enqueued: Enqueued, call: Call): void {
    const { host, limits } = this.#runner
    const what = `${call.method} ${call.origin}`
    if (enqueued.outcome === 'conflict') {
      const remedy = 'use a new key for a new request; this one is not kept'
      throw new IdempotencyConflictError(
        `${what}: its idempotency key belongs to another request, task ${enqueued.taskId}; ${remedy}`,
      )
    }
    if (enqueued.outcome === 'full') {
      const held = `${host.settings.capacity} tasks or ${limits.capacityBytes} bytes of bodies`
      throw new QueueFullError(`the queue holds ${held} already; raise capacity or capacityBytes, or wait for 'idle'`)
    }
  }

  /** What the first attempt leaves, if there was one. */
  #attempted(task: Task, ruling: Ruling | undefined): Partial<NewTask> {
    const why = ruling?.why
    if (!ruling || !why) return {}
    const cause = why.refunded ? this.#runner.releaseCause(task, ruling) : undefined
    const nextAt = this.#runner.host.now() + why.delayMs
    const entry = ruling.entry(why.refunded ? 'released' : 'retry', 'next', nextAt, cause)
    task.log(entry)
    const { serverMs, phase, previousDelayMs, marks } = why
    return {
      attemptNumber: why.refunded ? 0 : 1,
      serverMs,
      phase,
      previousDelayMs,
      marks,
      ...(ruling.holdMs > 0 ? { holdLaneForMs: ruling.holdMs } : {}),
      log: [showEntry(task.taskId, entry)],
    }
  }

  async #try(record: NewTask): Promise<Enqueued> {
    const { clock } = this.#runner.host.settings
    for (let tries = 0; ; tries++) {
      try {
        const [enqueued] = await this.#durable.state.store.enqueue([record])
        if (!enqueued) throw new TypeError('the store gave no answer for the task')
        // the id is its own: an earlier try was done, and its answer lost
        const own = enqueued.outcome === 'duplicate' && enqueued.taskId === record.taskId
        return own ? { ...enqueued, outcome: 'stored' } : enqueued
      } catch (error) {
        const afterMs = TRIES_AFTER_MS[tries]
        if (error instanceof StorageFullError) throw error
        // it has tried again by itself, or a later version has it now
        if (AWAY.has((error as RedriveError).code)) throw this.#away(record, error)
        if (afterMs === undefined) {
          // it may be there all the same: nobody is told so, so it must not run
          this.#durable.state.store.cancel(record.taskId).catch((again) => this.#durable.state.failed(again))
          const remedy = 'nothing was queued; try again when the store answers'
          throw new RedriveError('STORAGE_UNAVAILABLE', `the store fails (${errorText(error)}): ${remedy}`, {
            cause: error,
          })
        }
        await new Promise<void>((resolve) => clock.after(afterMs, resolve))
      }
    }
  }
}

/** The store cannot be had, by its own word: tasks stay in memory until it can. */
class Away extends Error {}

function unlessAway<T>(storing: Promise<T>): Promise<T | undefined> {
  return storing.catch((error) => {
    if (error instanceof Away) return undefined
    throw error
  })
}
