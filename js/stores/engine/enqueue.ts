/** Takes tasks: dedupe, then room, then the row. */

import type { NewTask } from '../../api/records.ts'
import { type Enqueued, isHomeOfProcess, type Lease, MARK_ACCEPTED, type TaskStore } from '../../api/store.ts'
import { hint, holdLane, insert, startLease } from './change.ts'
import type { Tx } from './port.ts'
import { isHeld, isLive, type Row } from './row.ts'
import { isAccepted, isLater, isReadable, refusal } from './rules.ts'
import type { Step } from './step.ts'

export type EnqueueLease = NonNullable<Parameters<TaskStore['enqueue']>[1]>

/** One call: all of its tasks, or none. */
export interface Batch {
  readonly tasks: readonly NewTask[]
  readonly lease: EnqueueLease | undefined
}

export function* enqueue(tx: Tx, batches: readonly Batch[]): Step<Enqueued[][]> {
  yield tx.loadNew(batches.flatMap(({ tasks }) => tasks))
  return batches.map(({ tasks, lease }) => tasks.map((task) => insertTask(tx, task, lease)))
}

function insertTask(tx: Tx, task: NewTask, lease: EnqueueLease | undefined): Enqueued {
  const same = tx.row(task.taskId)
  if (same) return duplicate(tx, same, lease)
  const keeper = tx.keeperOf(task)
  if (keeper) {
    if (isLater(keeper)) return { taskId: keeper.taskId, outcome: 'unreadable' }
    const outcome = keeper.fingerprint === task.fingerprint ? 'duplicate' : 'conflict'
    if (outcome === 'duplicate' && isLive(keeper) && !isAccepted(keeper) && !isHomeOfProcess(task.home)) {
      keeper.marks |= MARK_ACCEPTED
      tx.save(keeper)
    }
    return { taskId: keeper.taskId, outcome }
  }
  const refused = tx.ledger?.refusal(task)
  if (refused) return refused
  const { state, terms, now } = tx
  const bodyBytes = task.body?.byteLength ?? 0
  const held = state.pending + state.inFlight + state.exhausted
  if (held >= terms.capacity || state.bytes + bodyBytes > terms.capacityBytes) {
    return { taskId: task.taskId, outcome: 'full' }
  }
  const row = tx.rowOf(task, { seq: ++state.lastSeq, now, shownNow: tx.shown(now) })
  insert(tx, row, task.body)
  holdLane(tx, tx.lane(row), task.holdLaneForMs)
  for (const log of task.log ?? []) tx.keepLog(row, log)
  const started = lease && startsNow(tx, row, task, lease) ? startLease(tx, row, lease.owner, lease.leaseMs) : undefined
  if (!started) hint(tx, 'due')
  return { taskId: task.taskId, outcome: 'stored', ...(started && { lease: started }) }
}

/** The answer of a first enqueue may have been lost: its lease is given again. */
function duplicate(tx: Tx, row: Row, lease: EnqueueLease | undefined): Enqueued {
  const answer: Enqueued = { taskId: row.taskId, outcome: 'duplicate' }
  if (!lease || row.status !== 'IN_FLIGHT' || row.owner !== lease.owner || row.leaseUntil === null) return answer
  if (row.leaseUntil <= tx.now) return answer
  const again: Lease = { taskId: row.taskId, token: row.token, forMs: row.leaseUntil - tx.now }
  return { ...answer, lease: again }
}

function startsNow(tx: Tx, row: Row, task: NewTask, { total, perLane }: EnqueueLease): boolean {
  const lane = tx.lane(row)
  return (
    row.behind !== 1 &&
    task.dueInMs <= 0 &&
    isReadable(task) &&
    tx.isCurrent(task.principal) &&
    refusal(row, task.policy, tx.now) === undefined &&
    !isHeld(lane, tx.now) &&
    !tx.lineup?.isPaused?.(task.lane) &&
    tx.state.inFlight < (total ?? Number.POSITIVE_INFINITY) &&
    lane.inFlight < (perLane ?? Number.POSITIVE_INFINITY)
  )
}
