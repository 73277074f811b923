/**
 * Lanes by name. A lane is one principal's requests to one origin; the core knows it by number. Here is also decided which lanes
 * stand still: those that were paused, and those of a principal who is not signed in.
 *
 * Over a store for everyone the core has one lane for each origin: a server that is down is down for all who send to it, so its gates
 * are one. The holds of each principal are the store's there.
 */

import { type Bound, laneName, originIn } from '../api/store.ts'
import type { Calls } from '../core/calls.ts'
import {
  NONE,
  OP_DROP_LANE,
  OP_LANE,
  OP_PAUSE,
  OP_RESUME,
  OP_ROOM,
  OP_ROOM_FOR_FIRST,
  OP_TRIES_OUT,
} from '../core/codes.ts'
import type { QueueContext } from './context.ts'

/** A page talks to few origins, a crawler to many: past this, lanes that hold nothing are forgotten. */
const KEPT = 256

interface Lane {
  readonly name: string
  readonly principal: string | null
  readonly origin: string
  readonly handle: number
}

export class Lanes {
  readonly #core: Calls
  readonly #host: QueueContext
  readonly #isEveryones: boolean
  readonly #byName = new Map<string, Lane>()
  readonly #byHandle = new Map<number, Lane>()
  /** The lane that was asked for last: tasks of one lane come in rows. */
  #last: Lane | undefined
  /** Lanes that may have less room than the limit: their number was asked for since they were last seen to have all of it. */
  readonly #short = new Set<Lane>()
  readonly #paused = new Set<string>()
  #allPaused = false
  #isForeign = false

  constructor(core: Calls, host: QueueContext) {
    this.#core = core
    this.#host = host
    this.#isEveryones = host.settings.store?.everyone === true
  }

  of(of: string | null, origin: string): number {
    const principal = this.#whose(of)
    const known = this.find(principal, origin)
    if (known !== undefined) return known
    const name = laneName(principal, origin)
    if (this.#byName.size >= KEPT) this.#dropIdle()
    const handle = this.#core.call(OP_LANE)
    const lane = { name, principal, origin, handle }
    this.#byName.set(name, lane)
    this.#byHandle.set(handle, lane)
    this.#short.add(lane)
    if (!this.#mayStart(principal, origin)) this.#core.call(OP_PAUSE, handle)
    return handle
  }

  /** The lane's number; undefined: nothing was queued for it so far. */
  find(of: string | null, origin: string): number | undefined {
    const principal = this.#whose(of)
    const last = this.#last
    if (last?.origin !== origin || last.principal !== principal) return this.named(laneName(principal, origin))
    this.#short.add(last)
    return last.handle
  }

  /** The number of a lane, by its whole name. */
  named(name: string): number | undefined {
    const lane = this.#byName.get(this.#isEveryones ? originIn(name) : name)
    if (!lane) return undefined
    this.#last = lane
    this.#short.add(lane) // the question may come before a change of its room
    return lane.handle
  }

  /** The lane that the core names. */
  at(handle: number): Pick<Lane, 'principal' | 'origin'> | undefined {
    return this.#byHandle.get(handle)
  }

  /**
   * Lanes of the principal that have less room at `now` than `perLane`, and how much. Those of which nothing was asked since they
   * had all of it are not looked at: there may be ten thousand.
   */
  bounds(now: number, perLane: number): Bound[] {
    const bounds: Bound[] = []
    for (const lane of this.#short) {
      const { name, principal, handle } = lane
      // those of others are looked at again when the principal changes
      const isOwn = principal === this.#host.principal
      const max = isOwn ? this.#core.call(OP_ROOM, now, handle) : perLane
      const leastTried = isOwn && max > 0 && this.#core.call(OP_TRIES_OUT, now, handle) === 1
      // retries wait for a token, and first attempts cost none
      const first = max === 0 ? this.#core.call(OP_ROOM_FOR_FIRST, now, handle) : 0
      if (first > 0) bounds.push({ lane: name, max: first, untried: true })
      else if (leastTried) bounds.push({ lane: name, max, leastTried })
      else if (max < perLane) bounds.push({ lane: name, max })
      else this.#short.delete(lane)
    }
    return bounds
  }

  /** Takes note that the lane of a task may have less room now. */
  changed({ principal, origin }: Pick<Lane, 'principal' | 'origin'>): void {
    this.find(principal, origin)
  }

  /** Takes note that any lane may have less room now. */
  lookAgain(): void {
    for (const lane of this.#byName.values()) this.#short.add(lane)
  }

  all(): Iterable<Lane> {
    return this.#byName.values()
  }

  /** Whether requests of this principal are not to be sent now. */
  isOthers(principal: string | null): boolean {
    return this.isForeign || this.#whose(principal) !== this.#host.principal
  }

  /** Whether a lane is neither paused nor of another principal. */
  maySend(principal: string | null, origin: string): boolean {
    return !this.#allPaused && this.#mayStart(principal, origin)
  }

  /** Another user is signed in, in another tab, or one is logging in here: all lanes stand still. */
  get isForeign(): boolean {
    return this.#isForeign || this.#host.switching !== undefined
  }

  /** Whether everything is paused. */
  get isPaused(): boolean {
    return this.#allPaused
  }

  pause(origin: string | undefined): void {
    this.lookAgain()
    if (origin === undefined) {
      this.#allPaused = true
      this.#core.call(OP_PAUSE, NONE)
      return
    }
    this.#paused.add(origin)
    for (const lane of this.#byName.values()) if (lane.origin === origin) this.#core.call(OP_PAUSE, lane.handle)
  }

  /** Forgets every lane, with its gates and holds: a test begins anew. What runs in one ends there. */
  forget(): void {
    this.#last = undefined
    for (const lanes of [this.#byName, this.#byHandle, this.#short]) lanes.clear()
  }

  /** Lets the lanes of an origin go on, or all; those of another principal still stand. */
  resume(now: number, origin: string | undefined): void {
    if (origin === undefined) {
      this.#allPaused = false
      this.#paused.clear()
      this.#core.call(OP_RESUME, now, NONE)
    } else this.#paused.delete(origin)
    this.lookAgain()
    for (const lane of this.#byName.values()) this.#refresh(lane, now, origin)
  }

  /** Follows a change of principal: lanes of others stand still, its own go on. */
  switchPrincipal(now: number): void {
    this.lookAgain()
    for (const lane of this.#byName.values()) this.#refresh(lane, now, lane.origin)
  }

  /** Stops all lanes while another tab's user is signed in, with whose cookies every request would be sent. */
  standBack(now: number, isForeign: boolean): void {
    if (this.#isForeign === isForeign) return
    this.#isForeign = isForeign
    this.switchPrincipal(now)
  }

  #refresh({ principal, origin, handle }: Lane, now: number, only: string | undefined): void {
    if (!this.#mayStart(principal, origin)) this.#core.call(OP_PAUSE, handle)
    else if (only === origin) this.#core.call(OP_RESUME, now, handle)
  }

  #mayStart(principal: string | null, origin: string): boolean {
    return !this.isOthers(principal) && !this.#paused.has(origin)
  }

  /** The principal by which a lane is known here. */
  #whose(principal: string | null): string | null {
    return this.#isEveryones ? this.#host.principal : principal
  }

  /**
   * Looks at those two lanes that were looked at longest ago. So more are forgotten than come, and what is kept are lanes with
   * tasks, holds, or gates that have something to remember. A pause is remembered here, and reported anew.
   */
  #dropIdle(): void {
    let looks = 2
    for (const lane of this.#byName.values()) {
      if (looks-- === 0) return
      const { name, handle } = lane
      this.#byName.delete(name)
      if (this.#core.call(OP_DROP_LANE, handle)) {
        if (this.#last === lane) this.#last = undefined
        this.#byHandle.delete(handle)
        this.#short.delete(lane)
      } else this.#byName.set(name, lane)
    }
  }
}
