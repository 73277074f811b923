/** What befalls the server and the way to it: one thing after the other, drawn by a seed, each written down with its time. */

import { appendFileSync } from 'node:fs'
import { LEASE_MS } from '../options.ts'
import { wait } from '../runner.ts'
import type { Servers } from './servers.ts'

/** A time in which something was wrong. */
export interface Trouble {
  readonly kind: Kind | 'kill' | 'failover'
  readonly from: number
  until: number
}

/** Longer than a lease: what was under way comes too late. */
const LONG_MS = 1.6 * LEASE_MS
const BRIEF_MS = 0.3 * LEASE_MS

type Blow = (servers: Servers, draw: number) => Promise<unknown>

const BLOWS = {
  'flush-scripts': ({ primary }) => primary.ask('SCRIPT', 'FLUSH'),
  'kill-clients': ({ primary }, draw) => primary.ask('CLIENT', 'KILL', 'TYPE', draw < 0.7 ? 'normal' : 'pubsub'),
  async pause({ primary }, draw) {
    const forMs = Math.round(draw < 0.3 ? 2_000 : 200 + draw * 600)
    await primary.ask('CLIENT', 'PAUSE', forMs, draw < 0.6 ? 'ALL' : 'WRITE')
    await wait(forMs)
  },
  async freeze({ primary }, draw) {
    primary.freeze()
    await wait(draw < 0.3 ? LONG_MS : BRIEF_MS)
    primary.thaw()
  },
  cut: async ({ front }) => front.cut(),
  'break-answers': ({ front }, draw) => front.breakAnswers(50 + draw * 300),
  'lose-answers': ({ front }, draw) => front.hold(['answers'], draw < 0.3 ? LONG_MS : BRIEF_MS, true),
  'lose-requests': ({ front }, draw) => front.hold(['requests'], draw < 0.3 ? LONG_MS : BRIEF_MS, true),
  late: ({ front }, draw) =>
    front.hold(draw < 0.5 ? ['answers'] : ['requests'], draw % 0.5 < 0.2 ? LONG_MS : BRIEF_MS, false),
  slow: ({ front }, draw) => front.slow(10 + draw * 120, 1_000),
  double: ({ front }, draw) => front.double([draw * 50, 300, LONG_MS], 1_000),
  memory: (servers, draw) => servers.full(600 + draw * 1_200),
} satisfies Readonly<Record<string, Blow>>

export type Kind = keyof typeof BLOWS
export const KINDS = Object.keys(BLOWS) as readonly Kind[]

export class Nemesis {
  readonly troubles: Trouble[] = []
  readonly #servers: Servers
  readonly #random: () => number
  readonly #kinds: readonly Kind[]
  readonly #file: string
  /** Each has its turn before one comes again. */
  #bag: Kind[] = []

  constructor(servers: Servers, random: () => number, kinds: readonly Kind[], file: string) {
    this.#servers = servers
    this.#random = random
    this.#kinds = kinds
    this.#file = file
  }

  /** How often there was each. */
  get count(): (kind: Trouble['kind']) => number {
    return (kind) => this.troubles.filter((trouble) => trouble.kind === kind).length
  }

  async strike(): Promise<void> {
    if (this.#bag.length === 0) this.#bag = [...this.#kinds]
    const [kind] = this.#bag.splice(Math.floor(this.#random() * this.#bag.length), 1)
    const draw = this.#random()
    if (kind) await this.#during(kind, () => (BLOWS[kind] as Blow)(this.#servers, draw))
  }

  kill(): Promise<void> {
    const draw = this.#random()
    return this.#during('kill', () => this.#servers.killAndStart(draw < 0.5 ? 0 : draw * 1_500))
  }

  failover(): Promise<void> {
    const draw = this.#random()
    return this.#during('failover', () => this.#servers.failover(200 + draw * 1_000))
  }

  async #during(kind: Trouble['kind'], work: () => Promise<unknown>): Promise<void> {
    const trouble: Trouble = { kind, from: Date.now(), until: Number.POSITIVE_INFINITY }
    this.troubles.push(trouble)
    try {
      await work()
    } finally {
      trouble.until = Date.now()
      appendFileSync(
        this.#file,
        `${JSON.stringify({ at: trouble.from, who: 'nemesis', what: kind, until: trouble.until })}\n`,
      )
    }
  }
}
