/**
 * The cores of a queue that the requests of a Worker share. Timers, promises and bodies belong there to the request that made them, and no
 * other may touch them. So each request that needs a core has one of its own; options, listeners and counts are the queue's.
 */

import type { Call } from '../call/call.ts'
import { type Mark, newMark } from '../platform/request-mark.ts'
import type { QueueContext } from '../runner/context.ts'
import type { TaskManager } from '../runner/manager.ts'
import { type EngineSource, type Loader, loadCore } from './core-loader.ts'

/** A request that has a core says so often that it lives, while something waits there: one that was cut off leaves its tasks, and says nothing. */
const BEAT_MS = 2_000
/** After its last use a core is kept so long by its request, whose callers may be waiting for more than tasks. */
const USED_MS = 30_000
/** The core of a request that says nothing is kept so long. */
const REST_MS = 10_000
/** A request that asks is held against so many of those that wait, and of the others; one that is not among them has a new core. */
const MOST_BUSY = 100
const MOST_AT_REST = 10
/** A call is one of a request that was cut off if it runs so long after its caller has stopped waiting. */
const LATE_MS = 10_000
const MOST_MS = 15 * 60_000

/** A request, as the queue knows it. */
interface Place {
  readonly mark: Mark | undefined
  core?: Loader
  /** Those of `idle()`. */
  readonly waiters: (() => void)[]
  usedAt: number
  heardAt: number
  isBeating?: boolean
}

/** A call that runs. It has nothing of the call itself: one that was cut off never ends. */
interface Running {
  readonly mark: Mark
  readonly until: number
}

export class RequestLoader implements Loader {
  readonly #source: EngineSource
  readonly #host: QueueContext
  /** Those with a core, or with waiters; the one that was used last is the last. */
  readonly #places = new Set<Place>()
  /** The request that asked last. It need not be one of those. */
  #last: Place | undefined
  readonly #running = new Set<Running>()
  readonly #runningOf = new WeakMap<Promise<unknown>, Running>()
  readonly #paused = new Set<string | undefined>()
  #isClosed = false
  #time = 0
  #lookedAt = 0

  constructor(source: EngineSource, host: QueueContext) {
    this.#source = source
    this.#host = host
  }

  get opened(): TaskManager | undefined {
    return this.#here?.opened
  }

  get starting(): Promise<TaskManager | undefined> | undefined {
    return this.#here?.starting
  }

  get failure(): Loader['failure'] {
    return this.#here?.failure
  }

  open(): Promise<TaskManager | undefined> {
    return this.#begin().open()
  }

  /** Needs no core. */
  async signed(call: Call): Promise<Headers | null> {
    const { sign, clock } = this.#host.settings
    return sign ? (await this.#source()).signedFirst(sign, call, clock) : null
  }

  pause(origin: string | undefined): void {
    this.#paused.add(origin)
    this.#here?.pause(origin)
  }

  resume(origin: string | undefined): void {
    if (origin === undefined) this.#paused.clear()
    else this.#paused.delete(origin)
    this.#here?.resume(origin)
  }

  readonly calls: Loader['calls'] = {
    add: (work, { leaveMs }) => {
      const now = this.#host.now()
      for (const each of this.#running) if (each.until < now) this.#running.delete(each)
      const mark = newMark()
      if (!mark) return
      const running = { mark, until: now + Math.min(leaveMs, MOST_MS) + LATE_MS }
      this.#running.add(running)
      this.#runningOf.set(work, running)
    },
    delete: (work) => {
      const running = this.#runningOf.get(work)
      if (running) this.#running.delete(running)
    },
  }

  idle(waiter?: () => void): void {
    if (waiter) this.#keep(this.#find()).waiters.push(waiter)
    for (const { waiters, mark, core } of this.#places) {
      if (waiters.length === 0 || !mark?.()) continue
      if (core?.opened?.runner.depth || [...this.#running].some((call) => call.mark())) return
      for (const resolve of waiters.splice(0)) resolve()
    }
  }

  async close(drainMs: number): Promise<void> {
    this.#isClosed = true
    const places = [...this.#places]
    // calls of other requests cannot be waited for
    await Promise.all(places.map(({ core }) => core?.close(drainMs)))
    for (const { waiters, mark } of places) if (!mark?.()) for (const resolve of waiters.splice(0)) resolve()
  }

  /** The core of the request whose code runs now. Where none has one, it takes no time to say so. */
  get #here(): Loader | undefined {
    return this.#places.size > 0 ? this.#find().core : undefined
  }

  #begin(): Loader {
    const place = this.#keep(this.#find())
    if (!place.core) {
      place.core = loadCore(this.#source, this.#host)
      for (const origin of this.#paused) place.core.pause(origin)
    }
    return place.core
  }

  #find(): Place {
    const time = this.#now()
    let here = this.#last
    if (!here?.mark?.()) {
      here = this.#search() ?? { mark: newMark(), waiters: [], usedAt: time, heardAt: time }
      this.#last = here
      this.#sweep(here)
    }
    here.usedAt = here.heardAt = time
    return here
  }

  #search(): Place | undefined {
    let busy = 0
    let others = 0
    for (const place of [...this.#places].reverse()) {
      if (place === this.#last || (isBusy(place) ? ++busy > MOST_BUSY : ++others > MOST_AT_REST)) continue
      if (!place.mark?.()) continue
      this.#places.delete(place)
      this.#places.add(place)
      return place
    }
    return undefined
  }

  #sweep(here: Place): void {
    for (const place of this.#places) {
      if (place === here || place.heardAt + REST_MS > this.#time) continue
      this.#places.delete(place)
      // its callers have their answers, or are gone
      void place.core?.close(0).catch(() => {})
    }
  }

  #keep(place: Place): Place {
    this.#places.add(place)
    if (!place.isBeating) this.#beat(place)
    return place
  }

  #beat(place: Place): void {
    const { clock } = this.#host.settings
    place.heardAt = this.#now()
    place.isBeating = !this.#isClosed && (isBusy(place) || place.usedAt + USED_MS > place.heardAt)
    if (place.isBeating) clock.after(BEAT_MS, () => this.#beat(place), true)
  }

  /** The time, without that in which nothing ran here: after it each request can first say that it lives. */
  #now(): number {
    const now = this.#host.now()
    this.#time += Math.min(now - this.#lookedAt, BEAT_MS)
    this.#lookedAt = now
    return this.#time
  }
}

/** Something waits there, or its core is still to come. */
const isBusy = ({ core, waiters }: Place): boolean =>
  waiters.length > 0 || (core !== undefined && core.opened?.runner.depth !== 0)
