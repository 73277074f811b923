/**
 * The stored tasks of this process: the store they are in, and those that are here.
 *
 * A stored task that waits is in the store alone. Here is what runs under a lease, and what waits while its caller, or a part of its
 * request that is not stored, is in this process. What happens to a task when it ends is left to `Endings`.
 */

import type { DegradedCode } from '../api/events.ts'
import { laneName, originIn, type StoredTask, type TaskStore, type Turn } from '../api/store.ts'
import type { ExhaustedReason, TaskStatus } from '../api/task.ts'
import { StorageFullError } from '../api/task-errors.ts'
import type { Call } from '../call/call.ts'
import { repeatableOf } from '../call/fetch-repeat.ts'
import { OP_SHARE_HOLD } from '../core/codes.ts'
import { FOREVER } from '../platform/clock.ts'
import { giverFor } from '../runner/credentials.ts'
import type { Runner } from '../runner/runner.ts'
import { isSoundTask } from '../stores/engine/sound.ts'
import { Task } from '../tasks/task.ts'
import { PendingWrites, SeenTasks } from './pending-writes.ts'
import { callOf } from './record.ts'

const MINUTE_MS = 60_000

/** The ways in which a task stops being one of this process. */
export interface Endings {
  /** Ends a task that this process has made terminal: callers and listeners hear of it. */
  end(task: Task, status: TaskStatus, reason?: ExhaustedReason): void
  /** Forgets a task that has ended, or that another process has; an attempt of it that still runs is aborted. */
  leave(task: Task): void
  /** Aborts the attempt of a task in flight whose end was asked for. */
  abort(task: Task, reason: unknown): void
  /** Ends a task that is not in the store any more. */
  purged(task: Task): void
}

export class StoredState {
  readonly store: TaskStore
  /** The name under which the store knows this process: of its leases, and as the home of tasks that only it can send or answer. */
  readonly owner: string
  readonly runner: Runner
  /** Tasks that this process holds a lease of. */
  readonly leased: Map<string, Task> = new Map()
  readonly seen: SeenTasks = new SeenTasks()
  readonly pending: PendingWrites = new PendingWrites()
  #outages = 0
  #reportedAt = Number.NEGATIVE_INFINITY
  #hasAnswered = true
  /** Tasks whose caller waits here, or that need what is not stored. */
  readonly #watched = new Map<string, Task>()
  /** Those of them that no other process can send: a header is here alone. */
  readonly #sole = new Set<string>()

  constructor(store: TaskStore, owner: string, runner: Runner) {
    this.store = store
    this.owner = owner
    this.runner = runner
  }

  /** Takes note that the store hears of the hold of a task's lane: from then on it says how long its tasks are held. */
  shareHold({ principal, origin }: Task): void {
    const { core, host, lanes } = this.runner
    this.runner.guard(() => core.call(OP_SHARE_HOLD, host.now(), lanes.of(principal, origin), 0))
  }

  /** The task as this process has it. */
  find(taskId: string): Task | undefined {
    return this.#watched.get(taskId) ?? this.leased.get(taskId)
  }

  /**
   * The task of a record: the one that is here, else one made of the record, and of its body where that is at hand. Throws where none
   * can be made: whatever a store shows is read as strictly here as our own stores read what they hold.
   */
  taskOf(record: StoredTask, body?: Uint8Array): Task {
    assertSound(record)
    const { host, sanitizer } = this.runner
    // a credential that other code has put there goes nowhere (S12)
    if (!sanitizer.mayBeStored(record.headers)) throw new TypeError('its headers hold one that is never stored')
    const here = this.find(record.taskId)
    const task = here ?? new Task(record.taskId, record.createdAt, callOf(record, body, host.settings))
    if (body && here?.call?.rebuilt) here.call = callOf(record, body, host.settings)
    task.announced = true
    task.status = record.status
    task.reason = record.reason
    task.nextAttemptAt = record.dueAt
    task.setRecord(record)
    return task
  }

  /** Keeps a task here until `forget`, or until `remember` finds that nothing here needs it. */
  watch(task: Task): void {
    const { call, record, taskId } = task
    this.#watched.set(taskId, task)
    if (call && !call.rebuilt && record?.home === this.owner && this.isSole(call, record)) this.#sole.add(taskId)
  }

  /** Whether a call has a header that no store keeps and no `credentials` give: no other process can send it. */
  isSole(call: Call, { withheldHeaders }: Pick<StoredTask, 'withheldHeaders'>): boolean {
    return withheldHeaders.length > 0 && giverFor(this.runner.host.settings, call) === undefined
  }

  /** Whether tasks are here that no other process can send. */
  get hasSole(): boolean {
    return this.#sole.size > 0
  }

  get isWatching(): boolean {
    return this.#watched.size > 0
  }

  /** Watched tasks that are not leased: other processes may end them. */
  *watched(): Iterable<Task> {
    for (const task of this.#watched.values()) if (!task.lease) yield task
  }

  /** Every task that is here. */
  all(): Iterable<Task> {
    return new Set([...this.#watched.values(), ...this.leased.values()])
  }

  /** Keeps a task that waits again only while something of it is nowhere else: a caller, or a part of its request. */
  remember(task: Task): void {
    const { call, record } = task
    const waits = task.waiter !== undefined || task.joined.length > 0 || task.outcome !== undefined
    const own = call !== null && !call.rebuilt
    const needed =
      own && (call.underWay || (record?.withheldHeaders.length ?? 0) > 0 || !repeatableOf(call).asFetch().isWhole)
    if (waits || needed) this.watch(task)
    else this.#unwatch(task)
  }

  forget(task: Task): void {
    this.#unwatch(task)
    this.leased.delete(task.taskId)
  }

  #unwatch({ taskId }: Task): void {
    this.#watched.delete(taskId)
    this.#sole.delete(taskId)
  }

  /** When the first task is due whose caller waits here, as far as the holds of a turn's lanes let it; Infinity: none. */
  ownDueAt({ lanes }: Turn): number {
    const now = this.runner.host.now()
    const held = new Map(lanes.map(({ lane, heldForMs }) => [lane, now + heldForMs]))
    let at = FOREVER
    for (const { record, nextAttemptAt } of this.watched()) {
      if (record?.home !== this.owner || nextAttemptAt === null) continue
      at = Math.min(at, Math.max(nextAttemptAt, held.get(record.lane) ?? 0))
    }
    return at
  }

  /** Whether a lane is of the principal that is there, or this queue sends for everyone. */
  isOwnLane(lane: string): boolean {
    return this.store.everyone || lane === laneName(this.runner.host.principal, originIn(lane))
  }

  /** The principal whose tasks a store is asked for; none in a store for everyone. */
  get whose(): { readonly principal?: string | null } {
    return this.store.everyone ? {} : { principal: this.runner.host.principal }
  }

  /** Whether others have changed something since this was asked last, and tells listeners so. undefined: the store cannot say, or fails, which a turn will show. */
  async hasChanged(): Promise<boolean | undefined> {
    const hasChanged = await this.store.hasChanged?.().catch(() => undefined)
    if (hasChanged) this.runner.host.changed?.({ others: true, isStores: true })
    return hasChanged
  }

  /** Reports that the store did not do what it was asked. */
  readonly failed = (error: unknown): void => {
    const message = `the store fails (${this.runner.words(error)}): tasks wait in it until it answers again`
    this.reportOutage(message, error instanceof StorageFullError ? 'storage_full' : undefined)
  }

  /** Reports that the store cannot be had: once, until it has answered, and no more than once a minute. */
  reportOutage(message: string, code: DegradedCode = 'storage_unavailable'): void {
    const { host } = this.runner
    const now = host.now()
    if (this.#hasAnswered && now >= this.#reportedAt + MINUTE_MS) {
      this.#outages++
      this.#reportedAt = now
    }
    this.#hasAnswered = false
    host.degraded(code, message, `store ${this.#outages}`)
  }

  /** Takes note that the store answers: when it fails next, that is reported again. */
  answered(): void {
    this.#hasAnswered = true
  }
}

function assertSound(record: StoredTask): void {
  if (!isSoundTask(record)) throw new TypeError('its record is damaged, or was written by another version')
}
