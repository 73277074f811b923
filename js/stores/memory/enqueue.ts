/** Taking tasks in: known ones are found, what there is no room for is refused, the rest becomes rows. */

import {
  type Enqueued,
  isHomeOfProcess,
  type Lease,
  MARK_ACCEPTED,
  type NewTask,
  type StoreTerms,
} from '../../api/store.ts'
import { isLater, isReadable, refusal } from '../engine/rules.ts'
import { isOverQuota } from './quotas.ts'
import { copyOf, keep } from './reads.ts'
import { freeAt, holdLane, isLive, keepLog, type Row, type Rows } from './rows.ts'

export interface LeaseWish {
  readonly owner: string
  readonly leaseMs: number
  readonly total?: number
  readonly perLane?: number
}

export function enqueueOne(
  rows: Rows,
  task: NewTask,
  terms: StoreTerms,
  wish: LeaseWish | undefined,
  now: number,
): Enqueued {
  const { taskId } = task
  const same = rows.get(taskId)
  if (same) {
    const held = wish && same.status === 'IN_FLIGHT' && same.owner === wish.owner && same.leaseEndsAt > now
    const lease = { taskId, token: same.token, forMs: same.leaseEndsAt - now }
    return { taskId, outcome: 'duplicate', ...(held ? { lease } : {}) }
  }
  const keeper = task.idempotencyKey === null ? undefined : rows.withKey(task.principal, task.idempotencyKey)
  if (keeper) {
    if (isLater(keeper.given)) return { taskId: keeper.taskId, outcome: 'unreadable' }
    const isSame = keeper.given.fingerprint === task.fingerprint
    if (isSame && isLive(keeper) && !isHomeOfProcess(task.home)) keeper.marks |= MARK_ACCEPTED
    return { taskId: keeper.taskId, outcome: isSame ? 'duplicate' : 'conflict' }
  }
  if (rows.everyone && isOverQuota(rows, task, terms)) return { taskId, outcome: 'full', of: 'principal' }
  const { pending, inFlight, exhausted, bytes } = rows.counts
  const needed = bytes + (task.body?.byteLength ?? 0)
  if (pending + inFlight + exhausted >= terms.capacity || needed > terms.capacityBytes)
    return { taskId, outcome: 'full' }
  const row = rowOf(rows, task, now)
  for (const log of task.log ?? []) keepLog(row, copyOf(log))
  rows.insert(row)
  holdLane(row.lane, task.holdLaneForMs, terms, now)
  if (!wish || task.dueInMs > 0 || !mayStart(rows, row, wish, now)) {
    rows.hints.push({ kind: 'due' })
    return { taskId, outcome: 'stored' }
  }
  rows.start(row, wish.owner, wish.leaseMs, now)
  const lease: Lease = { taskId, token: row.token, forMs: wish.leaseMs }
  return { taskId, outcome: 'stored', lease }
}

function mayStart(rows: Rows, row: Row, wish: LeaseWish, now: number): boolean {
  const { total = Number.POSITIVE_INFINITY, perLane = Number.POSITIVE_INFINITY } = wish
  if (row.dueAt === null || freeAt(row.lane) > now || rows.isPaused(row.lane)) return false
  if (rows.counts.inFlight >= total || row.lane.inFlight >= perLane) return false
  return isReadable(row.given) && refusal(row, row.policy, now) === undefined
}

function rowOf(rows: Rows, task: NewTask, now: number): Row {
  const given = keep(task)
  const { ageMs = 0, attemptNumber } = task
  const createdAt = now - ageMs
  return {
    given,
    taskId: given.taskId,
    lane: rows.laneOf(given),
    createdAt,
    body: task.body?.slice(),
    policy: given.policy,
    headers: given.headers,
    seq: rows.nextSeq(),
    status: 'PENDING',
    reason: undefined,
    dueAt: null,
    wantedAt: now + Math.max(0, task.dueInMs),
    floorAt: now + (task.serverMs ?? 0),
    deadlineAt: now + task.deadlineInMs,
    deadlineReason: task.deadlineReason ?? 'total_budget',
    attemptNumber,
    refunds: 0,
    phase: task.phase,
    previousDelayMs: task.previousDelayMs,
    marks: task.marks ?? 0,
    parked: false,
    unreadable: false,
    firstAttemptAt: attemptNumber > 0 ? createdAt : null,
    endedAt: 0,
    reported: false,
    token: 0,
    owner: null,
    leaseEndsAt: 0,
    cancelRequested: false,
    settledToken: null,
    log: [],
    logged: 0,
    notes: [],
  }
}
