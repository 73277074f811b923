/**
 * A look at the database when a store object first writes to it: counters and lanes that other code has changed would stop a
 * whole queue. Where they do not agree with the tasks, as the indexes count them, all are made anew from the tasks, and
 * tasks that cannot be read are put aside on the way. Many tasks are counted once the queue is quiet, which one that is stopped is.
 */

import { principalIn } from '../../api/records.ts'
import { DAY_MS } from '../../platform/clock.ts'
import { LONGEST_HOLD_MS, LONGEST_LEASE_MS } from '../engine/bounds.ts'
import { isLive } from '../engine/row.ts'
import { isLater } from '../engine/rules.ts'
import { areCounts, forgetToken, isSoundHold, isWithin, Tally } from '../engine/tally.ts'
import { isName, nameOf, ownName, within } from './keys.ts'
import { type Lane, moved, newLane, type Queue, soonestDue, TOGETHER, waitingOf } from './lane-rows.ts'
import { lateAtOf, putAside, putOut, storedTask, type TaskRow, usable } from './rows.ts'
import { firstState, isListOfLanes, keyOf, type Snapshot, type State } from './state.ts'
import { done } from './transact.ts'

/** Rows read at once. */
const PIECE = 256

/** With more tasks than these an index is counted when nothing else waits for it: a browser takes up to 16 us for each. */
const FEW = 500

/**
 * Whether counters and lanes agree with each other, and with the tasks. 'uncounted': with each other they do, and the tasks are too many to
 * be counted while a step waits; `isThorough`: they are counted all the same. `now`: the wall clock's.
 */
export async function lookAt(
  tx: IDBTransaction,
  { state, lanes }: Snapshot,
  now: number,
  isThorough: boolean,
): Promise<'right' | 'wrong' | 'uncounted'> {
  if (!isSoundState(state, now)) return 'wrong'
  const seen = seenAt(state, now)
  if (![...lanes.values()].every((lane) => isSoundLane(lane, seen + LONGEST_HOLD_MS))) return 'wrong'
  const sum = (of: (lane: Lane) => number): number => [...lanes.values()].reduce((total, lane) => total + of(lane), 0)
  const tasks = tx.objectStore('tasks')
  const [isAnyLate, key, inFlight, leased, endless, some] = await Promise.all([
    areLate(tasks, lanes.values(), seen),
    done(tx.objectStore('meta').getKey(['state', keyOf(state)])),
    done(tasks.index('own').count(within(['IN_FLIGHT']))),
    done(tasks.index('lease').count()),
    done(tasks.index('lease').count(IDBKeyRange.lowerBound(seen + LONGEST_LEASE_MS, true))),
    done(tasks.index('own').getAllKeys(within(['PENDING']), FEW + 1)),
  ])
  const agree =
    key !== undefined &&
    inFlight === state.inFlight &&
    leased === state.inFlight &&
    endless === 0 &&
    !isAnyLate &&
    isWithout(
      sum((lane) => lane.pending),
      state.pending,
      state.unreadable,
    ) &&
    sum((lane) => lane.inFlight) === inFlight
  if (!agree) return 'wrong'
  if (some.length > FEW && !isThorough) return 'uncounted'
  const [areRight, pending, due] = await Promise.all([
    areQueuesRight(tasks.index('due'), lanes.values()),
    done(tasks.index('own').count(within(['PENDING']))),
    done(tasks.index('due').count()),
  ])
  const waiting = sum(({ queues }) => queues.reduce((total, { tasks }) => total + tasks, 0))
  return areRight && pending === state.pending && due === waiting ? 'right' : 'wrong'
}

/** Whether lanes count all that is pending but what was put aside: of `unreadable` some may have been put aside as ended tasks. */
const isWithout = (inLanes: number, pending: number, unreadable = 0): boolean =>
  inLanes <= pending && inLanes + unreadable >= pending

/** Whether each queue has as many tasks as it says: one that says fewer would be forgotten before its last. */
async function areQueuesRight(due: IDBIndex, lanes: Iterable<Lane>): Promise<boolean> {
  const queues = [...lanes].flatMap((lane) => lane.queues.map((queue) => ({ lane: lane.name, ...queue })))
  const found = await Promise.all(queues.map(({ lane, home, rank }) => done(due.count(within([lane, home, rank])))))
  return queues.every(({ tasks }, i) => tasks === found[i])
}

/** Whether a lane says that it comes due later than its first task: until then none would look at it. */
async function areLate(tasks: IDBObjectStore, lanes: Iterable<Lane>, seen: number): Promise<boolean> {
  const waiting = [...lanes].filter(({ nextDue }) => nextDue !== null && nextDue > seen)
  const soonest = await Promise.all(waiting.map((lane) => soonestDue(tasks, lane)))
  return waiting.some(({ nextDue }, i) => (nextDue ?? 0) > (soonest[i] ?? Number.POSITIVE_INFINITY))
}

/** The latest time that a step has seen, or that the next one will see. */
const seenAt = ({ highWater, skewMs }: State, now: number): number => Math.max(now + skewMs, highWater)

/** A clock was not set back by more, all in all. */
const CENTURY_MS = 36_525 * DAY_MS
const isSkew = (skewMs: unknown): skewMs is number => typeof skewMs === 'number' && skewMs >= 0 && skewMs <= CENTURY_MS

/** Whether the numbers that the store's time is made of bear each other out. One that is wrong would end every task for its deadline. */
function isTime({ highWater, skewMs, wallAt }: State, now: number): boolean {
  if (!isSkew(skewMs) || !isWithin(highWater, now + skewMs + CENTURY_MS)) return false
  return wallAt === undefined || (typeof wallAt === 'number' && Math.abs(highWater - skewMs - wallAt) < 1)
}

/** The store's time, made anew of the numbers that are left. */
function timeOf(old: State | undefined, now: number): Pick<State, 'highWater' | 'skewMs'> {
  if (old && isTime(old, now)) return { highWater: old.highWater, skewMs: old.skewMs }
  const { highWater, skewMs, wallAt } = old ?? {}
  const apart = typeof highWater === 'number' && typeof wallAt === 'number' ? highWater - wallAt : undefined
  const shortest = Math.min(...[skewMs, apart].filter(isSkew))
  const skew = Number.isFinite(shortest) ? shortest : 0
  return { highWater: now + skew, skewMs: skew }
}

function isSoundState(state: State | undefined, now: number): state is State {
  if (!state || typeof state.guards !== 'object' || state.guards === null || !isListOfLanes(state.lanes)) return false
  if (state.logins !== undefined && (typeof state.logins !== 'object' || state.logins === null)) return false
  const { version, lastSeq, lastToken, lastServed, pending, inFlight, succeeded, exhausted, cancelled, purged } = state
  return (
    typeof state.id === 'string' &&
    areCounts(version, keyOf(state), lastSeq, lastToken, lastServed) &&
    areCounts(pending, inFlight, succeeded, exhausted, cancelled, purged, state.bytes, state.unreadable ?? 0) &&
    isTime(state, now)
  )
}

/** A lane has no more of them than tasks. */
const MOST_QUEUES = 2 ** 20

function isSoundLane(lane: Lane, latest: number): boolean {
  if (typeof lane !== 'object' || lane === null) return false
  const { name, principal, tasks, pending, inFlight, served, nextDue, comingAt = null, queues } = lane
  return (
    typeof name === 'string' &&
    principal === nameOf(principalIn(name)) &&
    areCounts(tasks, pending, inFlight, served) &&
    tasks >= pending + inFlight &&
    isSoundHold(lane, latest) &&
    isWithin(nextDue, Number.MAX_VALUE) &&
    isWithin(comingAt, Number.MAX_VALUE) &&
    Array.isArray(queues) &&
    queues.length <= MOST_QUEUES &&
    // not `every`, which walks along the holes of an array
    [...queues].every(isSoundQueue) &&
    (nextDue === null) === (queues.length === 0)
  )
}

const isSoundQueue = (queue: Queue): boolean =>
  typeof queue === 'object' &&
  queue !== null &&
  areCounts(queue.tasks) &&
  (typeof queue.home === 'string' || queue.home === nameOf(null)) &&
  Number.isFinite(queue.rank)

export interface Mended extends Snapshot {
  /** Tasks that were put aside. */
  readonly unreadable: number
}

export async function mended(tx: IDBTransaction, { state: old, lanes: known }: Snapshot, now: number): Promise<Mended> {
  const state = isSoundState(old, now) ? { ...old } : { ...firstState(), ...kept(old), ...timeOf(old, now) }
  const seen = seenAt(state, now)
  const orders = new Orders()
  const tally = new Tally()
  const lanes = new Map<string, Lane>()
  let [put, aside] = [0, 0]
  state.guards = {}
  await eachRow(tx, (found) => {
    const row = usable(found)
    const isRead = row.aside || isLater(row) || storedTask(row, 0) !== undefined
    const mine = isRead && !row.isBroken ? ended(row, seen + LONGEST_LEASE_MS) : asideOf(row)
    orders.add(mine)
    if (mine !== row || row.isBroken) tx.objectStore('tasks').put(row.isBroken ? putAside(found, mine) : mine)
    if (mine.aside && !row.aside) put++
    if (mine.aside) aside++
    tally.add(mine)
    const { owner, guarded, lane } = mine
    if (guarded === true && owner !== null) state.guards[owner] = (state.guards[owner] ?? 0) + 1
    if (!tally.lanes.has(lane)) return
    const entry = lanes.get(lane) ?? newLane(lane, nameOf(principalIn(lane)), lanes.size >= TOGETHER)
    lanes.set(lane, entry)
    moved(entry, seen, undefined, waitingOf(mine))
  })
  for (const row of orders.withoutHead()) {
    row.behind = 0
    if (row.parkedIn === null) row.dueAt = Math.max(row.turnAt, seen)
    tx.objectStore('tasks').put(row)
    const entry = lanes.get(row.lane)
    if (entry) moved(entry, seen, undefined, waitingOf(row))
  }
  tx.objectStore('lanes').clear()
  for (const [name, lane] of lanes) {
    const { heldUntil = null, holdEndsBy = heldUntil, served = 0 } = known.get(name) ?? {}
    const isSound = isSoundHold({ heldUntil, holdEndsBy }, seen + LONGEST_HOLD_MS)
    Object.assign(lane, tally.lanes.get(name), {
      heldUntil: isSound ? heldUntil : null,
      holdEndsBy: isSound ? holdEndsBy : null,
      served: areCounts(served) ? served : 0,
    })
    if (lane.isApart) tx.objectStore('lanes').put(lane)
  }
  Object.assign(state, tally.counts, {
    lastSeq: Math.max(state.lastSeq, tally.lastSeq),
    lastToken: Math.max(state.lastToken, tally.lastToken),
    lanes: [...lanes.values()].filter(({ isApart }) => !isApart),
    unreadable: aside,
  })
  const meta = tx.objectStore('meta')
  meta.delete(within(['state']))
  // what another tab remembers of the old one is stale
  state.version++
  state.key = state.version
  meta.add(state, ['state', state.version])
  return { state, lanes, unreadable: put }
}

/** The numbers that are sound, of a state that is not. */
function kept(old: State | undefined): Partial<State> {
  const numbers = ['lastSeq', 'lastToken', 'lastServed', 'purged'] as const
  const sound = numbers.flatMap((name) => (areCounts(old?.[name]) ? [[name, old?.[name]]] : []))
  const { id, principal, principalSince } = old ?? {}
  return {
    ...Object.fromEntries(sound),
    ...(typeof id === 'string' && { id }),
    ...((principal === null || typeof principal === 'string') && { principal }),
    ...(typeof principalSince === 'number' && { principalSince }),
  }
}

const asideOf = (row: TaskRow): TaskRow => ({
  ...row,
  status: row.status === 'IN_FLIGHT' ? 'PENDING' : row.status,
  aside: true,
  ...{ dueAt: null, lateAt: null, leaseUntil: null, owner: null, parkedIn: null },
  ...putOut(row),
})

/** Orders whose head was put aside: all others of it would wait for ever. */
class Orders {
  readonly #first = new Map<string, TaskRow>()

  add(row: TaskRow): void {
    const { principal, orderKey, behind } = row
    if (orderKey === null || !isLive(row) || !isName(principal) || (row.aside && !isLater(row))) return
    const name = ownName(principal, orderKey)
    const first = this.#first.get(name)
    if (!first || isBefore(row, first)) this.#first.set(name, { ...row, behind })
  }

  withoutHead(): TaskRow[] {
    return [...this.#first.values()].filter(
      ({ behind, status, aside }) => behind === 1 && status === 'PENDING' && !aside,
    )
  }
}

const isBefore = (a: TaskRow, b: TaskRow): boolean =>
  (a.behind ?? 1) - (b.behind ?? 1) < 0 || (a.behind === b.behind && a.seq < b.seq)

/** A lease that no owner was given ends. */
function ended(row: TaskRow, latest: number): TaskRow {
  const late = lateAtOf(row)
  const mine = { ...row, lateAt: late }
  const isForgotten = forgetToken(mine)
  const isEndless = row.status === 'IN_FLIGHT' && !isWithin(row.leaseUntil, latest)
  if (isEndless) mine.leaseUntil = 0
  return isForgotten || isEndless || row.lateAt !== late ? mine : row
}

async function eachRow(tx: IDBTransaction, work: (row: TaskRow) => void): Promise<void> {
  const tasks = tx.objectStore('tasks')
  for (let after: IDBValidKey | undefined; ; ) {
    const range = after === undefined ? null : IDBKeyRange.lowerBound(after, true)
    const rows: TaskRow[] = await done(tasks.getAll(range, PIECE))
    for (const row of rows) work(row)
    if (rows.length < PIECE) return
    after = rows.at(-1)?.taskId
  }
}
