/**
 * The tasks of a `MemoryStore` as rows, with the counters, orders and lanes that follow from them.
 *
 * The one place where a row changes its status: so the counters cannot forget one, and the next of an order gets its turn
 * however the one before has ended. Knows no clock; a step hands `now` in.
 */

import {
  CHANCE_MS,
  type DeadlineReason,
  LOG_LENGTH,
  type NewTask,
  NOTES_LENGTH,
  type Pause,
  type StoreTerms,
} from '../../api/store.ts'
import type { AttemptLog, DecisionKind, ExhaustedReason, TaskStatus } from '../../api/task.ts'
import type { Bucket } from '../engine/limits.ts'
import { COUNTER } from '../engine/row.ts'
import { type Note, noteOf, orderName, wasSent } from '../engine/rules.ts'
import { pausedBy } from '../shared-settings.ts'
import { Ids } from './by-id.ts'
import { Tags } from './tags.ts'

/** A task as it is kept. Instants are the store's. */
export interface Row {
  readonly given: NewTask
  readonly taskId: string
  readonly lane: Lane
  readonly createdAt: number
  body: Uint8Array | undefined
  policy: NewTask['policy']
  headers: NewTask['headers']
  /** Rises with each enqueue and redrive: who came first. */
  seq: number
  status: TaskStatus
  reason: ExhaustedReason | undefined
  dueAt: number | null
  /** When it would be due if it had no order. */
  wantedAt: number
  /** Asked for by the server: nothing makes it due earlier. */
  floorAt: number
  deadlineAt: number
  deadlineReason: DeadlineReason
  attemptNumber: number
  refunds: number
  phase: number
  previousDelayMs: number
  marks: number
  parked: boolean
  /** Found unreadable, and left alone since. */
  unreadable: boolean
  firstAttemptAt: number | null
  endedAt: number
  /** Its end was reported. */
  reported: boolean
  /** The last that was given. */
  token: number
  /** The holder of the lease, while in flight. */
  owner: string | null
  leaseEndsAt: number
  cancelRequested: boolean
  /** The token whose settlement was applied last. */
  settledToken: number | null
  /** The youngest, oldest first. */
  log: AttemptLog[]
  /** How many there ever were. */
  logged: number
  /** Other lines of its history, the youngest, oldest first. */
  notes: Note[]
}

export interface Lane {
  readonly name: string
  readonly principal: string | null
  /** Tasks of whatever status: without any, the lane is forgotten once its hold is over. */
  rows: number
  /** Without those that were put aside. */
  pending: number
  inFlight: number
  /** In the past: until the lane is served, or `CHANCE_MS` are over, no other hold begins. */
  heldUntil: number
  /** The end that no renewal of its hold passes. */
  holdEndsBy: number
  /** Rises with each claim from any lane, 0: never served; in a store for everyone its tag (see `turns.ts`). */
  served: number
  /** Its tokens, where claims have given it a rate. */
  readonly bucket: Bucket
}

export interface Hint {
  readonly kind: 'due' | 'settled' | 'cancelled' | 'changed'
  readonly taskId?: string
}

export const isLive = ({ status }: Row): boolean => status === 'PENDING' || status === 'IN_FLIGHT'
/** Whether its body takes room: a dead letter may be sent again. */
export const takesRoom = (row: Row): boolean => isLive(row) || row.status === 'EXHAUSTED'
export const bodyBytes = ({ body }: Row): number => body?.byteLength ?? 0

export const newBucket = (): Bucket => ({ tat: Number.NEGATIVE_INFINITY, tokenAt: Number.NEGATIVE_INFINITY })

/** When a lane is forgotten: at the end of its hold, or with its next token. */
export const freeAt = ({ heldUntil, bucket }: Lane): number => Math.max(heldUntil, bucket.tokenAt)

/** Keeps a line of its history: among its attempts, or beside them. */
export function keepLog(row: Row, log: AttemptLog): void {
  if (wasSent(log)) {
    row.logged++
    row.log = [...row.log, log].slice(-LOG_LENGTH)
  } else row.notes = [...row.notes, { after: row.logged, log }].slice(-NOTES_LENGTH)
}

/** Says what the store itself has decided. */
export function note(row: Row, kind: DecisionKind, now: number, reason?: ExhaustedReason): void {
  keepLog(row, noteOf(row.taskId, row.attemptNumber, now, kind, reason))
}

/** Holds a lane, for `maxLaneHoldMs` from the beginning of the hold at most; no time is no hold. */
export function holdLane(lane: Lane, askedMs: number | undefined, { maxLaneHoldMs }: StoreTerms, now: number): void {
  const forMs = Math.min(askedMs ?? 0, maxLaneHoldMs)
  if (!(forMs > 0)) return
  const isNew = lane.heldUntil <= now
  // those who waited come first
  if (isNew && now < lane.heldUntil + CHANCE_MS) return
  if (isNew) lane.holdEndsBy = now + maxLaneHoldMs
  lane.heldUntil = Math.max(lane.heldUntil, Math.min(now + forMs, lane.holdEndsBy))
}

export class Rows {
  readonly counts: Record<
    'pending' | 'inFlight' | 'succeeded' | 'exhausted' | 'cancelled' | 'purged' | 'bytes',
    number
  > = { pending: 0, inFlight: 0, succeeded: 0, exhausted: 0, cancelled: 0, purged: 0, bytes: 0 }
  readonly lanes: Map<string, Lane> = new Map()
  readonly homes: Map<string, number> = new Map()
  /** The lanes of all principals stand in one line. */
  readonly everyone: boolean
  /** Absent: the store is not for everyone. */
  readonly tags: Tags | undefined
  /** By id. */
  readonly pauses: Map<string, Pause> = new Map()
  /** By origin: the tokens that its lanes share, where claims have given it a rate. */
  readonly buckets: Map<string, Bucket> = new Map()
  /** Reported to listeners when the step is done. */
  hints: Hint[] = []
  readonly #all = new Map<string, Row>()
  readonly ids: Ids<Row> = new Ids()
  readonly #byStatus: Readonly<Record<TaskStatus, Set<Row>>> = {
    PENDING: new Set(),
    IN_FLIGHT: new Set(),
    SUCCEEDED: new Set(),
    EXHAUSTED: new Set(),
    CANCELLED: new Set(),
  }
  readonly #orders = new Map<string, Set<Row>>()
  /** Principal and key -> the task that keeps it. */
  readonly #keys = new Map<string, Row>()
  #lastSeq = 0
  #lastToken = 0
  #lastServed = 0

  constructor(everyone: boolean) {
    this.everyone = everyone
    this.tags = everyone ? new Tags() : undefined
  }

  get(taskId: string): Row | undefined {
    return this.#all.get(taskId)
  }

  all(): Iterable<Row> {
    return this.#all.values()
  }

  of(status: TaskStatus): ReadonlySet<Row> {
    return this.#byStatus[status]
  }

  /** The task that keeps this key. */
  withKey(principal: string | null, key: string): Row | undefined {
    return this.#keys.get(JSON.stringify([principal, key]))
  }

  nextSeq(): number {
    return ++this.#lastSeq
  }

  laneOf({ lane, principal }: Pick<NewTask, 'lane' | 'principal'>): Lane {
    const known = this.lanes.get(lane)
    if (known) return known
    const made = {
      name: lane,
      principal,
      rows: 0,
      pending: 0,
      inFlight: 0,
      heldUntil: Number.NEGATIVE_INFINITY,
      holdEndsBy: Number.NEGATIVE_INFINITY,
      served: 0,
      bucket: newBucket(),
    }
    this.lanes.set(lane, made)
    return made
  }

  isPaused({ name }: Lane): boolean {
    return pausedBy(this.pauses.values())(name)
  }

  insert(row: Row): void {
    this.#all.set(row.taskId, row)
    this.ids.add(row)
    const { principal, idempotencyKey } = row.given
    if (idempotencyKey !== null) this.#keys.set(JSON.stringify([principal, idempotencyKey]), row)
    row.lane.rows++
    this.#enter(row)
    this.#lineUp(row)
  }

  /** Deletes it. */
  remove(row: Row, now: number): void {
    const wasLive = isLive(row)
    this.#leave(row)
    this.#all.delete(row.taskId)
    this.ids.remove(row)
    this.#dropKey(row)
    this.counts.purged++
    row.lane.rows--
    this.forgetLane(row.lane, now)
    if (wasLive) this.#stepOut(row, now)
    else this.hints.push({ kind: 'changed' })
  }

  /** A lane without a task is nothing but its hold. */
  forgetLane(lane: Lane, now: number): void {
    if (lane.rows > 0) return
    lane.served = 0
    if (lane.heldUntil + CHANCE_MS <= now && lane.bucket.tat <= now) this.lanes.delete(lane.name)
  }

  /** Gives a lease: the attempt counts from here. */
  start(row: Row, owner: string, leaseMs: number, now: number): void {
    this.#to(row, 'IN_FLIGHT')
    row.dueAt = null
    row.attemptNumber++
    row.firstAttemptAt ??= now
    row.token = ++this.#lastToken
    row.owner = owner
    row.leaseEndsAt = now + leaseMs
    if (!this.tags) row.lane.served = ++this.#lastServed
    else if (row.lane.pending > 0) this.tags.take(row.lane)
    row.lane.heldUntil = Number.NEGATIVE_INFINITY
    this.hints.push({ kind: 'changed', taskId: row.taskId })
  }

  /** Keeps a record that this version cannot read out of everything that acts (S20): no lane waits for it. */
  putAside(row: Row): void {
    row.unreadable = true
    row.dueAt = null
    row.lane.pending--
  }

  /** Back from an attempt: due at `at`, unless it is parked. */
  wait(row: Row, at: number, floorAt: number): void {
    this.#to(row, 'PENDING')
    row.owner = null
    row.wantedAt = at
    row.floorAt = floorAt
    // it was in flight, so it is the first of its order
    row.dueAt = row.parked ? null : at
    this.hints.push({ kind: 'settled', taskId: row.taskId }, { kind: 'due' })
  }

  /** No further attempt, or so it looks: a late success may still turn up. */
  end(
    row: Row,
    status: 'SUCCEEDED' | 'EXHAUSTED' | 'CANCELLED',
    reason: ExhaustedReason | undefined,
    now: number,
  ): void {
    const wasLive = isLive(row)
    this.#to(row, status)
    row.reason = reason
    row.dueAt = null
    row.owner = null
    row.parked = false
    row.endedAt = now
    row.reported = false
    if (status !== 'EXHAUSTED') {
      row.body = undefined
      row.headers = {}
    }
    if (status === 'CANCELLED') this.#dropKey(row)
    if (wasLive) this.#stepOut(row, now)
    else this.hints.push({ kind: 'settled', taskId: row.taskId })
  }

  /** Ends it without a settlement that says so. */
  endUnasked(row: Row, status: 'EXHAUSTED' | 'CANCELLED', reason: ExhaustedReason | undefined, now: number): void {
    note(row, status === 'CANCELLED' ? 'cancelled' : 'exhausted', now, reason)
    this.end(row, status, reason, now)
  }

  /** A dead letter goes back, behind what came meanwhile. */
  revive(row: Row, at: number): void {
    this.#to(row, 'PENDING')
    row.seq = this.nextSeq()
    row.reason = undefined
    row.wantedAt = at
    row.floorAt = Number.NEGATIVE_INFINITY
    this.#lineUp(row)
  }

  /** The clock has fallen back: so does every instant that something still depends on. */
  shift(ms: number): void {
    for (const row of this.#all.values()) {
      if (row.dueAt !== null) row.dueAt += ms
      if (row.firstAttemptAt !== null) row.firstAttemptAt += ms
      row.wantedAt += ms
      row.floorAt += ms
      row.deadlineAt += ms
      row.leaseEndsAt += ms
      row.endedAt += ms
    }
    for (const lane of this.lanes.values()) {
      lane.heldUntil += ms
      lane.holdEndsBy += ms
    }
    for (const bucket of [...this.lanes.values()].map((lane) => lane.bucket).concat(...this.buckets.values())) {
      bucket.tat += ms
      bucket.tokenAt += ms
    }
    for (const [owner, until] of this.homes) this.homes.set(owner, until + ms)
  }

  /** Takes its place in its order: the first is due when it wants, the others when it is their turn. */
  #lineUp(row: Row): void {
    const { principal, orderKey } = row.given
    row.dueAt = row.wantedAt
    if (orderKey === undefined) return
    const name = orderName(principal, orderKey)
    const order = this.#orders.get(name) ?? new Set()
    this.#orders.set(name, order.add(row))
    if (order.size > 1) row.dueAt = null
  }

  /** Gives the next of its order its turn, once it is neither pending nor in flight. */
  #stepOut(row: Row, now: number): void {
    this.hints.push({ kind: 'settled', taskId: row.taskId })
    const { principal, orderKey } = row.given
    if (orderKey === undefined) return
    const name = orderName(principal, orderKey)
    const order = this.#orders.get(name)
    const [first] = order ?? []
    order?.delete(row)
    const [next] = order ?? []
    if (!next) this.#orders.delete(name)
    if (!next || first !== row || next.unreadable) return
    next.dueAt = Math.max(next.wantedAt, now)
    this.hints.push({ kind: 'due' })
  }

  #dropKey(row: Row): void {
    const { principal, idempotencyKey } = row.given
    const name = JSON.stringify([principal, idempotencyKey])
    if (this.#keys.get(name) === row) this.#keys.delete(name)
  }

  #to(row: Row, status: TaskStatus): void {
    this.#leave(row)
    row.status = status
    this.#enter(row)
  }

  #leave(row: Row): void {
    this.#byStatus[row.status].delete(row)
    this.#count(row, -1)
  }

  #enter(row: Row): void {
    this.#byStatus[row.status].add(row)
    this.#count(row, 1)
  }

  #count(row: Row, by: 1 | -1): void {
    this.counts[COUNTER[row.status]] += by
    const { lane } = row
    if (row.status === 'PENDING' && !row.unreadable) lane.pending += by
    if (row.status === 'IN_FLIGHT') lane.inFlight += by
    if (!takesRoom(row)) return
    this.counts.bytes += by * bodyBytes(row)
    this.tags?.count(lane.principal, by)
    if (by > 0 && row.status === 'PENDING' && !row.unreadable && lane.pending === 1) this.tags?.take(lane)
  }
}
