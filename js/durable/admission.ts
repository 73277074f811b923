/** Turns calls into stored tasks: enqueued, before they are sent, or after their first attempt failed. */

import { RedriveError } from '../api/errors.ts'
import type { Enqueued, NewTask } from '../api/store.ts'
import { IdempotencyConflictError, QueueFullError, StorageFullError } from '../api/task-errors.ts'
import { deliver, type Finished } from '../call/attempt.ts'
import type { Call } from '../call/call.ts'
import { patienceOf } from '../call/deferred.ts'
import { assertThere } from '../call/not-sent.ts'
import type { RepeatAnswer } from '../call/transport.ts'
import { adopt, UNTRIED } from '../core/calls.ts'
import { NONE, OUTCOME_RELEASED } from '../core/codes.ts'
import { UNSAFE_METHODS } from '../options/idempotency.ts'
import type { Admission } from '../runner/admission.ts'
import { askedOf } from '../runner/handles.ts'
import { joinTask, termsOf } from '../runner/join.ts'
import { areElsewhere, keyConflict, keyUnreadable } from '../runner/key-conflict.ts'
import { waitsInVain } from '../runner/principal-left.ts'
import { assertMayBeInMemory, delivered, notStored, queueFull, storeAway, unkept, unsure } from '../runner/refusals.ts'
import type { Runner } from '../runner/runner.ts'
import type { Arrival, EarlyAnswer, Kept, StoredPlace, Terms } from '../runner/stored.ts'
import { isLive } from '../stores/engine/row.ts'
import { detachCaller, link } from '../tasks/callers.ts'
import { reportFollowUp } from '../tasks/follow-up.ts'
import { showEntry } from '../tasks/history.ts'
import type { Ruling } from '../tasks/ruling.ts'
import type { Task } from '../tasks/task.ts'
import { asStored, type Content, contentOf, recordOf } from './record.ts'
import { reportStorability, tellLimits } from './storability.ts'
import type { StoredTasks } from './stored-tasks.ts'
import type { Said } from './waiting-callers.ts'

/** A caller waits no longer for a task to be ended of which it hears that it is not stored. */
const END_MS = 500
/** A store that does not answer is asked again: what it may have done already counts once. */
const TRIES_AFTER_MS = [50, 250]
/** Codes of a store that says itself that it cannot be used. */
const AWAY: ReadonlySet<string> = new Set(['STORAGE_UNAVAILABLE', 'STORAGE_NEWER'])

export class StorePlace implements StoredPlace {
  readonly #durable: StoredTasks
  readonly #runner: Runner
  readonly #admission: Admission
  readonly #methods: ReadonlySet<string>
  readonly #known = new Set<string>()

  constructor(durable: StoredTasks, admission: Admission) {
    this.#durable = durable
    this.#runner = durable.state.runner
    this.#admission = admission
    const { persistMethods = UNSAFE_METHODS } = this.#runner.host.settings
    this.#methods = new Set(persistMethods.map((method) => method.toUpperCase()))
  }

  takes({ method, options }: Call, isHandedOver: boolean): boolean {
    if (options.orderKey !== undefined) return true
    return options.sensitive !== true && (isHandedOver || this.#methods.has(method))
  }

  reportStorability(call: Call): void {
    reportStorability(call, this.#known, this.#runner)
  }

  enqueue(call: Call, terms: Terms): Promise<Kept | undefined> {
    return this.#durable.callers.inLine(call, () => this.#enqueue(call, terms))
  }

  async #enqueue(call: Call, terms: Terms): Promise<Kept | undefined> {
    const content = await this.#contentOf(call, true)
    if (!content) return undefined
    const task = this.#admission.newTask(call, terms.createdAt)
    const enqueued = await this.#store(task, call, content, terms).catch((error) => unkept(call, error))
    if (!enqueued) return undefined
    const { taskId, outcome } = enqueued
    const deduplicated = outcome === 'duplicate'
    const known = this.#durable.state.find(taskId)
    if (!deduplicated) this.#begin(task)
    else if (known?.waiter) known.isHandedOver = true
    const isStalled = this.#durable.loop.failingSinceAt !== undefined
    const { durability } = this.#durable
    return { taskId, key: call.key, durability, deduplicated, ...(isStalled && { isStalled }) }
  }

  readonly take: StoredPlace['take'] = (arrival) =>
    this.#durable.callers.inLine(arrival.call, () => this.#take(arrival))

  async #take(arrival: Arrival): Promise<EarlyAnswer | undefined | null> {
    const { call, own, terms, asks } = arrival
    const content = await this.#contentOf(call, false)
    if (!content) return undefined
    const isSent = own.outcome !== OUTCOME_RELEASED
    const task = this.#admission.newTask(call, terms.createdAt)
    const ruling = asks ? this.#ask(task, call, own, terms) : undefined
    const heldUntil = this.#runner.host.now() + (ruling?.holdMs ?? 0)
    // a task that is stored brings the hold along
    const tellHold = () => this.#durable.holdLane(call.principal, call.origin, heldUntil)
    if (ruling?.kind === 'exhausted') {
      tellHold()
      return { answer: this.#giveUp(task, ruling) }
    }
    // the core trapped
    if (isSent && !ruling) return delivered(own, null)
    // one that has to wait is as good as deferred; any other deferring caller gets the first attempt's answer
    const isDeferred = call.options.mode === 'defer' && arrival.mustWait
    try {
      // while its attempt goes on here, no other process is to make one
      const isHome = !isDeferred || call.underWay !== undefined
      const enqueued = await this.#store(task, call, content, terms, isSent ? ruling : undefined, isHome)
      const isNew = enqueued?.outcome === 'stored'
      if (!isNew) tellHold()
      if (!isNew) return enqueued && (await this.#join(enqueued.taskId, arrival))
      return { answer: this.#answer(task, call, terms, isDeferred, ruling), task }
    } catch (error) {
      tellHold()
      if (!isTolerable(error, arrival)) throw error
      const what = isSent ? 'was sent once and is not tried again' : 'is sent without being stored'
      this.#reportUnstored(error, `${call.method} ${call.origin} ${what}`)
      return isSent ? delivered(own, isFull(error) ? 'queue_full' : 'not_durable') : undefined
    }
  }

  settleOwn(task: Task, call: Call, ended: Finished<RepeatAnswer>): void {
    const ruling = this.#ask(task, call, ended, termsOf(call, task.createdAt))
    if (ruling) this.#durable.settler.settleOwn(task, ruling)
  }

  /** The storable content of a call; undefined: it stays in memory, and `degraded` has said why. Throws where it must be stored, and may not. */
  async #contentOf(call: Call, isHandedOver: boolean): Promise<Content | undefined> {
    const { host, sanitizer } = this.#runner
    const { orderKey, sensitive } = call.options
    const isOrdered = orderKey !== undefined
    if (isOrdered && sensitive)
      throw notStored(`${call.method} ${call.origin}`, 'it is sensitive; leave out one of the two')
    if (this.#durable.isAway) return undefined
    host.onTask?.(call)
    const content = await contentOf(call, sanitizer, host.settings)
    const isRefused = 'code' in content
    if (isRefused) {
      if (isOrdered) throw notStored(content.what, content.why)
      assertMayBeInMemory(host.settings, call, isHandedOver, { reason: content.code, why: content.why })
    }
    tellLimits(call, content, host)
    return isRefused ? undefined : content
  }

  #reportUnstored(error: unknown, what: string): void {
    const message = `${what}: ${this.#runner.words(error)}`
    const { host } = this.#runner
    if (isFull(error)) host.degraded('storage_full', message, 'full')
    // the store is well: what it was given could not have been read back
    else if (error instanceof RangeError) host.degraded('not_durable', message, message)
    else this.#durable.state.reportOutage(message)
  }

  /** Asks the core about an attempt that was made, or given back, before there was a task. undefined: it trapped. */
  #ask(task: Task, call: Call, own: Finished<RepeatAnswer>, terms: Terms): Ruling | undefined {
    const { core, policies } = this.#runner
    return this.#runner.guard(() => {
      const slot = policies.with(call.policy, (policy) =>
        adopt(core, { ...askedOf(this.#runner, call, terms, policy, own.startedAt), ...UNTRIED }),
      )
      if (slot === NONE) return undefined
      task.slot = slot
      const ruling = this.#runner.rule(task, own, this.#runner.host.now())
      task.slot = -1
      return ruling
    })
  }

  /** Ends a call before it was ever stored: a dead letter of this process. */
  #giveUp(task: Task, ruling: Ruling): Promise<unknown> {
    return new Promise((resolve, reject) => {
      task.waiter = { resolve, reject }
      this.#runner.giveUp(task, ruling)
    })
  }

  #answer(task: Task, call: Call, { waitUntil }: Terms, isDeferred: boolean, ruling?: Ruling): Promise<unknown> {
    const { announcer, host } = this.#runner
    const [entry] = task.entries
    return new Promise((resolve, reject) => {
      task.waiter = { resolve, reject }
      task.waitUntil = waitUntil
      if (!isDeferred || call.underWay) this.#durable.callers.begin(task, waitUntil)
      if (isDeferred) announcer.answerDeferred(task)
      else if (call.options.mode === 'defer')
        host.settings.clock.after(patienceOf(call), () => announcer.answerDeferred(task))
      this.#runner.putAside(task)
      this.#begin(task)
      if (ruling && entry) reportFollowUp(entry, ruling, host, task, this.#runner)
      // its principal may have left during the first attempt
      if (waitsInVain(task, host)) this.#durable.callers.endWait(task)
      if (!task.waiter || !call.signal) return
      link(task, call.signal, {
        cancel: (reason) => this.#abort(task, reason),
        leave: () => {
          this.#runner.goOnAlone(task)
          this.#durable.callers.stopWaiting(task)
        },
      })
    })
  }

  /** Waits for a stored task of the same request: its answer is the caller's. null, undefined: it has ended, as in `take`. */
  async #join(taskId: string, { call, own, terms, mustWait }: Arrival): Promise<EarlyAnswer | undefined | null> {
    const { state, callers } = this.#durable
    let record = await state.store.get(taskId)
    if (!record || !isLive(record)) {
      // there is no answer to wait for any more, and a call that was sent has one of its own
      if (own.outcome !== OUTCOME_RELEASED) return { answer: new Promise((give) => give(deliver(own))) }
      // in an order, or to wait in the store, it can be only as the task that keeps its key
      const back = { spacingMs: 0, acceptDuplicateRisk: false }
      const [said] = mustWait ? await state.store.redrive([taskId], back) : []
      record = said === 'redriven' ? await state.store.get(taskId) : undefined
      if (!record) return call.options.orderKey === undefined ? undefined : null
      this.#durable.workOffered()
    }
    assertThere(call)
    const same = state.taskOf(record)
    const answer = joinTask(this.#runner, same, call, own, terms.createdAt, (reason) => this.#abort(same, reason))
    callers.follow(same)
    return { answer }
  }

  #begin(task: Task): void {
    const { announcer, registry, host } = this.#runner
    // put back, a dead letter in memory would be a second task of this key
    const same = task.key === null ? undefined : registry.withKey(task.principal, task.key, host.now())
    if (same?.status === 'EXHAUSTED') registry.purge([same])
    announcer.queued(task)
    const { state, leadership } = this.#durable
    this.#durable.registerStored(task)
    // a caller that left meanwhile may have given up the home
    if (state.hasSole) leadership.stayHome().catch(state.failed)
  }

  /** Ends the waiting of a caller who has aborted; the task is cancelled where it is. */
  #abort(task: Task, reason: unknown): void {
    detachCaller(task)?.reject(reason)
    // now, whenever the store answers: its hooks may be asked just now
    if (task.lease) this.#durable.abort(task, reason)
    void this.#durable.callers.endThere(task.taskId, undefined, () => this.#durable.cancel(task.taskId, reason, true))
  }

  /** undefined: the store cannot be had, by its own word, and tasks stay in memory until it can. Any other failure throws. */
  async #store(
    task: Task,
    call: Call,
    content: Content,
    terms: Terms,
    ruling?: Ruling,
    waits = false,
  ): Promise<Enqueued | undefined> {
    const fingerprint = (await this.#admission.dedupe.fingerprint(call)) ?? `unknown ${task.taskId}`
    const { principal, taskId } = task
    const { state } = this.#durable
    const isHome = waits || state.isSole(call, content)
    const now = this.#runner.host.now()
    const timing = { ...terms, now, dueInMs: ruling?.why?.delayMs ?? 0 }
    const ids = { taskId, fingerprint, principal, home: isHome ? state.owner : null }
    const record = { ...recordOf(ids, call, content, timing), ...this.#attempted(task, ruling) }
    this.#durable.state.pending.begin(taskId)
    this.#durable.counts.writing(taskId)
    let stored = false
    try {
      const trying = async () => {
        const enqueued = await this.#try(record, call)
        // said once more as one that no caller waits for: the task that is here goes on without its own caller, too
        const isAlone = enqueued?.outcome === 'duplicate' && (!waits || call.options.mode === 'defer')
        return isAlone ? this.#try({ ...record, home: null }, call) : enqueued
      }
      const enqueued = await (isHome ? this.#durable.callers.enter(trying) : this.#try(record, call))
      assertThere(call)
      if (!enqueued) return undefined
      if (enqueued.outcome === 'conflict') throw await this.#conflict(call, enqueued.taskId)
      if (enqueued.outcome === 'unreadable') throw keyUnreadable(call, enqueued.taskId)
      if (enqueued.outcome === 'full') throw await this.#full()
      stored = enqueued.outcome === 'stored'
      task.setRecord(asStored(record, now))
      task.nextAttemptAt = now + record.dueInMs
      if (stored && record.holdLaneForMs !== undefined) this.#durable.state.shareHold(task)
      return enqueued
    } finally {
      if (call.isLeft) void this.#unstore(taskId, call)
      // who is told that it is stored lets in what has come of it meanwhile, once its caller is there
      if (!stored) {
        // a lease that came all the same is given back, which takes a turn
        this.#durable.state.pending.end(taskId, false)
        this.#durable.counts.written(taskId)
        this.#runner.tickSoon()
      }
      if (!stored && isHome) this.#durable.callers.callerLeft()
    }
  }

  async #conflict(call: Call, taskId: string): Promise<IdempotencyConflictError> {
    // only words depend on it
    const other = await this.#durable.state.store.get(taskId).catch(() => undefined)
    return keyConflict(call, `task ${taskId}`, other !== undefined && areElsewhere(other.targetUrl, call.url))
  }

  async #full(): Promise<QueueFullError> {
    const { state, counts: known } = this.#durable
    const counts = await state.store.counts().catch(() => undefined)
    return queueFull(this.#runner, counts?.exhausted ?? known.deadLetters)
  }

  async #away({ taskId }: NewTask, call: Call, error: unknown): Promise<void> {
    const fault = `the store is not available (${this.#runner.words(error)})`
    // later calls meet it too: it says nothing of this task alone
    this.#admission.obstacle = storeAway(`${fault}: ${unsure(this.#mayBeJoined(call))}`)
    this.#durable.away(`${fault}: until it is, new tasks stay in memory and end with the page`)
    await this.#unsure(taskId, call)
  }

  /** Ends a task that may be in the store before its caller hears that it is not. Gives what may be all the same. */
  async #unsure(taskId: string, call: Call): Promise<string> {
    let disarm = (): void => {}
    const { clock } = this.#runner.host.settings
    const late = new Promise<undefined>((give) => (disarm = clock.after(END_MS, () => give(undefined))))
    const said = await Promise.race([this.#unstore(taskId, call), late])
    disarm()
    return unsure(this.#mayBeJoined(call), said)
  }

  /**
   * Ends a task that may be in the store all the same: its caller does not know that, so it must not run. Where another call can have its key,
   * that one may know it as its own task (S1): it stays, or, if its caller left, is given up so that it can go on.
   */
  async #unstore(taskId: string, call: Call): Promise<Said | undefined> {
    const isShared = this.#mayBeJoined(call)
    if (isShared && !call.isLeft) return undefined
    const isGivenUp = call.isLeft && (isShared || !call.signal?.aborted)
    return this.#durable.callers.endThere(taskId, isGivenUp ? 'wait_exceeded' : undefined)
  }

  /** Whether another call can have this one's key: it is the caller's own, or made of the content. */
  #mayBeJoined({ key, made }: Call): boolean {
    return key !== null && (!made || this.#runner.host.settings.idempotency.mode === 'content')
  }

  /** The fields that a first attempt leaves in the record; none if there was no attempt. */
  #attempted(task: Task, ruling: Ruling | undefined): Partial<NewTask> {
    if (!ruling?.why) return {}
    task.log(ruling.entry)
    const { serverMs, phase, previousDelayMs, marks } = ruling.why
    return {
      attemptNumber: ruling.attempts,
      serverMs,
      phase,
      previousDelayMs,
      marks,
      ...(ruling.holdMs > 0 ? { holdLaneForMs: ruling.holdMs } : {}),
      log: [showEntry(task.taskId, ruling.entry)],
    }
  }

  async #try(record: NewTask, call: Call): Promise<Enqueued | undefined> {
    for (let tries = 0; ; tries++) {
      const turn = this.#durable.callers.turns.get(call)
      if (turn) await turn.before
      // whatever was asked of the store before is done before
      this.#admission.assertStays(call)
      try {
        const enqueuing = this.#durable.state.store.enqueue([record])
        turn?.ask()
        const [enqueued] = await enqueuing
        if (!enqueued) throw new TypeError('the store gave no answer for the task')
        // the id is its own: an earlier try was done, and its answer lost
        const own = enqueued.outcome === 'duplicate' && enqueued.taskId === record.taskId
        return own ? { ...enqueued, outcome: 'stored' } : enqueued
      } catch (error) {
        const afterMs = TRIES_AFTER_MS[tries]
        // asked again it would say the same: it is full, or was given what is longer than it keeps
        if (error instanceof StorageFullError || error instanceof RangeError) throw error
        // it has tried again by itself, or a later version has it now
        if (AWAY.has((error as RedriveError).code)) {
          await this.#away(record, call, error)
          return undefined
        }
        if (afterMs === undefined) {
          const fault = `the store fails (${this.#runner.words(error)})`
          const words = `${fault}: ${await this.#unsure(record.taskId, call)}`
          throw new RedriveError('STORAGE_UNAVAILABLE', words, { cause: error })
        }
        await new Promise<void>((resolve) => this.#runner.host.settings.clock.after(afterMs, resolve))
      }
    }
  }
}

const isFull = (error: unknown): boolean => error instanceof QueueFullError || error instanceof StorageFullError

/** Whether a call that cannot be stored ends as plain fetch would: it was sent, or it is sent now (S18). */
function isTolerable(error: unknown, { call, own, mustWait }: Arrival): boolean {
  if (call.isLeft) return false
  if (own.outcome !== OUTCOME_RELEASED) return !(error instanceof IdempotencyConflictError)
  const isStoreFault = error instanceof StorageFullError || (error as RedriveError).code === 'STORAGE_UNAVAILABLE'
  return !mustWait && isStoreFault
}
