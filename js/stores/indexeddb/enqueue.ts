/** Takes tasks: dedupe, then room, then the row. What has to be looked up is asked for all of them at once. */

import type { Enqueued, Lease, NewTask, TaskStore } from '../../api/store.ts'
import { isReadable, orderName, refusal } from '../engine/rules.ts'
import { insert, keepLog, takeLease } from './change.ts'
import { nameOf, shownName, within } from './keys.ts'
import { hold, isHeld } from './lanes.ts'
import { done } from './request.ts'
import { isSmall, newRow, type TaskRow } from './rows.ts'
import { Stale } from './snapshot.ts'
import type { Transaction } from './transaction.ts'

export type EnqueueLease = NonNullable<Parameters<TaskStore['enqueue']>[1]>

/** One call: all of its tasks, or none. */
export interface Batch {
  readonly tasks: readonly NewTask[]
  readonly lease: EnqueueLease | undefined
}

/**
 * Where the transaction is a guess, tasks are stored as if neither they nor their keys were here: the database refuses
 * those that are. What would not be stored it cannot refuse: then all are looked up, as without a guess.
 */
export async function enqueue(tx: Transaction, batches: readonly Batch[]): Promise<Enqueued[][]> {
  const tasks = batches.flatMap((batch) => batch.tasks)
  const known = new Known()
  const isGuess = tx.isGuess && tasks.every(({ orderKey }) => orderKey === undefined)
  if (!isGuess) await Promise.all([tx.rows(tasks.map(({ taskId }) => taskId)), known.read(tx, tasks)])
  const outcomes = batches.map((batch) => batch.tasks.map((task) => take(tx, known, task, batch.lease)))
  const isStored = ({ outcome }: Enqueued): boolean => outcome === 'stored'
  if (isGuess && !outcomes.flat().every(isStored)) throw new Stale()
  if (outcomes.flat().some(isStored)) tx.askToPersist()
  return outcomes
}

/** Which keys are taken, and which orders have a task that is pending or in flight: by the time of each task. */
class Known {
  readonly #keepers = new Map<string, TaskRow>()
  readonly #orders = new Set<string>()

  async read(tx: Transaction, tasks: readonly NewTask[]): Promise<void> {
    const index = (name: string): IDBIndex => tx.store('tasks').index(name)
    await Promise.all(
      tasks.map(async ({ idempotencyKey, orderKey = null, principal }) => {
        const of = nameOf(principal)
        const keeper = idempotencyKey === null ? undefined : done(index('key').get([idempotencyKey, of]))
        const order = orderKey === null ? undefined : done(index('order').getKey(within([of, orderKey])))
        const row: TaskRow | undefined = await keeper
        if (row) this.#keepers.set(JSON.stringify([idempotencyKey, of]), row)
        if (orderKey !== null && (await order) !== undefined) this.#orders.add(orderName(principal, orderKey))
      }),
    )
  }

  keeperOf({ idempotencyKey, principal }: NewTask): TaskRow | undefined {
    return this.#keepers.get(JSON.stringify([idempotencyKey, nameOf(principal)]))
  }

  isBehind({ orderKey, principal }: NewTask): boolean {
    return orderKey !== undefined && this.#orders.has(orderName(principal, orderKey))
  }

  add(row: TaskRow): void {
    if (row.keptKey !== null) this.#keepers.set(JSON.stringify([row.keptKey, row.principal]), row)
    if (row.orderKey !== null) this.#orders.add(orderName(shownName(row.principal), row.orderKey))
  }
}

function take(tx: Transaction, known: Known, task: NewTask, lease: EnqueueLease | undefined): Enqueued {
  const same = tx.held(task.taskId)
  if (same) return duplicate(tx, same, lease)
  const keeper = known.keeperOf(task)
  if (keeper) {
    const outcome = keeper.fingerprint === task.fingerprint ? 'duplicate' : 'conflict'
    return { taskId: keeper.taskId, outcome }
  }
  const { state, terms, now } = tx
  const bodyBytes = task.body?.byteLength ?? 0
  if (state.pending + state.inFlight >= terms.capacity || state.bytes + bodyBytes > terms.capacityBytes) {
    return { taskId: task.taskId, outcome: 'full' }
  }
  const isBehind = known.isBehind(task)
  const row = newRow(task, { seq: ++state.lastSeq, now, shownNow: tx.shown(now), isBehind })
  known.add(row)
  insert(tx, row)
  const holdMs = task.holdLaneForMs ?? 0
  if (holdMs > 0) hold(tx.lane(row), now + holdMs)
  if (task.body && !isSmall(task.body)) tx.set('bodies', task.taskId, task.body)
  for (const log of task.log ?? []) keepLog(tx, row, log)
  const taken = lease && startsNow(tx, row, task, lease) ? takeLease(tx, row, lease.owner, lease.leaseMs) : undefined
  if (!taken) tx.hint('due')
  return { taskId: task.taskId, outcome: 'stored', ...(taken && { lease: taken }) }
}

/** The answer of a first enqueue may have been lost: its lease is given again. */
function duplicate(tx: Transaction, row: TaskRow, lease: EnqueueLease | undefined): Enqueued {
  const answer: Enqueued = { taskId: row.taskId, outcome: 'duplicate' }
  if (!lease || row.status !== 'IN_FLIGHT' || row.owner !== lease.owner || row.leaseUntil === null) return answer
  if (row.leaseUntil <= tx.now) return answer
  const again: Lease = { taskId: row.taskId, token: row.token, forMs: row.leaseUntil - tx.now }
  return { ...answer, lease: again }
}

function startsNow(tx: Transaction, row: TaskRow, task: NewTask, { total, perLane }: EnqueueLease): boolean {
  const lane = tx.lane(row)
  return (
    row.behind !== 1 &&
    task.dueInMs <= 0 &&
    isReadable(task) &&
    tx.isCurrent(task.principal) &&
    refusal(row, row.policy, tx.now) === undefined &&
    !isHeld(lane, tx.now) &&
    tx.state.inFlight < (total ?? Number.POSITIVE_INFINITY) &&
    lane.inFlight < (perLane ?? Number.POSITIVE_INFINITY)
  )
}
