/** A world in progress: lets a scenario's steps and all that follows from them happen, and checks what must hold after each. */

import type { TaskStore } from '../../js/api/store.ts'
import type { Clock } from '../../js/platform/clock.ts'
import { acting } from './acts.ts'
import { Book } from './book.ts'
import { Callers } from './callers.ts'
import { compare } from './compare.ts'
import type { Silence } from './faulty-store.ts'
import { Handover } from './handover.ts'
import type { Page } from './page.ts'
import { type Network, Process } from './process.ts'
import { recorder, Traffic } from './recorder.ts'
import type { Scenario, Step } from './scenario.ts'
import { Server } from './server.ts'
import { Stores } from './stores.ts'
import { drain, VirtualTime } from './time.ts'

/** More than any world needs: one that goes on beyond it does not come to rest. */
const MOST_EVENTS = 60_000
const MOST_TASKS = 10_000

/** Makes something wrong, to see whether that is noticed. */
export interface Breaking {
  readonly store?: (store: TaskStore) => TaskStore
  readonly clock?: (clock: Clock) => Clock
  readonly fetch?: (send: typeof fetch) => typeof fetch
  /** Changes code for the length of a world; returns what changes it back. */
  readonly code?: () => () => void
}

export class World {
  readonly scenario: Scenario
  readonly time: VirtualTime = new VirtualTime()
  readonly book: Book
  readonly server: Server
  readonly callers: Callers
  readonly stores: Stores
  readonly processes: readonly Process[]
  readonly network: Network = { online: true, told: true }
  readonly silence: Silence = { until: 0, hangs: false }
  /** Where processes are tabs. */
  readonly handover: Handover | undefined
  events = 0
  readonly #traffic = new Traffic()

  constructor(scenario: Scenario, breaking: Breaking = {}) {
    const {
      concurrency,
      perOrigin,
      seed,
      hints,
      capacity = MOST_TASKS,
      strips = false,
      rate,
      limitsFirst = false,
      hooks = false,
      isSteady = false,
    } = scenario
    this.scenario = scenario
    const isFenced = scenario.store === 'tabs' || scenario.store === 'indexeddb'
    const limits = {
      total: concurrency,
      perLane: perOrigin,
      capacity,
      isFenced,
      seesTheGone: scenario.store === 'sqlite',
    }
    this.book = new Book(limits, this.time)
    this.server = new Server(this.book, this.time, isSteady)
    this.callers = new Callers(this.book, this.server)
    this.stores = new Stores(scenario.store, this.time)
    const { time, book, server, stores, silence } = this
    const connect = (owner: string, page?: Page) => {
      const { store, letGo } = stores.connect(page)
      const gone = () => {
        letGo()
        if (!stores.tellsTheGone) return
        book.gone.set(owner, time.elapsed)
        book.loosen(owner)
      }
      return { store: recorder(breaking.store?.(store) ?? store, book, owner, this.#traffic, page), letGo: gone }
    }
    const { tabs } = stores
    const tabbed = tabs && { network: this.network, skewMs: () => stores.offsetMs }
    const limited = { concurrency, perOrigin, capacity, limitsFirst, hooks, ...(rate ? { rate } : {}) }
    const surroundings = { seed, time, book, server, hints, connect, silence, strips, breaking, ...limited, ...tabbed }
    this.processes = scenario.processes.map((spec, i) => new Process(`p${i}`, spec, surroundings))
    this.handover = tabs && new Handover(this.book, tabs, this)
  }

  /** Goes through the steps. */
  async play(): Promise<void> {
    for (const process of this.processes) await this.open(process)
    for (const step of this.scenario.steps) {
      await this.until(step.at)
      if (this.book.violation) return
      await this.take(step)
    }
  }

  async take(step: Step): Promise<void> {
    this.time.elapsed = Math.max(this.time.elapsed, step.at)
    this.book.note(() => `-- ${JSON.stringify(step)}`)
    await acting(this, step)
    await this.rest()
    if (!this.book.violation) await compare(this.book, this.stores.observer)
  }

  /** Lets happen all that does until then, or until it is `over`. Says whether it was. */
  async until(at: number, over: () => boolean = () => false): Promise<boolean> {
    await this.rest()
    while (!this.book.violation) {
      if (over()) return true
      if (this.time.nextAt > at) break
      this.time.runNext()
      await this.rest()
    }
    if (at < Number.POSITIVE_INFINITY) this.time.elapsed = Math.max(this.time.elapsed, at)
    return over()
  }

  /** Lets happen what needs no time. */
  async rest(): Promise<void> {
    await drain(() => !this.stores.isAtOnce && this.#traffic.isBusy)
    this.handover?.check()
    this.book.holds.check()
    if (++this.events > MOST_EVENTS) this.book.fail('L1', `${MOST_EVENTS} events, and no end`)
  }

  async open(process: Process): Promise<void> {
    const life = process.open()
    if (!life) return
    await life.started
    await this.rest()
  }

  async thaw(process: Process): Promise<void> {
    const { life } = process
    for (const work of life?.gate.thaw() ?? []) {
      work()
      await this.rest()
    }
  }

  async end(): Promise<void> {
    for (const process of this.processes) process.crash()
    await this.rest()
    for (const [where, bytes] of await this.stores.bytes()) this.book.shows(where, bytes)
    await this.stores.close()
  }
}
