/** A process of the world: one queue at a time, with its own clock, its own way to the store and to the server. */

import { RetryQueue } from '../../js/index.ts'
import type { RetryPolicy } from '../../js/policy.ts'
import type { TaskStore } from '../../js/stores/store.ts'
import type { Book } from './book.ts'
import { faultyStore, type Way } from './faulty-store.ts'
import { Gate } from './gate.ts'
import type { ProcessSpec } from './scenario.ts'
import { Sends } from './sends.ts'
import type { Server } from './server.ts'
import type { VirtualTime } from './time.ts'
import type { Breaking } from './world.ts'

export const START: number = Date.UTC(2030, 0, 1)
const SLOW_EVERY = 2
const SLOW_MS = 3_000
const MONTH_MS = 30 * 86_400_000

const POLICIES: readonly RetryPolicy[] = [
  { policyId: 'few', maxAttempts: 2, initialDelayMs: 200 },
  { policyId: 'short', maxAttempts: 8, initialDelayMs: 1_000, totalBudgetMs: 45_000, attemptTimeoutMs: 8_000 },
  { policyId: 'table', maxAttempts: 4, strategy: 'table', delaysMs: [0, 3_000, 20_000], attemptTimeoutMs: 60_000 },
]

/** What a process is made in. */
export interface Surroundings {
  readonly seed: number
  readonly time: VirtualTime
  readonly book: Book
  readonly server: Server
  readonly hints: boolean
  /** A store as a process opens it, right behind what records it. */
  connect(owner: string): { readonly store: TaskStore; readonly letGo: () => void }
  readonly concurrency: number
  readonly perOrigin: number
  readonly breaking: Breaking
}

/** One life of a process, from `open` to its end. */
export interface Life {
  readonly queue: RetryQueue
  readonly gate: Gate
  readonly way: Way
  readonly sends: Sends
  readonly letGo: () => void
  /** Its chunks are loaded, which takes time of no clock: from here on it is the world's. */
  readonly started: Promise<void>
  /** The store could not be opened: what it takes is in memory. */
  inMemory: boolean
  closing: boolean
}

export class Process {
  readonly name: string
  readonly spec: ProcessSpec
  principal: string
  offsetMs: number
  life: Life | undefined
  /** Before each call to the store. */
  onCall: (way: Way) => void = () => {}
  #lives = 0
  readonly #world: Surroundings

  constructor(name: string, spec: ProcessSpec, world: Surroundings) {
    this.name = name
    this.spec = spec
    this.principal = spec.principal
    this.offsetMs = spec.offsetMs
    this.#world = world
  }

  /** The queue, where there is one that can be asked something. */
  get ready(): Life | undefined {
    return this.life && !this.life.gate.frozen && !this.life.closing ? this.life : undefined
  }

  /** undefined: it runs already. */
  open(): Life | undefined {
    if (this.life) return undefined
    const { time, book, server, seed, concurrency, perOrigin, breaking } = this.#world
    const owner = `${this.name}.${++this.#lives}`
    const gate = new Gate()
    const { store, letGo } = this.#world.connect(owner)
    const sends = new Sends(book, this, owner)
    let loaded = (): void => {}
    const started = new Promise<void>((resolve) => {
      loaded = resolve
    })
    const way: Way = {
      gate,
      time,
      troubles: [],
      hints: [],
      crash: () => this.crash(),
      called: (method) => {
        book.note(() => `${owner} asks ${method}`)
        this.onCall(way)
        loaded()
      },
      claimed: (taskId, token) => sends.granted(taskId, token),
    }
    const clock = {
      now: () => START + time.elapsed + this.offsetMs,
      monotonic: () => time.elapsed,
      after: (delayMs: number, wake: () => void) => {
        let armed = true
        const disarm = time.after(delayMs, () => gate.enter(() => armed && wake()))
        return () => {
          armed = false
          disarm()
        }
      },
    }
    const send: typeof fetch = (input, init) => sends.fetch(server, gate, String(input), init)
    const queue = new RetryQueue({
      name: owner,
      principal: this.principal,
      store: faultyStore(store, way, this.#world.hints),
      persist: this.spec.persist,
      concurrency,
      concurrencyPerOrigin: perOrigin,
      policy: { initialDelayMs: 500, maxAttempts: 5, attemptTimeoutMs: 20_000 },
      policies: POLICIES,
      retention: { terminalMs: MONTH_MS, deadLetterMs: MONTH_MS },
      // now and then they take their time
      credentials: ({ principal, taskId, attemptNumber }) =>
        new Promise((resolve) => {
          const give = () => resolve({ authorization: `Bearer ${principal}` })
          const slow = hash(`${taskId} ${attemptNumber}`) % SLOW_EVERY === 0
          clock.after(slow ? SLOW_MS : 0, give)
        }),
      fetch: breaking.fetch?.(send) ?? send,
      preload: 'never',
      clock: breaking.clock?.(clock) ?? clock,
      seed: BigInt((Math.imul(seed, 0x9e3779b1) ^ Math.imul(hash(owner), 0x85ebca6b)) >>> 0),
    })
    queue.ready.then(loaded)
    const life: Life = { queue, gate, way, sends, letGo, started, inMemory: false, closing: false }
    queue.on('degraded', ({ code, message }) => {
      book.note(() => `${owner} degraded ${code}: ${message}`)
      if (code === 'storage_unavailable' && message.includes('cannot be opened')) life.inMemory = true
      if (code === 'core_unreachable' || code === 'wasm_refused') book.fail('S18', `${owner}: ${message}`)
    })
    this.life = life
    book.note(`${owner} opens`)
    return life
  }

  crash(): void {
    const { life } = this
    if (!life) return
    this.life = undefined
    this.#world.book.totals.crashes++
    this.#world.book.note(`${this.name} crashes`)
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

function hash(text: string): number {
  let sum = 2166136261
  for (let i = 0; i < text.length; i++) sum = Math.imul(sum ^ text.charCodeAt(i), 16777619)
  return sum >>> 0
}
