/**
 * Tasks and lanes as the commands see and change them.
 *
 * A row is spelled as IndexedDB keeps it, so that pages, which pay for every byte of code, translate nothing. A store that
 * keeps it otherwise translates where it reads and writes.
 */

import type { DeadlineReason, NewTask } from '../../api/records.ts'
import { CHANCE_MS, type Counts } from '../../api/store.ts'
import type { ExhaustedReason, TaskStatus } from '../../api/task.ts'
import { originIn } from '../../options/check.ts'
import { type Sums, sumsOf } from './sums.ts'

/** A stored task. Instants are on the store's clock. */
export interface Row
  extends Pick<NewTask, 'taskId' | 'idempotencyKey' | 'fingerprint' | 'method' | 'targetUrl' | 'lane' | 'schema'>,
    Sums {
  /** Rises with each enqueue and redrive: the order in which tasks came. */
  seq: number
  readonly origin: string
  status: TaskStatus
  reason: ExhaustedReason | null
  readonly orderKey: string | null
  /** 1: waits until those before it in its order have ended. `null`: without an order, or ended. */
  behind: 0 | 1 | null
  /** The negated priority: the highest priority comes first. */
  readonly rank: number
  /** By the wall clock. */
  readonly createdAt: number
  dueAt: number | null
  /** The due time it has once nothing of its order is before it. */
  turnAt: number
  /** The earliest due time that the server allows. */
  serverAt: number
  /** Infinity: none. */
  deadlineAt: number
  deadlineReason: DeadlineReason
  attemptNumber: number
  firstAttemptAt: number | null
  refunds: number
  phase: number
  previousDelayMs: number
  marks: number
  /** The lane of a parked task. `null`: not parked. */
  parkedIn: string | null
  cancelAsked: boolean
  owner: string | null
  /** The token of its lease, or of the last one; 0: never leased. */
  token: number
  /** The token whose settlement was applied last; `null`: none was. */
  settledToken: number | null
  leaseUntil: number | null
  endedAt: number | null
  bodyBytes: number
  /** The record cannot be read, and is left alone (S20). */
  aside: boolean
  /** Stands for a row that is not sound (see `sound.ts`), and is never stored: of that row only what `markUnreadable` changes is. */
  readonly isBroken?: true
  /** Such a row was never counted: its status or its lane is none. */
  readonly isStray?: boolean
}

/** Where a new task stands: see `newRow`. */
export interface Place {
  readonly seq: number
  readonly now: number
  /** `now` by the wall clock. */
  readonly shownNow: number
}

/** The part of a new row that all stores share; `lineUp` gives it its due time. */
export function newRow(task: NewTask, { seq, now, shownNow }: Place): Row {
  const ageMs = task.ageMs ?? 0
  const { bodySum, requestSum } = sumsOf(task)
  return {
    taskId: task.taskId,
    seq,
    lane: task.lane,
    origin: originIn(task.targetUrl) ?? '',
    status: 'PENDING',
    reason: null,
    idempotencyKey: task.idempotencyKey,
    fingerprint: task.fingerprint,
    method: task.method,
    targetUrl: task.targetUrl,
    schema: task.schema,
    orderKey: task.orderKey ?? null,
    behind: null,
    rank: 0 - task.priority,
    createdAt: shownNow - ageMs,
    dueAt: null,
    turnAt: now + Math.max(0, task.dueInMs),
    serverAt: now + (task.serverMs ?? 0),
    deadlineAt: now + task.deadlineInMs,
    deadlineReason: task.deadlineReason ?? 'total_budget',
    attemptNumber: task.attemptNumber,
    firstAttemptAt: task.attemptNumber > 0 ? now - ageMs : null,
    refunds: 0,
    phase: task.phase,
    previousDelayMs: task.previousDelayMs,
    marks: task.marks ?? 0,
    parkedIn: null,
    cancelAsked: false,
    owner: null,
    token: 0,
    settledToken: null,
    leaseUntil: null,
    endedAt: null,
    bodyBytes: task.body?.byteLength ?? 0,
    bodySum,
    requestSum,
    aside: false,
  }
}

/** The counters that `counts` and each turn tell. */
/** The counters that a store tells, of those it keeps. */
export function countsOf({ pending, inFlight, succeeded, exhausted, cancelled, purged, bytes }: Counts): Counts {
  return { pending, inFlight, succeeded, exhausted, cancelled, purged, bytes }
}

/** Counts with the numbers of tasks that were put aside: of all, and of those that are pending. */
export const countsWith = (counts: Counts, unreadable: number, pendingAside: number): Counts => ({
  ...countsOf(counts),
  ...(unreadable > 0 && { unreadable }),
  ...(pendingAside > 0 && { pendingAside }),
})

/** The counters that change with every task. */
export type Counter = Exclude<keyof Counts, 'unreadable' | 'pendingAside'>

/** The counter of each status. */
export const COUNTER: Readonly<Record<TaskStatus, Exclude<Counter, 'purged' | 'bytes'>>> = {
  PENDING: 'pending',
  IN_FLIGHT: 'inFlight',
  SUCCEEDED: 'succeeded',
  EXHAUSTED: 'exhausted',
  CANCELLED: 'cancelled',
}

export const isLive = ({ status }: Pick<Row, 'status'>): boolean => status === 'PENDING' || status === 'IN_FLIGHT'

/** Whether its body takes room: a dead letter may be sent again. */
export const takesRoom = (row: Pick<Row, 'status'>): boolean => isLive(row) || row.status === 'EXHAUSTED'

const STATUSES: ReadonlySet<unknown> = new Set(Object.keys(COUNTER))

/** Whether the row was ever counted: a row that other code has put into the store was not. */
export const isOurs = ({ status, lane, isStray }: Row): boolean =>
  !isStray && STATUSES.has(status) && typeof lane === 'string'

/** A lane inside a transaction, changed in place. */
export interface Lane {
  readonly name: string
  /** Tasks of whatever status: without any, the lane is nothing but its hold. */
  tasks: number
  /** Without those that were put aside. */
  pending: number
  inFlight: number
  /** The end of its hold. In the past: of the last one, until the lane is served or `CHANCE_MS` are over. `null`: there is none to know of. */
  heldUntil: number | null
  /** The end that no renewal of its hold passes. Absent in rows of older versions: `heldUntil`. */
  holdEndsBy?: number | null
  /** The higher, the later a task of it was claimed, 0: never; in a store for everyone its tag (see `turns.ts`). */
  served: number
  /** When its first task is due; `null`: none is. */
  nextDue: number | null
  /** When its next token comes, where it has to wait for one. Absent: it need not. */
  tokenAt?: number | undefined
}

/** Whether a hold has left nothing that the lane has to know: no other may begin while it has. */
export const isHoldOver = ({ heldUntil }: Pick<Lane, 'heldUntil'>, now: number): boolean =>
  heldUntil === null || heldUntil + CHANCE_MS <= now

/** By its hold, or for want of a token. */
export const isHeld = ({ heldUntil, tokenAt }: Lane, now: number): boolean =>
  (heldUntil ?? now) > now || (tokenAt as number) > now

/** When its first task may start, by its hold and its token; Infinity: none has a due time. */
export const readyAt = ({ nextDue, heldUntil, tokenAt }: Lane): number =>
  nextDue === null ? Number.POSITIVE_INFINITY : Math.max(nextDue, heldUntil ?? nextDue, tokenAt ?? nextDue)

/** Where a lane stands among those that may start a task. */
export interface LanePlace extends Pick<Lane, 'name' | 'served'> {
  /** The rank of its first due task. */
  readonly rank: number
  readonly dueAt: number
}

/** Higher priority, then the lane served longest ago, then due first, then by name. */
export const inTurn = (a: LanePlace, b: LanePlace): number =>
  a.rank - b.rank || a.served - b.served || a.dueAt - b.dueAt || (a.name < b.name ? -1 : Number(a.name > b.name))
