/** A process of the world, or a tab: one queue at a time, with its own clock, its own way to the store and to the server. */

import type { RetryQueueOptions } from '../../js/options/queue-options.ts'
import { RetryQueue } from '../../js/queue/queue.ts'
import type { Book } from './book.ts'
import { credentialsOf, hash } from './credentials.ts'
import { intentOf } from './enqueues.ts'
import { faultyStore, overChannel, type Silence, type Way } from './faulty-store.ts'
import { Gate } from './gate.ts'
import { Health } from './health.ts'
import { Loading } from './loading.ts'
import { Page } from './page.ts'
import type { ProcessSpec, Rate } from './scenario.ts'
import { Sends } from './sends.ts'
import type { Server } from './server.ts'
import { Starts } from './starts.ts'
import { type Connection, KEEP_MS } from './stores.ts'
import type { VirtualTime } from './time.ts'
import { Words } from './words.ts'
import type { Breaking } from './world.ts'

export const START: number = Date.UTC(2030, 0, 1)
const POLICIES: NonNullable<RetryQueueOptions['policies']> = [
  { policyId: 'few', maxAttempts: 2, initialDelayMs: 200 },
  { policyId: 'short', maxAttempts: 8, initialDelayMs: 1_000, totalBudgetMs: 45_000, attemptTimeoutMs: 8_000 },
  { policyId: 'table', maxAttempts: 4, strategy: 'table', delaysMs: [0, 3_000, 20_000], attemptTimeoutMs: 60_000 },
]

/** All that say something of a task. */
const EVENTS = [
  ...(['queued', 'resumed', 'attempt', 'retry', 'succeeded', 'exhausted', 'cancelled', 'unauthorized'] as const),
  ...(['circuit', 'degraded'] as const),
]

/** What a process is made in. */
export interface Surroundings {
  readonly seed: number
  readonly time: VirtualTime
  readonly book: Book
  readonly server: Server
  readonly hints: boolean
  /** A store as a process opens it, right behind what records it. */
  connect(owner: string, page: Page | undefined): Connection
  /** Of the store, for all. */
  readonly silence?: Silence
  /** Processes are tabs of one browser. */
  readonly network?: Network
  /** How wrong the clock is that all share. */
  readonly skewMs?: () => number
  readonly concurrency: number
  readonly perOrigin: number
  readonly capacity?: number
  readonly strips?: boolean
  readonly rate?: Rate
  readonly limitsFirst?: boolean
  readonly hooks?: boolean
  readonly breaking: Breaking
}

/** One life of a process, from `open` to its end. */
export interface Life {
  readonly queue: RetryQueue
  readonly gate: Gate
  readonly way: Way
  readonly sends: Sends
  readonly health: Health
  /** Intents for which it was told that its store is full. */
  readonly refused: Set<string>
  /** Of a tab. */
  readonly page: Page | undefined
  readonly letGo: () => void
  /** Its chunks are loaded, which takes time of no clock, or are held up, which takes the world's. */
  readonly started: Promise<void>
  /** The store could not be opened: what it takes is in memory. */
  inMemory: boolean
  closing: boolean
  /** A principal logs in there. */
  isLoggingIn: boolean
  /** Nothing is in its way to the store. */
  readonly isWell: boolean
  /** It was told that it is frozen, left or thrown away, and has not been told that it is back. */
  putAway: boolean
}

/** Of a browser. */
export interface Network {
  online: boolean
  /** Whether the browser knows. */
  told: boolean
}

export class Process {
  readonly name: string
  readonly spec: ProcessSpec
  principal: string
  offsetMs: number
  life: Life | undefined
  readonly loading: Loading
  /** Before each call to the store. */
  onCall: (way: Way) => void = () => {}
  #lives = 0
  readonly #world: Surroundings

  constructor(name: string, spec: ProcessSpec, world: Surroundings) {
    this.name = name
    this.spec = spec
    this.principal = spec.principal
    this.offsetMs = spec.offsetMs
    this.loading = new Loading(world.time)
    this.#world = world
  }

  /** The queue, where there is one that can be asked something. */
  get ready(): Life | undefined {
    const { life } = this
    return life && !life.gate.frozen && !life.closing && !life.putAway ? life : undefined
  }

  /** undefined: it runs already. */
  open(): Life | undefined {
    if (this.life) return undefined
    const { time, book, server, seed, concurrency, perOrigin, breaking, network, capacity, strips } = this.#world
    const owner = `${this.name}.${++this.#lives}`
    const page = network && new Page()
    if (page) page.navigator.onLine = network.online || !network.told
    const gate = new Gate(page)
    const { store, letGo } = this.#world.connect(owner, page)
    const skewMs = this.#world.skewMs ?? (() => 0)
    const words = new Words(book, owner, () => this.offsetMs + skewMs())
    const { rate, limitsFirst = false, hooks = false } = this.#world
    const limits = { starts: rate && new Starts(book, rate), countsFirst: limitsFirst }
    const sends = new Sends(book, this, owner, limits, words, network)
    const health = new Health()
    const refused = new Set<string>()
    let loaded = (): void => {}
    const started = new Promise<void>((resolve) => {
      loaded = resolve
    })
    const way: Way = {
      gate,
      time,
      troubles: [],
      ...(this.#world.silence && { silence: this.#world.silence }),
      hints: [],
      health,
      crash: () => this.crash(),
      called: (method) => {
        book.note(() => `${owner} asks ${method}`)
        this.onCall(way)
        loaded()
      },
      asked: ({ claim }) => {
        // who was put away before it had loaded has not heard of it
        const hasHeard = !health.wasHeldUp
        health.isLoading = false
        const isAway = claim !== null && life.putAway && hasHeard
        book.expect(!isAway, 'L3', () => `${owner} asks for work, and was put away`)
      },
      enqueued: (tasks, answers) => {
        for (const [i, task] of tasks.entries()) if (answers[i]?.outcome === 'full') refused.add(intentOf(task))
      },
      claimed: (taskId, token) => sends.granted(taskId, token),
      learned: ({ principal, loginForMs = 0 }) => sends.follow(principal, loginForMs > 0),
      heard: ({ kind }) => kind === 'principal' && sends.follow(book.session, book.logins.size > 0),
    }
    if (page) page.overChannel = (arrive) => overChannel(way, this.#world.hints, () => queueMicrotask(arrive))
    const clock = {
      now: () => START + time.elapsed + this.offsetMs + skewMs(),
      monotonic: () => time.elapsed,
      after: (delayMs: number, wake: () => void) => timer(time, gate, page, delayMs, wake),
    }
    const send: typeof fetch = (input, init) => sends.fetch(server, gate, String(input), init)
    const heldUp = () => {
      book.note(() => `${owner} waits for a chunk`)
      health.isLoading = true
      health.wasHeldUp = true
      loaded()
    }
    const source = this.loading.source(gate, heldUp)
    const options: RetryQueueOptions = {
      name: owner,
      principal: this.principal,
      store: faultyStore(store, way, this.#world.hints),
      persist: this.spec.persist,
      // what may not be stored is to be seen beside what is
      allowMemory: true,
      concurrency,
      concurrencyPerOrigin: perOrigin,
      ...(capacity === undefined ? {} : { capacity }),
      ...(rate ? { rate } : {}),
      limitFirstAttempts: limitsFirst,
      ...(hooks ? words.hooks(time, gate) : {}),
      policy: { policyId: 'default', initialDelayMs: 500, maxAttempts: 5, attemptTimeoutMs: 20_000 },
      policies: POLICIES,
      retention: { terminalMs: KEEP_MS, deadLetterMs: KEEP_MS },
      credentials: credentialsOf(owner, time, gate, () => this.offsetMs),
      sanitize: { urlSecrets: strips ? 'strip' : 'memory' },
      fetch: breaking.fetch?.(send) ?? send,
      preload: 'never',
      clock: breaking.clock?.(clock) ?? clock,
      seed: BigInt((Math.imul(seed, 0x9e3779b1) ^ Math.imul(hash(owner), 0x85ebca6b)) >>> 0),
    }
    const queue = gate.run(() => new RetryQueue(options, source))
    gate.run(() => queue.ready).then(loaded)
    const state = { inMemory: false, closing: false, isLoggingIn: false, putAway: false }
    const life: Life = {
      ...{ queue, gate, way, sends, health, refused, page, letGo, started, ...state },
      get isWell() {
        return way.troubles.length === 0 && !health.isTroubled && !health.isLoading
      },
    }
    for (const event of EVENTS) queue.on(event, (payload) => book.shows(`the event '${event}'`, payload))
    queue.on('degraded', ({ code, message }) => {
      book.note(() => `${owner} degraded ${code}: ${message}`)
      if (code === 'storage_unavailable' && /cannot be (opened|loaded)/.test(message)) life.inMemory = true
      if (!health.wasHeldUp && (code === 'core_unreachable' || code === 'wasm_refused'))
        book.fail('S18', `${owner}: ${message}`)
    })
    this.life = life
    book.note(`${owner} opens`)
    book.named.set(owner, time.elapsed)
    return life
  }

  crash(): void {
    if (!this.life) return
    this.#world.book.totals.crashes++
    this.#world.book.note(`${this.name} crashes`)
    this.end(this.life)
  }

  /** It is gone from one moment to the next. */
  end(life: Life): void {
    if (this.life !== life) return
    this.life = undefined
    life.gate.kill()
    // its connection is gone with it, as soon as what it asked last is over
    queueMicrotask(life.letGo)
  }

  /** Its queue is closed. */
  closed(life: Life): void {
    if (this.life !== life) return
    this.life = undefined
    life.gate.kill()
    life.letGo()
  }
}

/** A timer of a process; of a tab that is hidden, it comes late. */
function timer(time: VirtualTime, gate: Gate, page: Page | undefined, delayMs: number, wake: () => void): () => void {
  let armed = true
  let disarm = (): void => {}
  const ring = () => gate.enter(() => armed && wake())
  const due = () => {
    const lateMs = page?.lateBy(time.elapsed) ?? 0
    if (!page || lateMs === 0) return ring()
    const once = () => {
      disarm()
      ring()
    }
    const disarmLate = time.after(lateMs, once)
    const forget = page.keepBack(once)
    disarm = () => {
      disarmLate()
      forget()
    }
  }
  disarm = time.after(delayMs, due)
  return () => {
    armed = false
    disarm()
  }
}
