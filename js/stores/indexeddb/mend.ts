/**
 * A look at the database when a store object first writes to it: counters and lanes that other code has changed would stop a
 * whole queue. Where they do not agree with the tasks, as the indexes count them, all are made anew from the tasks, and
 * tasks that cannot be read are put aside on the way.
 */

import { principalIn, RECORD_SCHEMA } from '../../api/records.ts'
import { areCounts, CENTURY_MS, isWithin, Tally, YEAR_MS } from '../engine/tally.ts'
import { beyond, nameOf, within } from './keys.ts'
import { type Lane, moved, newLane, type Queue, TOGETHER, waitingOf } from './lane-rows.ts'
import { lateAtOf, putAside, storedTask, type TaskRow, usable } from './rows.ts'
import { firstState, type Snapshot, type State } from './state.ts'
import { done } from './transact.ts'

/** Rows read at once. */
const PIECE = 256

/** `now`: the wall clock's. */
export async function needsMending(tx: IDBTransaction, { state, lanes }: Snapshot, now: number): Promise<boolean> {
  if (!isSoundState(state, now) || ![...lanes.values()].every((lane) => isSoundLane(lane, latestOf(state, now)))) {
    return true
  }
  const tasks = tx.objectStore('tasks')
  const [areRight, key, pending, inFlight, leased, endless, due] = await Promise.all([
    areQueuesRight(tasks.index('due'), lanes.values()),
    done(tx.objectStore('meta').getKey(['state', state.version])),
    done(tasks.index('status').count(within(['PENDING']))),
    done(tasks.index('status').count(within(['IN_FLIGHT']))),
    done(tasks.index('lease').count()),
    done(tasks.index('lease').count(IDBKeyRange.lowerBound(latestOf(state, now), true))),
    done(tasks.index('due').count()),
  ])
  const sum = (of: (lane: Lane) => number): number => [...lanes.values()].reduce((total, lane) => total + of(lane), 0)
  return (
    key === undefined ||
    pending !== state.pending ||
    inFlight !== state.inFlight ||
    !areRight ||
    leased !== state.inFlight ||
    endless > 0 ||
    sum((lane) => lane.pending) !== pending ||
    sum((lane) => lane.inFlight) !== inFlight ||
    due !== sum(({ queues }) => queues.reduce((total, { tasks: waiting }) => total + waiting, 0))
  )
}

/** Whether each queue has as many tasks as it says: one that says fewer would be forgotten before its last. */
async function areQueuesRight(due: IDBIndex, lanes: Iterable<Lane>): Promise<boolean> {
  const queues = [...lanes].flatMap((lane) => lane.queues.map((queue) => ({ lane: lane.name, ...queue })))
  const found = await Promise.all(queues.map(({ lane, home, rank }) => done(due.count(within([lane, home, rank])))))
  return queues.every(({ tasks }, i) => tasks === found[i])
}

const latestOf = ({ highWater, skewMs }: State, now: number): number => Math.max(now + skewMs, highWater) + YEAR_MS

function isSoundState(state: State | undefined, now: number): state is State {
  if (!state || typeof state.guards !== 'object' || state.guards === null || !Array.isArray(state.lanes)) return false
  const { version, lastSeq, lastToken, lastServed, pending, inFlight, succeeded, exhausted, cancelled, purged } = state
  return (
    typeof state.id === 'string' &&
    areCounts(version, lastSeq, lastToken, lastServed) &&
    areCounts(pending, inFlight, succeeded, exhausted, cancelled, purged, state.bytes, state.unreadable ?? 0) &&
    Number.isFinite(state.skewMs) &&
    isWithin(state.highWater, now + state.skewMs + CENTURY_MS)
  )
}

function isSoundLane(lane: Lane, latest: number): boolean {
  const { name, principal, tasks, pending, inFlight, served, heldUntil, nextDue, comingAt = null, queues } = lane
  return (
    typeof name === 'string' &&
    principal === nameOf(principalIn(name)) &&
    areCounts(tasks, pending, inFlight, served) &&
    tasks >= pending + inFlight &&
    isWithin(heldUntil, latest) &&
    isWithin(nextDue, Number.MAX_VALUE) &&
    isWithin(comingAt, Number.MAX_VALUE) &&
    Array.isArray(queues) &&
    queues.every(isSoundQueue) &&
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
  const state = isSoundState(old, now) ? { ...old } : { ...firstState(), ...kept(old) }
  const latest = latestOf(state, now)
  const tally = new Tally()
  const lanes = new Map<string, Lane>()
  let [put, aside] = [0, 0]
  state.guards = {}
  await eachRow(tx, (found) => {
    const row = usable(found)
    const isRead = row.aside || row.schema > RECORD_SCHEMA || storedTask(row, 0) !== undefined
    const mine = isRead && !row.isBroken ? ended(row, latest) : asideOf(row)
    if (mine !== row || row.isBroken) tx.objectStore('tasks').put(row.isBroken ? putAside(found, mine) : mine)
    if (mine.aside && !row.aside) put++
    if (mine.aside) aside++
    tally.add(mine)
    const { owner, guarded, lane } = mine
    if (guarded === true && owner !== null) state.guards[owner] = (state.guards[owner] ?? 0) + 1
    if (!tally.lanes.has(lane)) return
    const entry = lanes.get(lane) ?? newLane(lane, nameOf(principalIn(lane)), lanes.size >= TOGETHER)
    lanes.set(lane, entry)
    moved(entry, latest - YEAR_MS, undefined, waitingOf(mine))
  })
  tx.objectStore('lanes').clear()
  for (const [name, lane] of lanes) {
    const { heldUntil = null, served = 0 } = known.get(name) ?? {}
    Object.assign(lane, tally.lanes.get(name), {
      heldUntil: isWithin(heldUntil, latest) ? heldUntil : null,
      served: areCounts(served) ? served : 0,
    })
    if (lane.isApart) tx.objectStore('lanes').put(lane)
  }
  Object.assign(state, tally.counts, {
    lastSeq: Math.max(state.lastSeq, tally.lastSeq),
    lastToken: Math.max(state.lastToken, tally.lastToken),
    lanes: [...lanes.values()].filter(({ isApart }) => !isApart),
    unreadable: aside,
    countsDead: true,
  })
  const meta = tx.objectStore('meta')
  meta.delete(within(['state']))
  // what another tab remembers of the old one is stale
  state.version++
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
})

/** A lease that no owner was given ends. */
function ended(row: TaskRow, latest: number): TaskRow {
  const late = lateAtOf(row)
  const lease = row.status === 'IN_FLIGHT' && !isWithin(row.leaseUntil, latest) ? { leaseUntil: 0 } : undefined
  return lease || row.lateAt !== late ? { ...row, ...lease, lateAt: late } : row
}

/** Adds the bodies of dead letters, where the state is of a version that did not count them. Says whether it is. */
export async function countDead(tx: IDBTransaction, state: State): Promise<boolean> {
  if (state.countsDead) return false
  state.countsDead = true
  const dead = tx.objectStore('tasks').index('status')
  for (let after = ''; ; ) {
    const rows: TaskRow[] = await done(dead.getAll(beyond(['EXHAUSTED'], after), PIECE))
    for (const { bodyBytes } of rows.map(usable)) state.bytes += bodyBytes
    if (rows.length < PIECE) return true
    after = rows.at(-1)?.taskId ?? after
  }
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
