/**
 * Lane rows: what a turn must know of thousands of tasks without reading one of them. A lane knows its queues, the home
 * and rank of what waits in it, so the first of each is one step down an index.
 */

import { beyond, type Name, within } from './keys.ts'
import { done } from './request.ts'
import type { TaskRow } from './rows.ts'

/** Tasks of one lane, home and rank that have a due time. */
export interface Queue {
  readonly home: Name
  readonly rank: number
  readonly tasks: number
}

export interface Lane {
  readonly name: string
  readonly principal: Name
  /** It is a row of its own: see `lane-rows.ts`. */
  readonly isApart: boolean
  /** Of whatever status: without any, the lane is nothing but its hold. */
  tasks: number
  pending: number
  inFlight: number
  /** null: not held. */
  heldUntil: number | null
  /** The higher, the later a task of it was claimed; 0: never. */
  served: number
  /** When the first task of it is due; null: none is. */
  nextDue: number | null
  queues: readonly Queue[]
}

export function newLane(name: string, principal: Name, isApart: boolean): Lane {
  const empty = { tasks: 0, pending: 0, inFlight: 0, heldUntil: null, served: 0, nextDue: null, queues: [] }
  return { name, principal, isApart, ...empty }
}

export const isHeld = ({ heldUntil }: Lane, now: number): boolean => heldUntil !== null && heldUntil > now

/** Whether there is anything to tell of it. */
export const isShown = (lane: Lane, now: number): boolean => lane.pending > 0 || lane.inFlight > 0 || isHeld(lane, now)

/** A hold that is over is none, and who has no task was never served. */
export function tidy(lane: Lane, now: number): void {
  if (!isHeld(lane, now)) lane.heldUntil = null
  if (lane.tasks === 0) lane.served = 0
}

/** Else it is forgotten. */
export const isLeft = ({ tasks, heldUntil }: Lane): boolean => tasks > 0 || heldUntil !== null

/** When its first task may start; Infinity: none has a due time. */
export const readyAt = ({ nextDue, heldUntil }: Lane): number =>
  nextDue === null ? Number.POSITIVE_INFINITY : Math.max(nextDue, heldUntil ?? nextDue)

export function hold(lane: Lane, until: number): void {
  lane.heldUntil = Math.max(lane.heldUntil ?? until, until)
}

/** Where a task waits, as the index has it. */
export type Waiting = Pick<TaskRow, 'home' | 'rank'> & { readonly dueAt: number }

export const waitingOf = ({ home, rank, dueAt }: TaskRow): Waiting | undefined =>
  dueAt === null ? undefined : { home, rank, dueAt }

/** A task has come to wait, waits no longer, or waits for another time. Says whether `nextDue` has to be looked for. */
export function moved(lane: Lane, from: Waiting | undefined, to: Waiting | undefined): boolean {
  if (from && !to) enter(lane, from, -1)
  else if (to && !from) enter(lane, to, 1)
  if (to && (lane.nextDue === null || to.dueAt < lane.nextDue)) lane.nextDue = to.dueAt
  if (lane.queues.length === 0) lane.nextDue = null
  return from !== undefined && lane.nextDue !== null && from.dueAt <= lane.nextDue
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
      return cursor ? ((cursor.key as readonly IDBValidKey[])[3] as number) : Number.POSITIVE_INFINITY
    }),
  )
  const first = Math.min(...firsts)
  return first === Number.POSITIVE_INFINITY ? null : first
}
