/** A lease becomes an attempt: the core adopts the task, its request is put together again, and it is sent. */

import type { Carry, Lease, Settlement, StoredTask } from '../api/store.ts'
import type { Call } from '../call/call.ts'
import { notSent, UNSENT } from '../call/not-sent.ts'
import { NONE } from '../core/none.ts'
import { flagsOf } from '../runner/flags.ts'
import type { Task } from '../tasks/task.ts'
import { reportUnreadable } from './notices.ts'
import { callOf } from './record.ts'
import type { StoredTasks } from './stored-tasks.ts'
import { RENEWED_LEASE_MS } from './turn-schedule.ts'

const FOREVER = Number.POSITIVE_INFINITY
const DAY_MS = 86_400_000
/** A lease that came too early is asked for again after so long. */
const AGAIN_MS = 1_000
/** Of `marks`: the last attempt met a 401. */
const UNAUTHORIZED = 1

export class LeaseStarter {
  readonly #durable: StoredTasks
  /** What the core wants back with the next claim, of tasks whose store does not keep it. */
  readonly #carries = new Map<string, Carry>()

  constructor(durable: StoredTasks) {
    this.#durable = durable
  }

  /** `endsAt`: on the queue's clock; `storeNow`: when the store gave it, on its own. */
  startLease(record: StoredTask, lease: Lease, endsAt: number, storeNow: number): void {
    const { runner, loop } = this.#durable
    const { host } = runner
    if (loop.leased.has(record.taskId)) {
      // lost while this process was away, and an attempt under the old lease has not ended yet: two must not be taken for one
      this.giveBack(lease, 'still under way under an older lease: given back', { delayMs: AGAIN_MS, park: false })
      return
    }
    let task: Task
    try {
      task = this.#durable.taskOf(record)
    } catch (error) {
      this.#unreadable(record, lease, error)
      return
    }
    const { token, forMs } = lease
    task.lease = { token, forMs, endsAt, renewAt: endsAt - forMs + loop.terms.renewAfterMs(forMs) }
    loop.leased.set(record.taskId, task)
    const slot = runner.guard(() => this.#adopt(task, record, host.now() - storeNow))
    // the core is gone, and the lease with it
    if (slot === undefined || slot === NONE) return
    task.slot = slot
    if (!this.#durable.seen.add(record.taskId)) host.events.emit('resumed', { task: runner.show(task) })
    if (task.call?.rebuilt && record.bodyBytes > 0) void this.#load(task, record)
    else runner.start(task)
  }

  /** `offset`: this queue's clock minus the store's. */
  #adopt(task: Task, record: StoredTask, offset: number): number {
    const { runner, callers } = this.#durable
    const { core, lanes, host } = runner
    const call = task.call as Call
    const now = host.now()
    const { deadlineReason, idempotencyKey } = record
    const { totalBudgetMs = DAY_MS, keyTtlMs = DAY_MS } = record.policy
    const deadlineAt = record.deadlineAt + offset
    // the core watches a deadline as what it is, so that it names it
    const createdAt = deadlineReason === 'total_budget' && deadlineAt < FOREVER ? deadlineAt - totalBudgetMs : now
    const expiresAt = deadlineReason === 'expired' ? deadlineAt : FOREVER
    const firstAt = deadlineReason === 'key_expired' && idempotencyKey !== null ? deadlineAt - keyTtlMs : FOREVER
    const { phase, previousDelayMs, marks = 0 } = this.#carried(record)
    task.unauthorized = (marks & UNAUTHORIZED) !== 0
    return runner.policies.with(call.policy, (policy) =>
      core.adopt(
        now,
        lanes.of(record.principal, task.origin),
        policy,
        record.priority,
        record.bodyBytes,
        flagsOf(call, host),
        createdAt,
        expiresAt,
        callers.until(task),
        firstAt,
        record.attemptNumber,
        record.refunds,
        phase,
        previousDelayMs,
        marks,
        false,
      ),
    )
  }

  noteCarry({ taskId, record }: Task, next: Settlement['next']): void {
    if ('carry' in next && next.carry && record && !('marks' in record)) this.#carries.set(taskId, next.carry)
  }

  forgetCarry(taskId: string): void {
    this.#carries.delete(taskId)
  }

  /** What the core noted last: a store that does not keep it leaves it to the process that had the task. */
  #carried(record: StoredTask): Carry {
    return 'marks' in record ? record : (this.#carries.get((record as StoredTask).taskId) ?? record)
  }

  async #load(task: Task, record: StoredTask): Promise<void> {
    const { runner, store } = this.#durable
    const { host } = runner
    try {
      const body = await store.body(record.taskId)
      // the core gave up, or the queue closed, meanwhile
      if (task.slot < 0) return
      if (body) {
        task.call = callOf(record, body, host.settings)
        runner.start(task)
        return
      }
      if (task.lease) task.lease.reason = 'body_missing'
      runner.settle(task, notSent(UNSENT.vetoed, host.now()))
    } catch (error) {
      this.#durable.failed(error)
      runner.settle(task, notSent(UNSENT.released, host.now()))
    }
  }

  /** Written by another version, or by hand: given back, and not asked for again until somebody starts anew. */
  #unreadable({ taskId }: StoredTask, lease: Lease, error: unknown): void {
    reportUnreadable(this.#durable.runner, taskId, error, 'it is parked')
    this.giveBack(lease, 'unreadable: parked', { delayMs: RENEWED_LEASE_MS, park: true })
  }

  /** Unsent, and as if it had never been leased. */
  giveBack(lease: Lease, decision: string, how: { readonly delayMs: number; readonly park: boolean }): void {
    const { runner, loop } = this.#durable
    const startedAt = runner.host.now()
    const none = { attemptNumber: 0, startedAt, durationMs: 0, responseStatus: null, errorMessage: null }
    const log = { taskId: lease.taskId, ...none, decision }
    const next = { kind: 'release', refund: true, ...how } as const
    loop.addEnding({ task: undefined, settlement: { lease, log, next }, answered: () => {} })
  }
}
