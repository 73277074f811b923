/**
 * The server that tasks are sent to: it works, fails, asks for waits, breaks off, hangs and refuses, as the seed says for each visit of each
 * task. Apart from that it is a good server, and does the work once for a key. It writes down every visit.
 */

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Visit } from '../../servers/start.mjs'
import { chance, sharedBy } from '../options.ts'
import { Desk, type DeskOptions } from './desk.ts'
import { type Fault, type Faults, seedOf } from './faults.ts'
import { ORIGINS } from './intents.ts'
import { LEASE_MS } from './options.ts'

/** Shares of all visits. One that asks for a wait holds up its lane, and one that hangs a place, so there are few. */
const FAULTS: Faults = [
  [0.1, { outcome: 'unavailable', status: 503, works: false }],
  [0.02, { outcome: 'unavailable_wait', status: 503, works: false, waits: true }],
  [0.01, { outcome: 'too_many', status: 429, works: false, waits: true }],
  [0.04, { outcome: 'reset_before', status: null, works: false }],
  [0.05, { outcome: 'reset_after', status: null, works: true }],
  [0.005, { outcome: 'hang', status: 'hang', works: false }],
  [0.005, { outcome: 'hang_after', status: 'hang', works: true }],
]
const DONE: Fault = { outcome: 'done', status: 200, works: true }
const REFUSED: Fault = { outcome: 'refused', status: 400, works: false }
const SPENT: Fault = { outcome: 'spent', status: 503, works: false }
/** Visits of a 'spent' task that fail. */
const SPENT_VISITS = 2

const LATENCY_MS: readonly [least: number, most: number] = [5, 60]
/** An answer that takes longer than a lease makes its renewal count. */
const SLOW_SHARE = 0.03
const SLOW_MS = 1.6 * LEASE_MS

export interface TargetOptions extends DeskOptions {
  /** Wrong on purpose: it does the work each time that it is asked. */
  readonly forgetsKeys?: boolean
}

interface Body {
  readonly intent?: string
  readonly tenant?: string | null
}

export class Target extends Desk<Visit> {
  /** How often the work of each task was done, by its name. */
  readonly effects = new Map<string, number>()
  readonly #forgetsKeys: boolean
  readonly #done = new Set<string>()

  constructor({ forgetsKeys = false, ...options }: TargetOptions) {
    super('target', options, ORIGINS)
    this.#forgetsKeys = forgetsKeys
  }

  protected override async visit(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const seen = this.begun(incoming, outgoing)
    const body = await this.bodyOf<Body>(incoming, seen, JSON.parse)
    if (!body) return
    const { intent: name = '?', tenant = null } = body
    Object.assign(seen, { intent: name, attempt: this.next(name) })
    this.visits.push(seen)
    this.options.note('target', 'arrival', { intent: name, attempt: seen.attempt, key: seen.key, by: seen.by })
    const { fault, latencyMs } = this.#faultOf(name, seen.attempt)
    const isRepeated = fault.works && !this.#work(name, `${tenant} ${seen.key}`)
    await this.answer(outgoing, seen, isRepeated ? { ...fault, outcome: 'repeated' } : fault, latencyMs)
  }

  /** False: the key has been seen, and nothing is done again. */
  #work(name: string, key: string): boolean {
    if (this.#done.has(key) && !this.#forgetsKeys) return false
    this.#done.add(key)
    this.effects.set(name, (this.effects.get(name) ?? 0) + 1)
    return true
  }

  #faultOf(name: string, attempt: number): { readonly fault: Fault; readonly latencyMs: number } {
    const random = chance(seedOf(`${this.options.seed}/${name}/${attempt}`))
    const [least, most] = LATENCY_MS
    const draw = random()
    const isSlow = random() < SLOW_SHARE
    const latencyMs = least + random() * (most - least) + (isSlow ? SLOW_MS : 0)
    const { kind = 'plain' } = this.byName.get(name) ?? {}
    if (kind === 'never') return { fault: REFUSED, latencyMs: least }
    if (kind === 'refused' && attempt === 1) return { fault: REFUSED, latencyMs: least }
    if (kind === 'spent' && attempt <= SPENT_VISITS) return { fault: SPENT, latencyMs: least }
    return { fault: kind === 'plain' ? (sharedBy(FAULTS, draw) ?? DONE) : DONE, latencyMs }
  }
}
