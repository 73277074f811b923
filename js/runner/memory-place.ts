/** The place of tasks that end with their process: takes calls in, and dead letters back. */

import { RedriveError, WasmUnavailableError } from '../api/errors.ts'
import type { RetryTask } from '../api/task.ts'
import type { QueueFullError } from '../api/task-errors.ts'
import type { Call } from '../call/call.ts'
import type { Finished, RepeatAnswer } from '../call/transport.ts'
import { admit } from '../core/calls.ts'
import { NONE, OP_CANCEL, OP_KEEP_DEAD, OUTCOME_RELEASED } from '../core/codes.ts'
import { handedOver } from '../options/background.ts'
import { policyDefaults } from '../options/policy.ts'
import { FOREVER } from '../platform/clock.ts'
import type { Task } from '../tasks/task.ts'
import type { Dedupe } from './dedupe.ts'
import { askedOf } from './handles.ts'
import { termsOf } from './join.ts'
import { delivered, keyExpired, queueFull } from './refusals.ts'
import type { Runner } from './runner.ts'
import type { Arrival, EarlyAnswer, Kept, Place, Terms } from './stored.ts'

/** The part of the admission that tasks in memory need. */
interface AdmissionPorts {
  readonly dedupe: Dedupe
  newTask(call: Call, createdAt: number): Task
}

/** Keeps tasks in memory: admits them to the core and to the registry. */
export class MemoryPlace implements Place {
  readonly #runner: Runner
  readonly #admission: AdmissionPorts
  /** The room that dead letters take, as the core has it. */
  #kept = { count: 0, bytes: 0 }
  /** When the task that was admitted last may start; NaN: not before others of its order. */
  #dueAt = Number.NaN

  constructor(runner: Runner, admission: AdmissionPorts) {
    this.#runner = runner
    this.#admission = admission
  }

  /** Admits a call whose caller waits. undefined: the core trapped, or the queue is full and the call was sent once already. */
  take({ call, own, terms, asks }: Arrival): EarlyAnswer | undefined {
    const { host } = this.#runner
    const admitted = this.#runner.guard(() => ({ task: this.#admit(call, terms, asks ? own.startedAt : Number.NaN) }))
    if (!admitted) return undefined
    const { task } = admitted
    if (!task) {
      const full = this.#full()
      if (own.outcome === OUTCOME_RELEASED) throw full
      const what = `${call.method} ${call.origin} was sent once and is not tried again`
      host.degraded('storage_full', `${what}: ${full.message}`, 'full')
      return delivered(own, 'queue_full')
    }
    const answer = new Promise((resolve, reject) => {
      task.waiter = { resolve, reject }
      task.waitUntil = terms.waitUntil
      if (asks) this.#runner.settle(task, own)
      else this.#announce(task)
    })
    return { answer, task }
  }

  settleOwn(task: Task, call: Call, ended: Finished<RepeatAnswer>): void {
    const { core } = this.#runner
    call.underWay = undefined
    this.#runner.guard(() => {
      // the core takes a task with its first attempt made only as a new one
      core.call(OP_CANCEL, task.slot)
      this.#runner.trackSlot(task, this.#slot(call, termsOf(call, task.createdAt), ended.startedAt))
      this.#runner.settle(task, ended)
    })
  }

  enqueue(call: Call, terms: Terms): Kept {
    const task = this.#unlessTrapped(() => {
      const admitted = this.#admit(call, terms, Number.NaN)
      if (admitted) this.#announce(admitted)
      return admitted
    })
    if (!task) throw this.#full()
    return { taskId: task.taskId, key: call.key, durability: 'memory', deduplicated: false }
  }

  redrive(task: Task, acceptDuplicateRisk: boolean): RetryTask {
    const { call } = task
    const now = this.#runner.host.now()
    if (!call) throw new RedriveError('TASK_NOT_FOUND', `${task.what} has no request left to send`)
    const { keyTtlMs = policyDefaults.keyTtlMs } = call.policy
    const firstAt = task.entries.find(({ sent }) => sent)?.startedAt ?? Number.NaN
    const seenAt = task.key === null || acceptDuplicateRisk ? Number.NaN : firstAt
    if (seenAt + keyTtlMs < now) throw keyExpired(task.taskId)
    call.policy = handedOver(call)
    const isBack = this.#unlessTrapped(() => {
      const slot = this.#slot(call, { ...termsOf(call, now), waitUntil: FOREVER }, Number.NaN, task, seenAt)
      if (slot === NONE) return false
      this.#runner.registry.revive(task)
      task.revive(now)
      this.#runner.trackSlot(task, slot)
      this.#announce(task)
      return true
    })
    if (!isBack) throw this.#full()
    return this.#runner.show(task)
  }

  #full(): QueueFullError {
    return queueFull(this.#runner, this.#runner.registry.roomTaken().count)
  }

  #unlessTrapped<T>(work: () => T): T {
    const done = this.#runner.guard(() => ({ value: work() }))
    if (!done) throw new WasmUnavailableError(undefined)
    return done.value
  }

  #announce(task: Task): void {
    task.nextAttemptAt = Number.isNaN(this.#dueAt) ? this.#runner.host.now() : this.#dueAt
    this.#runner.announce(task)
    this.#runner.tickSoon()
  }

  /** `startedAt`: when an attempt of it began that has just ended; NaN: none has. */
  #admit(call: Call, terms: Terms, startedAt: number): Task | undefined {
    const slot = this.#slot(call, terms, startedAt)
    if (slot === NONE) return undefined
    const task = this.#admission.newTask(call, terms.createdAt)
    this.#runner.trackSlot(task, slot)
    this.#runner.registry.add(task)
    // another call may have the same key
    if (call.key !== null && !call.made) this.#admission.dedupe.remember(task, call)
    return task
  }

  /** `dead`: the dead letter that goes back, and takes no more room than it has. */
  #slot(call: Call, terms: Terms, startedAt: number, dead?: Task, seenAt?: number): number {
    const { core, orders, policies, registry } = this.#runner
    const { count, bytes } = registry.roomTaken(dead)
    if (count !== this.#kept.count || bytes !== this.#kept.bytes) core.call(OP_KEEP_DEAD, count, bytes)
    this.#kept = { count, bytes }
    const { orderKey } = call.options
    return policies.with(call.policy, (policy) => {
      const order = orderKey === undefined ? NONE : orders.of(call.principal, orderKey)
      const slot = admit(core, askedOf(this.#runner, call, terms, policy, startedAt), order, seenAt)
      this.#dueAt = core.at(1)
      return slot
    })
  }
}
