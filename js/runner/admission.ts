/** How a call becomes a task: after a failed first attempt, by `enqueue`, held back or in an order, or from the dead letters. */

import { QueueFullError, RedriveError, WasmUnavailableError } from '../api/errors.ts'
import type { RetryTask } from '../api/task.ts'
import { deliver, type Finished } from '../call/attempt.ts'
import type { Call } from '../call/call.ts'
import { adopted, repeatableOf } from '../call/fetch-repeat.ts'
import { notSent } from '../call/not-sent.ts'
import type { RepeatAnswer } from '../call/transport.ts'
import { CLASS_RETRY, NONE, OUTCOME_NETWORK_ERROR, OUTCOME_OFFLINE, OUTCOME_RELEASED } from '../core/codes.ts'
import type { Keys } from '../core/keys.ts'
import { admit } from '../core/queue-calls.ts'
import { uuid7Maker } from '../platform/random.ts'
import { Task } from '../tasks/task.ts'
import { circuitOpen } from './circuit-open.ts'
import { Dedupe } from './dedupe.ts'
import { flagsOf } from './flags.ts'
import type { Runner } from './runner.ts'
import type { EarlyAnswer, Kept, Place, Terms } from './stored.ts'

const FOREVER = Number.POSITIVE_INFINITY
const DEFAULT_WAIT_MS = 30_000

interface CoreTerms extends Terms {
  /** The caller's own first attempt has just ended. */
  readonly started: boolean
}

const isLive = ({ status }: Task) => status === 'PENDING' || status === 'IN_FLIGHT'
const tooLate = (task: Task, waitMs: number) =>
  `${task.what} is under way as task ${task.taskId}, longer than waitMs ${waitMs}`

export class Admission {
  readonly dedupe: Dedupe
  readonly #runner: Runner
  /** The way into the store; undefined until it is open. */
  place: Place | undefined
  readonly #nextTaskId: (now: number) => string
  /** Principals that left and had everything of theirs deleted: calls of theirs that still run leave nothing either. */
  readonly #gone = new Set<string | null>()

  constructor(runner: Runner, loadKeys: () => Promise<Keys>) {
    this.#runner = runner
    this.dedupe = new Dedupe(runner.host, runner.registry, loadKeys)
    this.#nextTaskId = uuid7Maker(runner.host.draw)
  }

  /** Another principal is there; `purged`: with the one that has left all that was theirs. */
  switched(from: string | null, to: string | null, purged: boolean): void {
    if (purged) this.#gone.add(from)
    this.#gone.delete(to)
  }

  /**
   * What the caller's first attempt has to wait for; undefined: nothing. Resolves with the answer of a call that became
   * a task at once: its origin asked everybody to wait, it is one of an order, or it came too late to be sent.
   */
  beforeSending(call: Call, createdAt: number): Promise<EarlyAnswer | undefined> | undefined {
    if (this.#runner.stopped) return undefined
    const { orderKey, expiresAt = FOREVER } = call.options
    const first = this.place && this.#runner.host.settings.persist === 'before-send' && this.#isStored(call)
    const held = this.#runner.gates.heldUntil(call.origin) > createdAt
    const early = orderKey !== undefined || expiresAt < createdAt || held || first === true
    const opensAt = this.#runner.gates.opensAt(call.origin, early)
    if (opensAt !== undefined) return Promise.resolve({ answer: circuitOpen(call, opensAt, this.#runner.host) })
    if (call.key !== '' && !early && !this.#mayBeKnown(call)) return undefined
    return this.#beforeSending(call, createdAt, early)
  }

  async #beforeSending(call: Call, createdAt: number, early: boolean): Promise<EarlyAnswer | undefined> {
    if (call.key === '') await this.dedupe.giveKey(call)
    while (this.#mayBeKnown(call)) {
      const same = await this.dedupe.find(call)
      if (early && same && isLive(same)) {
        return { answer: this.join(same, call, notSent(OUTCOME_RELEASED, createdAt), createdAt) }
      }
      if (same) break
    }
    if (!early) return undefined
    const content = this.#isStored(call) ? await this.place?.contentOf(call) : undefined
    if (!content) return this.#isEarly(call, createdAt) ? this.hold(call, createdAt) : undefined
    const terms = { createdAt, ...this.#fetchTerms(call, createdAt) }
    if (!this.#isEarly(call, createdAt)) return (this.place as Place).first(call, content, terms)
    const held = this.#runner.gates.heldUntil(call.origin) > createdAt || terms.expiresAt < createdAt
    const stored = this.place?.hold(call, content, terms, held && call.options.orderKey === undefined)
    return (await stored) ?? this.hold(call, createdAt)
  }

  /** What must wait also where it cannot be stored. */
  #isEarly({ options, origin }: Call, createdAt: number): boolean {
    const { orderKey, expiresAt = FOREVER } = options
    return orderKey !== undefined || expiresAt < createdAt || this.#runner.gates.heldUntil(origin) > createdAt
  }

  #isStored(call: Call): boolean {
    return this.place?.takes(call) === true
  }

  /** An attempt that makes no task: its lane learns how its server does, and what that asks of everybody. */
  observeUntracked(call: Call, finished: Finished): void {
    const { origin, policy, principal } = call
    const runner = this.#runner
    const lane = runner.lanes.find(principal, origin)
    if (lane === undefined || runner.stopped) return
    runner.guard(() => runner.rulings.observeUntracked(adopted(call, finished), lane, policy, runner.host.now()))
    // a success may have opened a gate
    runner.stored?.roomMade()
    runner.tickSoon()
  }

  /** The caller's first attempt failed in a way that may pass. Settles as the caller is to be answered. */
  async afterFailure(call: Call, first: Finished, createdAt: number): Promise<unknown> {
    const finished = adopted(call, first)
    const { host } = this.#runner
    if (this.#gone.has(call.principal)) return deliver(finished)
    // one of an order waits for its turn, one in content mode for its key; this one went out while there was no core
    if (call.options.orderKey !== undefined || call.key === '') return deliver(finished)
    if (!finished.answer && repeatableOf(call).isFinal(finished.error)) return deliver(finished)
    if (call.addedCrossOrigin && finished.outcome === OUTCOME_NETWORK_ERROR) {
      const { method, origin } = call
      const remedy = "if its preflight refuses the key's header, take it out of idempotency.origins"
      host.degraded('maybe_cors', `${method} ${origin} failed without an answer; ${remedy}`, origin)
    }
    // being offline is no fault of the server, but it is as passing a failure as any
    const outcome = finished.outcome === OUTCOME_OFFLINE ? OUTCOME_NETWORK_ERROR : finished.outcome
    while (this.#mayBeKnown(call)) {
      const same = await this.dedupe.find(call).catch((conflict) => {
        finished.answer?.discard()
        throw conflict
      })
      if (same && isLive(same)) return this.join(same, call, finished, createdAt)
      if (same) break
    }
    const content = this.#isStored(call) ? await this.place?.contentOf(call) : undefined
    const { core, policies } = this.#runner
    const flags = flagsOf(call, host)
    const meaning = this.#runner.guard(() =>
      policies.with(call.policy, (policy) => core.classify(policy, outcome, finished.status, flags)),
    )
    if (meaning !== CLASS_RETRY) {
      this.observeUntracked(call, finished)
      return deliver(finished)
    }
    const terms = { createdAt, ...this.#fetchTerms(call, createdAt) }
    const kept = content && (await this.place?.adopt(call, content, { ...finished, outcome }, terms))
    if (kept) return kept.answer
    // a core that traps here must not cost the caller its answer
    const task = this.#runner.guard(() => {
      const held = this.#admit(call, { ...terms, started: true })
      if (!held) {
        const what = `${call.method} ${call.origin}`
        host.degraded('storage_full', `the queue is full: ${what} was sent once and is not tried again`, 'full')
      }
      return held
    })
    if (!task) return deliver(finished)
    return new Promise((resolve, reject) => {
      task.waiter = { resolve, reject }
      this.#runner.settle(task, finished)
    })
  }

  /** A call that must not be sent now becomes a task at once. undefined: the core trapped. */
  hold(call: Call, createdAt: number): EarlyAnswer | undefined {
    const { host } = this.#runner
    // one of an order waits for its turn; of any other the core says at once whether the wait is too long for its caller
    const ordered = call.options.orderKey !== undefined
    const terms = { createdAt, ...this.#fetchTerms(call, createdAt), started: !ordered }
    const admitted = this.#runner.guard(() => ({ task: this.#admit(call, terms) }))
    if (!admitted) return undefined
    const { task } = admitted
    if (!task) throw this.#full()
    const answer = new Promise((resolve, reject) => {
      task.waiter = { resolve, reject }
      if (ordered) this.#announce(task)
      // an attempt given back unsent
      else this.#runner.settle(task, notSent(OUTCOME_RELEASED, host.now()))
    })
    return { answer }
  }

  /** Queues a call that was not sent yet, or finds the task that it is one with. */
  async enqueue(call: Call, createdAt: number): Promise<Kept> {
    const kept = ({ taskId }: Task, deduplicated: boolean): Kept => {
      return { taskId, key: call.key, durability: 'memory', deduplicated }
    }
    if (call.key === '') await this.dedupe.giveKey(call)
    while (this.#mayBeKnown(call)) {
      const same = await this.dedupe.find(call)
      if (same) return kept(same, true)
    }
    const stored = this.#isStored(call) ? await this.place?.enqueue(call, createdAt) : undefined
    if (stored) return stored
    const expiresAt = call.options.expiresAt ?? FOREVER
    const task = this.#unlessTrapped(() => {
      const held = this.#admit(call, { createdAt, expiresAt, waitUntil: FOREVER, started: false })
      if (held) this.#announce(held)
      return held
    })
    if (!task) throw this.#full()
    return kept(task, false)
  }

  /** Whether there may be a task that the call is one with. Answered at once, so that an admission can follow at once. */
  #mayBeKnown({ key, made, fingerprint, principal }: Call): boolean {
    const unique = key === null || (made && fingerprint === undefined)
    return !unique && this.#runner.registry.withKey(principal, key, this.#runner.host.now()) !== undefined
  }

  /** The caller gets what the task gets, and its own answer if that takes longer than it waits. */
  join(task: Task, call: Call, own: Finished<RepeatAnswer>, createdAt: number): Promise<unknown> {
    const { host } = this.#runner
    const { mode, waitMs = DEFAULT_WAIT_MS } = call.options
    if (mode === 'defer') {
      own.answer?.discard()
      return Promise.resolve(repeatableOf(call).accepted(task.taskId, this.#runner.traceId(call)))
    }
    return new Promise((resolve, reject) => {
      const left = () => {
        disarm()
        call.signal?.removeEventListener('abort', onAbort)
        task.joined = task.joined.filter((waiter) => waiter !== joined)
      }
      const joined = {
        resolve: (value: unknown) => {
          left()
          own.answer?.discard()
          resolve(value)
        },
        reject: (error: unknown) => {
          left()
          own.answer?.discard()
          reject(error)
        },
      }
      const onAbort = () => joined.reject(call.signal?.reason)
      let disarm = () => {}
      const wait = () => {
        const leftMs = createdAt + waitMs - host.now()
        disarm = host.settings.clock.after(Math.max(0, leftMs), giveUp)
      }
      const giveUp = () => {
        // a timer holds 24.8 days at most and may wake early
        if (host.now() < createdAt + waitMs) return wait()
        left()
        const late = own.outcome === OUTCOME_RELEASED ? new RedriveError('WAIT_EXCEEDED', tooLate(task, waitMs)) : null
        if (late) reject(late)
        else new Promise((give) => give(deliver(own))).then(resolve, reject)
      }
      task.joined = [...task.joined, joined]
      wait()
      call.signal?.addEventListener('abort', onAbort, { once: true })
      // while the two requests were compared
      if (call.signal?.aborted) onAbort()
    })
  }

  /** Puts a dead letter back with its key and history, its attempts counted anew. */
  redrive(task: Task, acceptDuplicateRisk: boolean): RetryTask {
    const { call } = task
    const now = this.#runner.host.now()
    if (!call) throw new RedriveError('TASK_NOT_FOUND', `${task.what} has no request left to send`)
    const { keyTtlMs = FOREVER } = call.policy
    const firstAt = task.entries.find(({ sent }) => sent)?.startedAt ?? now
    const keyEndsAt = task.key === null || acceptDuplicateRisk ? FOREVER : firstAt + keyTtlMs
    if (keyEndsAt < now) {
      const remedy = 'the server may do the work again; pass acceptDuplicateRisk: true to accept that'
      throw new RedriveError('KEY_EXPIRED', `${task.what}: its key is older than keyTtlMs ${keyTtlMs}, ${remedy}`)
    }
    const expiresAt = Math.min(keyEndsAt, call.options.expiresAt ?? FOREVER)
    const held = this.#unlessTrapped(() => {
      const slot = this.#slot(call, { createdAt: now, expiresAt, waitUntil: FOREVER, started: false })
      if (slot === NONE) return false
      this.#runner.registry.revive(task)
      task.revive(now)
      this.#runner.trackSlot(task, slot)
      this.#announce(task)
      return true
    })
    if (!held) throw this.#full()
    return this.#runner.show(task)
  }

  #unlessTrapped<T>(work: () => T): T {
    const done = this.#runner.guard(() => ({ value: work() }))
    if (!done) throw new WasmUnavailableError(undefined)
    return done.value
  }

  #announce(task: Task): void {
    const dueAt = this.#runner.core.dueAt(task.slot)
    task.nextAttemptAt = Number.isNaN(dueAt) ? this.#runner.host.now() : dueAt
    this.#runner.announce(task)
    this.#runner.tickSoon()
  }

  #fetchTerms(call: Call, createdAt: number): Pick<Terms, 'expiresAt' | 'waitUntil'> {
    const { mode, waitMs = DEFAULT_WAIT_MS, expiresAt = FOREVER } = call.options
    return { expiresAt, waitUntil: mode === 'defer' ? FOREVER : createdAt + waitMs }
  }

  #admit(call: Call, terms: CoreTerms): Task | undefined {
    const slot = this.#slot(call, terms)
    if (slot === NONE) return undefined
    const { registry } = this.#runner
    const task = this.newTask(call, terms.createdAt)
    this.#runner.trackSlot(task, slot)
    registry.add(task)
    // a key that somebody else may use again
    if (call.key !== null && !call.made) this.dedupe.remember(task, call)
    return task
  }

  newTask(call: Call, createdAt: number): Task {
    const { host } = this.#runner
    const taskId = this.#nextTaskId(host.now())
    host.onTask?.(call, taskId)
    return new Task(taskId, createdAt, call.principal, call)
  }

  #slot(call: Call, { createdAt, expiresAt, waitUntil, started }: CoreTerms): number {
    const { core, lanes, orders, host } = this.#runner
    const lane = lanes.of(call.principal, call.origin)
    const { priority = 0, orderKey } = call.options
    return this.#runner.policies.with(call.policy, (policy) => {
      const flags = flagsOf(call, this.#runner.host)
      const order = orderKey === undefined ? NONE : orders.of(call.principal, orderKey)
      const now = host.now()
      const terms = { createdAt, expiresAt, waitUntil, started }
      return admit(core, { now, lane, policy, priority, bytes: call.bytes, flags, order, ...terms })
    })
  }

  #full(): QueueFullError {
    const { host, limits } = this.#runner
    const held = `${host.settings.capacity} tasks or ${limits.capacityBytes} bytes of bodies`
    return new QueueFullError(`the queue holds ${held} already; raise capacity or capacityBytes, or wait for 'idle'`)
  }
}
