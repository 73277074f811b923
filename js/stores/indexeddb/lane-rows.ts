/**
 * The lanes as one transaction sees them: changed in place, and written once.
 *
 * A site talks to few servers, so the first lanes are written with the counters, in one record; only those beyond are rows
 * of their own, so that a thousand of them are not written with every task.
 */

import type { Lane as PlainLane } from '../engine/row.ts'
import { isHeld, isHoldOver, type LanePlace, readyAt } from '../engine/row.ts'
import { beyond, type Name, within } from './keys.ts'
import type { TaskRow } from './rows.ts'
import { done } from './transact.ts'

/** Lanes that are written with the counters. */
export const TOGETHER = 16

interface Held {
  readonly lane: Lane
  isDirty: boolean
  /** `nextDue` or `comingAt` has left, and what comes next has to be looked for. */
  isUnsure: boolean
}

export class LaneRows {
  readonly #idb: IDBTransaction
  readonly #known: Map<string, Lane>
  readonly #held = new Map<string, Held>()
  /** How many of those held are new. */
  #added = 0

  constructor(idb: IDBTransaction, known: Map<string, Lane>) {
    this.#idb = idb
    this.#known = known
  }

  /** The lane of a row, to be changed. */
  of(row: Pick<TaskRow, 'lane' | 'principal'>): Lane {
    return this.#changing(row).lane
  }

  /** Notes that a lane has been changed. */
  save(lane: Lane): void {
    this.#changing({ lane: lane.name, principal: lane.principal }).isDirty = true
  }

  /** Calls `look` with all that have a task or a hold, as they are now. There may be ten thousand. */
  each(look: (lane: Lane) => void): void {
    for (const lane of this.#known.values()) if (!this.#held.has(lane.name)) look(lane)
    for (const { lane } of this.#held.values()) look(lane)
  }

  /** A task of it has come to wait, waits no longer, or waits for another time. */
  move(row: TaskRow, now: number, from: Waiting | undefined, to: Waiting | undefined): void {
    const held = this.#changing(row)
    held.isDirty = true
    if (moved(held.lane, now, from, to)) held.isUnsure = true
  }

  /** Writes those that are rows of their own; of the others, `together` says what has to be written. */
  async flush(now: number): Promise<void> {
    const dirty = [...this.#held.values()].filter(({ isDirty }) => isDirty)
    const unsure = dirty.filter(({ isUnsure }) => isUnsure)
    await Promise.all(
      unsure.map(async (held) => {
        held.isUnsure = false
        const tasks = this.#idb.objectStore('tasks')
        const [nextDue, comingAt] = await Promise.all([soonestDue(tasks, held.lane), soonestDue(tasks, held.lane, now)])
        Object.assign(held.lane, { nextDue, comingAt })
      }),
    )
    for (const held of dirty) {
      held.isDirty = false
      tidy(held.lane, now)
      if (!held.lane.isApart) continue
      if (isLeft(held.lane)) this.#idb.objectStore('lanes').put(held.lane)
      else this.#idb.objectStore('lanes').delete(held.lane.name)
    }
  }

  /** Finds the first due time of a lane past `now`. */
  async lookAgain({ name, principal }: Lane, now: number): Promise<number | null> {
    const held = this.#changing({ lane: name, principal })
    const at = await soonestDue(this.#idb.objectStore('tasks'), held.lane, now)
    held.lane.comingAt = at
    return at
  }

  /** Those that are written with the counters; `before`: those that were. */
  together(before: readonly Lane[]): Lane[] {
    const changed = [...this.#held.values()].map(({ lane }) => lane)
    const same = before.filter(({ name }) => !this.#held.has(name))
    return [...same, ...changed].filter((lane) => !lane.isApart && isLeft(lane))
  }

  /** All lanes, as they have been flushed: once this transaction is complete. */
  all(): Map<string, Lane> {
    for (const [name, { lane }] of this.#held) {
      if (isLeft(lane)) this.#known.set(name, lane)
      else this.#known.delete(name)
    }
    return this.#known
  }

  #changing({ lane: name, principal }: Pick<TaskRow, 'lane' | 'principal'>): Held {
    const known = this.#held.get(name)
    if (known) return known
    const old = this.#known.get(name)
    if (!old) this.#added++
    const lane = old ?? newLane(name, principal, this.#known.size + this.#added > TOGETHER)
    const held = { lane: { ...lane }, isDirty: false, isUnsure: false }
    this.#held.set(name, held)
    return held
  }
}

/** Tasks of one lane, home and rank that have a due time. */
export interface Queue {
  readonly home: Name
  readonly rank: number
  readonly tasks: number
}

/** A lane knows its queues, the home and rank of what waits in it: so the first of each is one step down an index. */
export interface Lane extends PlainLane {
  readonly principal: Name
  /** Whether it is a row of its own. */
  readonly isApart: boolean
  queues: readonly Queue[]
  /** Its first due time past the one at which it was last looked for; `null`: there was none. Absent in rows of older versions: not known. */
  comingAt?: number | null
}

/** When a claim next finds something in it that it has not found at `now`. What is due is kept back by something else. */
export function comesAt(lane: Lane, now: number): number {
  return readyAt(lane) > now ? readyAt(lane) : (lane.comingAt ?? Number.POSITIVE_INFINITY)
}

/** Whether `comingAt` has to be looked for. */
export const isPast = (lane: Lane, now: number): boolean =>
  readyAt(lane) <= now && (lane.comingAt === undefined || (lane.comingAt !== null && lane.comingAt <= now))

/** The lane's place in line, by the queues that fit: no task of them comes earlier. `undefined`: none may start at `now`. */
export function placeOf(lane: Lane, now: number, fits: (queue: Queue) => boolean): LanePlace | undefined {
  if (!(readyAt(lane) <= now)) return undefined
  let rank = Number.POSITIVE_INFINITY
  for (const queue of lane.queues) if (queue.rank < rank && fits(queue)) rank = queue.rank
  const { name, served, nextDue } = lane
  return rank === Number.POSITIVE_INFINITY ? undefined : { name, served, rank, dueAt: nextDue ?? 0 }
}

export function newLane(name: string, principal: Name, isApart: boolean): Lane {
  const empty = {
    tasks: 0,
    pending: 0,
    inFlight: 0,
    heldUntil: null,
    holdEndsBy: null,
    served: 0,
    nextDue: null,
    queues: [],
  }
  const comingAt = null
  return { name, principal, isApart, ...empty, comingAt }
}

/** Whether there is anything to tell of it. */
export const isShown = (lane: Lane, now: number): boolean => lane.pending > 0 || lane.inFlight > 0 || isHeld(lane, now)

/** A hold that is over for long is none, and who has no task was never served. */
function tidy(lane: Lane, now: number): void {
  if (isHoldOver(lane, now)) {
    lane.heldUntil = null
    lane.holdEndsBy = null
  }
  if (lane.tasks === 0) lane.served = 0
}

/** Else it is forgotten. */
const isLeft = ({ tasks, pending, inFlight, heldUntil }: Lane): boolean =>
  tasks > 0 || pending > 0 || inFlight > 0 || heldUntil !== null

/** Where a task waits, as the index has it. */
export type Waiting = Pick<TaskRow, 'home' | 'rank'> & { readonly dueAt: number }

export const waitingOf = ({ home, rank, dueAt }: TaskRow): Waiting | undefined =>
  // a row that is not sound may have anything there, and a hole of 2^32 places is not to be compared
  dueAt === null ? undefined : { home, rank, dueAt: typeof dueAt === 'number' ? dueAt : Number.NEGATIVE_INFINITY }

/** A task has come to wait, waits no longer, or waits for another time. Says whether `nextDue` and `comingAt` have to be looked for. */
export function moved(lane: Lane, now: number, from: Waiting | undefined, to: Waiting | undefined): boolean {
  if (from && !to) enter(lane, from, -1)
  else if (to && !from) enter(lane, to, 1)
  if (to && (lane.nextDue === null || to.dueAt < lane.nextDue)) lane.nextDue = to.dueAt
  if (to && to.dueAt > now && (lane.comingAt === null || to.dueAt < (lane.comingAt ?? 0))) lane.comingAt = to.dueAt
  if (lane.queues.length === 0) {
    lane.nextDue = null
    lane.comingAt = null
  }
  if (!from || lane.nextDue === null) return false
  return from.dueAt <= lane.nextDue || from.dueAt === lane.comingAt
}

function enter(lane: Lane, { home, rank }: Waiting, by: 1 | -1): void {
  const isSame = (queue: Queue): boolean => queue.home === home && queue.rank === rank
  const tasks = (lane.queues.find(isSame)?.tasks ?? 0) + by
  const others = lane.queues.filter((queue) => !isSame(queue))
  lane.queues = tasks > 0 ? [...others, { home, rank, tasks }] : others
}

/** The first due time after `after`, in all its queues; null: there is none. */
export async function soonestDue(
  tasks: IDBObjectStore,
  { name, queues }: Lane,
  after?: number,
): Promise<number | null> {
  const index = tasks.index('due')
  const firsts = await Promise.all(
    queues.map(async ({ home, rank }) => {
      const queue = [name, home, rank]
      const cursor = await done(index.openKeyCursor(after === undefined ? within(queue) : beyond(queue, after)))
      const at = (cursor?.key as readonly IDBValidKey[] | undefined)?.[3]
      // a row that is not sound may have anything there
      return typeof at === 'number' ? at : Number.POSITIVE_INFINITY
    }),
  )
  const first = Math.min(...firsts)
  return first === Number.POSITIVE_INFINITY ? null : first
}
