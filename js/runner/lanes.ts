/**
 * Lanes by name. A lane is one principal's requests to one origin; the core knows it by number. Here is also decided which lanes
 * stand still: those that were paused, and those of a principal who is not signed in.
 */

import { laneName } from '../api/store.ts'
import { NONE } from '../core/codes.ts'
import type { CoreQueue } from '../core/generated/queue/glue.js'
import type { QueueContext } from './context.ts'

/** A page talks to few origins, a crawler to many: past this, lanes that hold nothing are let go. */
const SWEEP_AT = 256

interface Lane {
  readonly principal: string | null
  readonly origin: string
  readonly handle: number
}

export class Lanes {
  readonly #core: CoreQueue
  readonly #host: QueueContext
  readonly #byName = new Map<string, Lane>()
  readonly #paused = new Set<string>()
  #allPaused = false
  #isForeign = false
  #sweepAt = SWEEP_AT

  constructor(core: CoreQueue, host: QueueContext) {
    this.#core = core
    this.#host = host
  }

  of(principal: string | null, origin: string): number {
    const name = laneName(principal, origin)
    const known = this.#byName.get(name)
    if (known) return known.handle
    if (this.#byName.size >= this.#sweepAt) this.#sweep()
    const handle = this.#core.lane()
    this.#byName.set(name, { principal, origin, handle })
    if (!this.#mayStart(principal, origin)) this.#core.pause(handle)
    return handle
  }

  /** The lane's number; undefined: nothing was queued for it so far. */
  find(principal: string | null, origin: string): number | undefined {
    return this.#byName.get(laneName(principal, origin))?.handle
  }

  /** The number of a lane, by its whole name. */
  named(name: string): number | undefined {
    return this.#byName.get(name)?.handle
  }

  /** The origin of a lane that the core names. */
  originOf(handle: number): string | undefined {
    for (const lane of this.#byName.values()) if (lane.handle === handle) return lane.origin
    return undefined
  }

  entries(): Iterable<[name: string, lane: Lane]> {
    return this.#byName
  }

  /** Whether a lane is neither paused nor of another principal. */
  maySend(principal: string | null, origin: string): boolean {
    return !this.#allPaused && this.#mayStart(principal, origin)
  }

  /** Another user is signed in, in another tab, or one is logging in here: all lanes stand still. */
  get isForeign(): boolean {
    return this.#isForeign || this.#host.switching !== undefined
  }

  pause(origin: string | undefined): void {
    if (origin === undefined) {
      this.#allPaused = true
      this.#core.pause(NONE)
      return
    }
    this.#paused.add(origin)
    for (const lane of this.#byName.values()) if (lane.origin === origin) this.#core.pause(lane.handle)
  }

  /** Lets the lanes of an origin go on, or all; those of another principal still stand. */
  resume(now: number, origin: string | undefined): void {
    if (origin === undefined) {
      this.#allPaused = false
      this.#paused.clear()
      this.#core.resume(now, NONE)
    } else this.#paused.delete(origin)
    for (const lane of this.#byName.values()) this.#refresh(lane, now, origin)
  }

  /** Follows a change of principal: lanes of others stand still, its own go on. */
  switchPrincipal(now: number): void {
    for (const lane of this.#byName.values()) this.#refresh(lane, now, lane.origin)
  }

  /** Stops all lanes while another tab's user is signed in, with whose cookies every request would be sent. */
  standBack(now: number, isForeign: boolean): void {
    this.#isForeign = isForeign
    this.switchPrincipal(now)
  }

  #refresh({ principal, origin, handle }: Lane, now: number, only: string | undefined): void {
    if (!this.#mayStart(principal, origin)) this.#core.pause(handle)
    else if (only === origin) this.#core.resume(now, handle)
  }

  #mayStart(principal: string | null, origin: string): boolean {
    return !this.isForeign && principal === this.#host.principal && !this.#paused.has(origin)
  }

  #sweep(): void {
    for (const [name, { handle }] of this.#byName) {
      if (this.#core.dropLane(handle)) this.#byName.delete(name)
    }
    // when most are in use, look again only after as many more
    this.#sweepAt = Math.max(SWEEP_AT, this.#byName.size * 2)
  }
}
