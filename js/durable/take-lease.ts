/**
 * Turns a lease into an attempt: the core adopts the task, its request is put together again, and it is sent.
 *
 * A lease that cannot become an attempt is given back. What the attempt comes to is left to `settle.ts`.
 */

import {
  type Carry,
  type ClaimedTask,
  type Lease,
  MOST_REFUNDS,
  type Settlement,
  type StoredTask,
} from '../api/store.ts'
import type { Call } from '../call/call.ts'
import { answeredOf } from '../call/fetch-repeat.ts'
import { notSent } from '../call/not-sent.ts'
import { nextHop } from '../call/redirects.ts'
import { adopt } from '../core/calls.ts'
import { MARK_SEE_OTHER, MARK_UNAUTHORIZED, NONE, OUTCOME_RELEASED, OUTCOME_VETOED } from '../core/codes.ts'
import { REDACTED } from '../core/sanitizer.ts'
import { FOREVER } from '../platform/clock.ts'
import { askedOf } from '../runner/handles.ts'
import { isAccepted } from '../stores/engine/rules.ts'
import { soundBody } from '../stores/engine/sound.ts'
import type { HeldLease } from '../tasks/course.ts'
import type { Task } from '../tasks/task.ts'
import { RENEWED_LEASE_MS } from './lease-terms.ts'
import { lacking, optionsOf } from './needs.ts'
import { reportUnreadable } from './notices.ts'
import { callOf } from './record.ts'
import type { StoredState } from './state.ts'
import type { StoreLoop } from './store-loop.ts'
import type { WaitingCallers } from './waiting-callers.ts'

/** A lease that came too early is asked for again after this long. */
const AGAIN_MS = 1_000
/** A lease of a task that another process has to send: the next one to look may have what it needs. */
const LEFT_MS = 10_000

/** Why a task cannot be sent, for its lease. */
type Damage = Pick<HeldLease, 'reason' | 'damage'>

export class LeaseStarter {
  readonly #state: StoredState
  readonly #loop: StoreLoop
  readonly #callers: WaitingCallers
  /** The core's notes on tasks whose store keeps none: the core wants them back with the next claim. */
  readonly #carries = new Map<string, Carry>()

  constructor(state: StoredState, loop: StoreLoop, callers: WaitingCallers) {
    this.#state = state
    this.#loop = loop
    this.#callers = callers
  }

  /** Starts the attempt that a lease permits. `endsAt`: on the queue's clock; `storeNow`: when the store gave it, on the store's. */
  startLease({ task: record, lease, body }: ClaimedTask, endsAt: number, storeNow: number): void {
    const { runner, leased, seen } = this.#state
    const { host } = runner
    if (this.#callers.isEndedHere(lease.taskId)) {
      this.giveBack(lease, 'it has ended for its caller: given back', { delayMs: 0, park: false })
      return
    }
    if (leased.has(lease.taskId)) {
      // lost while this process was away, and an attempt under the old lease has not ended yet: two must not be taken for one
      this.giveBack(lease, 'still under way under an older lease: given back', { delayMs: AGAIN_MS, park: false })
      return
    }
    const missing = lacking(record ?? {}, host.settings)
    if (missing.length > 0) {
      // its caller's process is gone, or the store does not go by what it needs
      const decision = `not sent: this queue has no ${optionsOf(missing)}; left to one that has`
      this.giveBack(lease, decision, { delayMs: LEFT_MS, park: (record.refunds ?? 0) >= MOST_REFUNDS - 1 })
      return
    }
    let task: Task
    let atHand: Uint8Array | undefined
    try {
      if (record?.taskId !== lease.taskId) throw new TypeError('its lease is that of another task')
      atHand = soundBody(body, record.bodyBytes)
      task = this.#state.taskOf(record, atHand)
    } catch (error) {
      this.#parkUnreadable(lease, error)
      return
    }
    const { token, forMs } = lease
    task.lease = { token, forMs, endsAt, renewAt: endsAt - forMs + this.#loop.terms.renewAfterMs(forMs) }
    leased.set(record.taskId, task)
    const slot = runner.guard(() => this.#adopt(task, record, host.now() - storeNow))
    // the core is gone, and the lease with it
    if (slot === undefined || slot === NONE) return
    task.slot = slot
    if (!seen.add(record.taskId)) host.events.emit('resumed', { task: runner.show(task) })
    // one that is said to have no body, and has a type of it, may have lost its length to other code
    const mayHaveBody = record.bodyBytes > 0 || 'content-type' in record.headers
    const isAnswered = (this.#carried(record).marks & MARK_SEE_OTHER) !== 0
    if (isAnswered && task.call && answeredOf(task.call).seeOther === undefined) {
      void this.#startOnce(task, () => this.#readSeeOther(task, record))
    } else if (task.call?.rebuilt && !isAnswered && mayHaveBody && !atHand) {
      void this.#startOnce(task, () => this.#readBody(task, record))
    } else runner.start(task)
  }

  /** Gives the core the task as a slot. `offset`: this queue's clock minus the store's. */
  #adopt(task: Task, record: StoredTask, offset: number): number {
    const { runner } = this.#state
    const call = task.call as Call
    const { phase, previousDelayMs, marks = 0 } = this.#carried(record)
    task.unauthorized = (marks & MARK_UNAUTHORIZED) !== 0
    // others have enqueued it: it does not end with its caller's patience
    const waitUntil = isAccepted(record) ? FOREVER : this.#callers.until(task)
    const terms = { createdAt: runner.host.now(), expiresAt: FOREVER, waitUntil }
    return runner.policies.with(call.policy, (policy) =>
      adopt(runner.core, {
        ...askedOf(runner, call, terms, policy, Number.NaN),
        priority: record.priority,
        attempts: record.attemptNumber,
        refunds: record.refunds,
        phase,
        previousDelayMs,
        marks,
        deadlineAt: record.deadlineAt + offset,
        deadlineReason: record.deadlineReason,
      }),
    )
  }

  /** Keeps the core's notes of a task that goes on, if its store does not. */
  noteCarry({ taskId, record }: Task, next: Settlement['next']): void {
    if ('carry' in next && next.carry && record && !('marks' in record)) this.#carries.set(taskId, next.carry)
  }

  forgetCarry(taskId: string): void {
    this.#carries.delete(taskId)
  }

  /** The core's last notes: from the record, else from this process, if it had the task before. */
  #carried(record: StoredTask): Carry {
    return 'marks' in record ? record : (this.#carries.get((record as StoredTask).taskId) ?? record)
  }

  /** Starts a task once the rest of its request has been read. `read` says what is wrong with it, if anything is. */
  async #startOnce(task: Task, read: () => Promise<Damage | undefined>): Promise<void> {
    const { runner, failed } = this.#state
    const { host } = runner
    try {
      const damage = await read()
      // the core gave up, or the queue closed, meanwhile
      if (task.slot < 0) return
      if (!damage) {
        runner.start(task)
        return
      }
      if (task.lease) Object.assign(task.lease, damage)
      runner.settle(task, notSent(OUTCOME_VETOED, host.now()))
    } catch (error) {
      failed(error)
      runner.settle(task, notSent(OUTCOME_RELEASED, host.now()))
    }
  }

  async #readBody(task: Task, record: StoredTask): Promise<Damage | undefined> {
    const { runner, store } = this.#state
    const stored = await store.body(record.taskId)
    const body = soundBody(stored, record.bodyBytes)
    if (body && task.slot >= 0) task.call = callOf(record, body, runner.host.settings)
    if (body || (record.bodyBytes === 0 && !stored)) return undefined
    // told when the store has ended it for that: another process may have delivered it, and its body is gone for that reason
    const what = stored ? 'its body is not as long as it was' : 'its body is gone, or was changed where it was stored'
    return { reason: 'body_missing', damage: new TypeError(what) }
  }

  /** Reads from the history of a task the GET that a redirect has made of its request. */
  async #readSeeOther(task: Task, { taskId, targetUrl }: StoredTask): Promise<Damage | undefined> {
    const { attempts } = await this.#state.store.attempts(taskId, { limit: 100 })
    const url = attempts.flatMap(({ data }) => data?.seeOther ?? []).pop()
    // in a store there may be anything; and a secret is never kept, so that a part of the address is missing
    const next = url && !`${url}`.includes(REDACTED) ? nextHop(url, targetUrl) : undefined
    if (!next) return { reason: 'not_retryable' }
    if (task.call) answeredOf(task.call).seeOther = next.href
    return undefined
  }

  /** Parks a record that another version, or a hand, has written: no process asks for it again until its principal starts anew. */
  #parkUnreadable(lease: Lease, error: unknown): void {
    reportUnreadable(this.#state.runner, lease.taskId, error, 'it is parked')
    this.giveBack(lease, 'unreadable: parked', { delayMs: RENEWED_LEASE_MS, park: true })
  }

  /** Settles a lease whose task was not sent, as if it had never been given. */
  giveBack(lease: Lease, decision: string, how: { readonly delayMs: number; readonly park: boolean }): void {
    const startedAt = this.#state.runner.host.now()
    const none = { attemptNumber: 0, startedAt, durationMs: 0, responseStatus: null, errorMessage: null }
    const log = { taskId: lease.taskId, ...none, decision }
    const next = { kind: 'release', refund: true, ...how } as const
    this.#loop.addEnding({ task: undefined, settlement: { lease, log, next }, answered: () => {} })
  }
}
