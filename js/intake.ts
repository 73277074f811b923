/** How a call becomes a task: after a failed first attempt, by `enqueue`, held back by its origin, or from the dead letters. */

import { deliver, type Finished, notSent, OUTCOME } from './attempt.ts'
import { NONE } from './core/none.ts'
import { QueueFullError, RedriveError, WasmUnavailableError } from './errors.ts'
import { isFinal } from './fetch-replay.ts'
import type { ResolvedPolicy } from './policy.ts'
import { policyFields } from './policy-fields.ts'
import type { Call } from './request.ts'
import type { Runner } from './runner.ts'
import { Task } from './task.ts'
import type { RetryTask } from './types.ts'
import { uuid7Maker } from './uuid7.ts'
import { CLASS, FLAG } from './verdict.ts'

const FOREVER = Number.POSITIVE_INFINITY
const DEFAULT_WAIT_MS = 30_000

/** What the core is told of a task beyond its request. */
interface Terms {
  readonly createdAt: number
  readonly expiresAt: number
  readonly waitUntil: number
  /** The caller's own first attempt has just ended. */
  readonly started: boolean
}

export class Intake {
  readonly #runner: Runner
  /** Named policies stay with the core; a call's own goes with its last task. */
  readonly #pinned = new Map<ResolvedPolicy, number>()

  readonly #nextTaskId: (now: number) => string

  constructor(runner: Runner) {
    this.#runner = runner
    this.#nextTaskId = uuid7Maker(runner.host.draw)
  }

  /** The caller's first attempt failed in a way that may pass. Settles as the caller is to be answered. */
  async adopt(call: Call, finished: Finished, createdAt: number): Promise<unknown> {
    const { host } = this.#runner
    if (!finished.answer && isFinal(call.transport, finished.error)) return deliver(finished)
    if (call.addedCrossOrigin && finished.outcome === OUTCOME.network) {
      const { method, origin } = call
      const remedy = "if its preflight refuses the key's header, take it out of idempotency.origins"
      host.degraded('maybe_cors', `${method} ${origin} failed without an answer; ${remedy}`, origin)
    }
    // being offline is no fault of the server, but it is as passing a failure as any
    const outcome = finished.outcome === OUTCOME.offline ? OUTCOME.network : finished.outcome
    // a core that traps here must not cost the caller its answer
    const task = this.#runner.guard(() => {
      const meaning = this.#withPolicy(call.policy, (policy) => {
        return this.#runner.core.classify(policy, outcome, finished.status, this.#flags(call))
      })
      if (meaning !== CLASS.retry) return undefined
      const held = this.#admit(call, { createdAt, ...this.#fetchTerms(call, createdAt), started: true })
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

  /** The origin asked everybody to wait before this call was first sent: it becomes a task at once. undefined: the core trapped. */
  hold(call: Call, createdAt: number): Promise<unknown> | undefined {
    const { host } = this.#runner
    const terms = { createdAt, ...this.#fetchTerms(call, createdAt), started: true }
    const admitted = this.#runner.guard(() => ({ task: this.#admit(call, terms) }))
    if (!admitted) return undefined
    const { task } = admitted
    if (!task) throw this.#full()
    return new Promise((resolve, reject) => {
      task.waiter = { resolve, reject }
      // an attempt given back unsent: so the core says at once whether the hold is too long for this call
      this.#runner.settle(task, notSent(OUTCOME.released, host.now()))
    })
  }

  /** Queues a call that was not sent yet. */
  enqueue(call: Call, createdAt: number): Task {
    const expiresAt = call.options.expiresAt ?? FOREVER
    const task = this.#unlessTrapped(() => {
      const held = this.#admit(call, { createdAt, expiresAt, waitUntil: FOREVER, started: false })
      if (held) this.#announce(held)
      return held
    })
    if (!task) throw this.#full()
    return task
  }

  /** Puts a dead letter back with its key and history, its attempts counted anew. */
  redrive(task: Task, acceptDuplicateRisk: boolean): RetryTask {
    const { call } = task
    const now = this.#runner.host.now()
    if (!call) throw new RedriveError('TASK_NOT_FOUND', `${task.what} has no request left to send`)
    const { keyTtlMs = FOREVER } = call.policy
    const firstAt = task.entries[0]?.startedAt ?? now
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
      task.revive()
      this.#runner.hold(task, slot)
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
    this.#runner.pumpSoon()
  }

  #fetchTerms(call: Call, createdAt: number): Pick<Terms, 'expiresAt' | 'waitUntil'> {
    const { mode, waitMs = DEFAULT_WAIT_MS, expiresAt = FOREVER } = call.options
    return { expiresAt, waitUntil: mode === 'defer' ? FOREVER : createdAt + waitMs }
  }

  #admit(call: Call, terms: Terms): Task | undefined {
    const slot = this.#slot(call, terms)
    if (slot === NONE) return undefined
    const { host, registry } = this.#runner
    const task = new Task(this.#nextTaskId(host.now()), terms.createdAt, host.settings.principal, call)
    this.#runner.hold(task, slot)
    registry.add(task)
    return task
  }

  #slot(call: Call, { createdAt, expiresAt, waitUntil, started }: Terms): number {
    const { core, lanes, host } = this.#runner
    const lane = lanes.of(call.origin)
    const { priority = 0 } = call.options
    return this.#withPolicy(call.policy, (policy) => {
      const flags = this.#flags(call)
      return core.admit(host.now(), lane, policy, priority, call.bytes, flags, createdAt, expiresAt, waitUntil, started)
    })
  }

  #withPolicy<T>(policy: ResolvedPolicy, use: (handle: number) => T): T {
    const { core, host } = this.#runner
    const pinned = this.#pinned.get(policy)
    if (pinned !== undefined) return use(pinned)
    const handle = core.policy(policyFields(policy))
    if (host.settings.policies.get(policy.policyId) === policy) {
      this.#pinned.set(policy, handle)
      return use(handle)
    }
    try {
      return use(handle)
    } finally {
      // a task that was admitted holds its own reference
      core.releasePolicy(handle)
    }
  }

  #flags(call: Call): number {
    return (
      (call.replayable ? FLAG.replayable : 0) |
      (call.key === null ? 0 : FLAG.hasKey) |
      (this.#runner.host.settings.credentials ? FLAG.hasResolver : 0)
    )
  }

  #full(): QueueFullError {
    const { capacity, capacityBytes } = this.#runner.host.settings
    const held = `${capacity} tasks or ${capacityBytes} bytes of bodies`
    return new QueueFullError(`the queue holds ${held} already; raise capacity or capacityBytes, or wait for 'idle'`)
  }
}
