/**
 * The one record of counters, and the time that they carry: what every transaction begins with and may end with.
 *
 * The store's time never goes back: when the wall clock is set back, `skewMs` takes it up, and what leaves the store has it
 * taken off. So the step changes one number, and no due time, lease or hold has to be written anew.
 */

import { type Clock, FOREVER } from '../../platform/clock.ts'
import { hostDraw, random128 } from '../../platform/random.ts'
import { LONGEST_LEASE_MS, MOST_PARTS } from '../engine/bounds.ts'
import type { Counters } from '../engine/port.ts'
import { timeOfStep } from '../engine/rules.ts'
import { within } from './keys.ts'
import type { Lane } from './lane-rows.ts'
import { done } from './transact.ts'

/** Login -> until when it counts, by the store's time; Infinity: until its lock is free. */
export type Logins = Readonly<Record<string, number>>

export interface State extends Counters {
  /** Made with the database: another one where the browser has cleared it. */
  readonly id: string
  /** Rises with every transaction that writes. */
  version: number
  /** The second part of its key: the version with which its writer came. Absent: `version`. */
  key?: number
  highWater: number
  /** The store's time less the wall clock's. Never negative: see above. */
  skewMs: number
  /** The wall clock's time at `highWater`: the two and `skewMs` bear each other out. Absent: an older version wrote last. */
  wallAt?: number
  /** Owner -> its guarded leases: see `lease-watch.ts`. */
  guards: Record<string, number>
  /** Those that are no rows of their own. */
  lanes: readonly Lane[]
  /** The principal that requests are made for now; absent: no queue has said yet. */
  principal?: string | null
  /** When that was said, in the wall clock's time. Absent: an older version wrote it, and any declaration is younger. */
  principalSince?: number
  /** Logins that are under way. Absent: none is. */
  logins?: Logins
  /** The browser has been asked to keep this database. */
  persistAsked: boolean
  /** Tasks that were put aside. Absent: none was. */
  unreadable?: number
}

/** A property that only the state has, of all records in `meta`. */
const ONLY = 'only'

const FIRST: Omit<State, 'id'> = {
  version: 0,
  highWater: Number.NEGATIVE_INFINITY,
  skewMs: 0,
  lastSeq: 0,
  lastToken: 0,
  lastServed: 0,
  pending: 0,
  inFlight: 0,
  succeeded: 0,
  exhausted: 0,
  cancelled: 0,
  purged: 0,
  bytes: 0,
  guards: {},
  lanes: [],
  persistAsked: false,
}

/** The state of a database that is new. */
export const firstState = (): State => ({ ...FIRST, id: random128(hostDraw()), [ONLY]: 1 }) as State

/** Written when the database is made, so there always is one. */
export function createState(meta: IDBObjectStore): void {
  meta.createIndex(ONLY, ONLY, { unique: true })
  meta.add(firstState(), ['state', FIRST.version])
}

export function readState(tx: IDBTransaction): Promise<State> {
  return done(tx.objectStore('meta').get(within(['state'])))
}

/** The logins that are under way, each with its end. What no honest writer leaves there is none. */
export function loginsAt({ logins = {} }: State, now: number): [login: string, until: number][] {
  const latest = now + LONGEST_LEASE_MS
  return Object.entries(logins).filter(
    ([, until]) => typeof until === 'number' && until > now && (until <= latest || until === FOREVER),
  )
}

/** The second part of the key under which a state lies. */
export const keyOf = ({ key, version }: State): number => key ?? version

/**
 * Replaces the state that lies under `from`. No two store objects write under one key, and a unique index holds no two states. So who was the
 * last to write puts his anew under `own`, his key, and waits for no answer before: the whole transaction fails where another has written
 * since. Who comes after another has read what is there, and takes it away.
 */
export function replaceState(meta: IDBObjectStore, state: State, from: number, own: number | undefined): void {
  if (from === own) meta.put(state, ['state', from])
  else {
    meta.delete(['state', from])
    state.key = state.version
    meta.add(state, ['state', state.version])
  }
}

/**
 * The store's time. The latest that this store object has seen counts beside what the database says, since a transaction
 * that writes nothing does not write the time either; but not where another has written since: its clock may be another.
 */
export class StoreClock {
  readonly #clock: Clock
  #seen = Number.NEGATIVE_INFINITY
  #seenIn = ''

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The store's time; takes up a step of the wall clock. */
  read(state: State): number {
    const high = this.#seenIn === eraOf(state) ? Math.max(state.highWater, this.#seen) : state.highWater
    const { now, shiftMs } = timeOfStep(this.#clock.now() + state.skewMs, high)
    state.skewMs -= shiftMs
    return now - shiftMs
  }

  saw(now: number, state: State): void {
    this.#seen = now
    this.#seenIn = eraOf(state)
  }
}

const eraOf = ({ id, version }: State): string => `${id} ${version}`

/**
 * Counters and lanes as a store object remembers them from one transaction to the next. The next one works on them at once;
 * where another tab has written since, the database refuses that (see `replaceState`), and it is done again with what is
 * there now. So no tab waits for an answer before it writes.
 */
export interface Snapshot {
  readonly state: State
  /** All of them. */
  readonly lanes: Map<string, Lane>
}

/** The snapshot is stale: another tab has written since, or a task may be here already. */
export class StaleSnapshot extends Error {}

/** Before anything walks along it: see `isSmall`. */
export const isListOfLanes = (lanes: unknown): lanes is readonly Lane[] =>
  Array.isArray(lanes) && lanes.length <= MOST_PARTS

export async function readSnapshot(tx: IDBTransaction): Promise<Snapshot> {
  const apart: Promise<Lane[]> = done(tx.objectStore('lanes').getAll())
  const state = await readState(tx)
  // what is no lane is seen when the database is first looked at
  const together = isListOfLanes(state?.lanes) ? state.lanes : []
  return { state, lanes: new Map([...together, ...(await apart)].map((lane) => [lane?.name, lane])) }
}
