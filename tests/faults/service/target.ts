/**
 * The server that tasks are sent to: it works, fails, asks for waits, breaks off, hangs and refuses, as the seed says for each visit of each
 * task. Apart from that it is a good server, and does the work once for a key. It writes down every visit.
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Visit } from '../../servers/start.mjs'
import { chance } from '../options.ts'
import { type Fault, type Faults, faultAt, seedOf } from './faults.ts'
import type { Note } from './history.ts'
import { type Intent, ORIGINS } from './intents.ts'
import { LEASE_MS, RETRY_AFTER_S } from './options.ts'

/** One visit, as far as it has come. */
type Seen = { -readonly [Field in keyof Visit]: Visit[Field] }

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

export interface TargetOptions {
  readonly seed: number
  readonly intents: readonly Intent[]
  readonly note: Note
  /** The life whose process has the other end of a connection. */
  readonly lifeOf: (port: number, serverPort: number) => string | undefined
  /** Wrong on purpose: it does the work each time that it is asked. */
  readonly forgetsKeys?: boolean
}

export class Target {
  readonly visits: Visit[] = []
  /** How often the work of each task was done, by its name. */
  readonly effects = new Map<string, number>()
  readonly urls: readonly string[]
  readonly #servers: readonly Server[]

  private constructor(servers: readonly Server[], urls: readonly string[]) {
    this.#servers = servers
    this.urls = urls
  }

  static async start(options: TargetOptions): Promise<Target> {
    const servers = Array.from({ length: ORIGINS }, () => createServer({ keepAliveTimeout: 65_000 }))
    await Promise.all(servers.map((server) => new Promise<void>((done) => server.listen(0, '127.0.0.1', done))))
    const urls = servers.map((server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    const target = new Target(servers, urls)
    const desk = new Desk(options, target.visits, target.effects)
    for (const server of servers) {
      server.on('connection', (socket) => desk.connected(socket))
      server.on('request', (incoming, outgoing) => void desk.visit(incoming, outgoing))
    }
    return target
  }

  async close(): Promise<void> {
    for (const server of this.#servers) server.closeAllConnections()
    await Promise.all(this.#servers.map((server) => new Promise((done) => server.close(done))))
  }
}

/** Receives visits. */
class Desk {
  readonly #options: TargetOptions
  readonly #visits: Visit[]
  readonly #effects: Map<string, number>
  readonly #byName: ReadonlyMap<string, Intent>
  readonly #lives = new WeakMap<Socket, string>()
  readonly #made = new Map<string, number>()
  readonly #done = new Set<string>()

  constructor(options: TargetOptions, visits: Visit[], effects: Map<string, number>) {
    this.#options = options
    this.#visits = visits
    this.#effects = effects
    this.#byName = new Map(options.intents.map((intent) => [intent.name, intent]))
  }

  connected(socket: Socket): void {
    const { remotePort = 0, localPort = 0 } = socket
    const life = this.#options.lifeOf(remotePort, localPort)
    if (life !== undefined) this.#lives.set(socket, life)
  }

  async visit(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const { note } = this.#options
    const { 'idempotency-key': key = null } = incoming.headers
    const seen: Seen = {
      ...{ intent: '', attempt: 0, via: null, by: this.#lives.get(incoming.socket) ?? null },
      ...{ method: incoming.method ?? '', key: key === null ? null : `${key}`, outcome: null, status: null },
      ...{ startedAt: Date.now(), endedAt: null, retryAfterMs: null },
    }
    const end = (outcome: string, status: number | null, retryAfterMs: number | null = null) => {
      if (seen.endedAt !== null) return
      Object.assign(seen, { outcome, status, retryAfterMs, endedAt: Date.now() })
      note('target', 'end', { intent: seen.intent, attempt: seen.attempt, outcome, status })
    }
    // whatever ends it first; after an answer this finds it ended
    outgoing.once('close', () => end('caller_gone', null))
    const body = await bodyOf(incoming)
    if (!body) return end('half', null)
    const { intent: name = '?', tenant = null } = body
    seen.intent = name
    seen.attempt = (this.#made.get(name) ?? 0) + 1
    this.#made.set(name, seen.attempt)
    this.#visits.push(seen)
    note('target', 'arrival', { intent: name, attempt: seen.attempt, key: seen.key, by: seen.by })
    const { fault, latencyMs } = this.#faultOf(name, seen.attempt)
    const outcome = fault.works && !this.#work(name, `${tenant} ${seen.key}`) ? 'repeated' : fault.outcome
    if (fault.status === 'hang') return
    await new Promise((resolve) => setTimeout(resolve, latencyMs))
    end(outcome, fault.status, fault.waits ? RETRY_AFTER_S * 1_000 : null)
    if (fault.status === null) incoming.socket.resetAndDestroy()
    else outgoing.writeHead(fault.status, fault.waits ? { 'retry-after': `${RETRY_AFTER_S}` } : {}).end()
  }

  /** False: the key has been seen, and nothing is done again. */
  #work(name: string, key: string): boolean {
    if (this.#done.has(key) && !this.#options.forgetsKeys) return false
    this.#done.add(key)
    this.#effects.set(name, (this.#effects.get(name) ?? 0) + 1)
    return true
  }

  #faultOf(name: string, attempt: number): { readonly fault: Fault; readonly latencyMs: number } {
    const random = chance(seedOf(`${this.#options.seed}/${name}/${attempt}`))
    const [least, most] = LATENCY_MS
    const draw = random()
    const isSlow = random() < SLOW_SHARE
    const latencyMs = least + random() * (most - least) + (isSlow ? SLOW_MS : 0)
    const { kind = 'plain' } = this.#byName.get(name) ?? {}
    if (kind === 'never') return { fault: REFUSED, latencyMs: least }
    if (kind === 'refused' && attempt === 1) return { fault: REFUSED, latencyMs: least }
    if (kind === 'spent' && attempt <= SPENT_VISITS) return { fault: SPENT, latencyMs: least }
    return { fault: kind === 'plain' ? (faultAt(FAULTS, draw) ?? DONE) : DONE, latencyMs }
  }
}

/** undefined: its sender left before all of it had come. */
async function bodyOf(
  incoming: IncomingMessage,
): Promise<{ readonly intent?: string; readonly tenant?: string | null } | undefined> {
  const chunks: Buffer[] = []
  try {
    for await (const chunk of incoming) chunks.push(chunk as Buffer)
    return JSON.parse(Buffer.concat(chunks).toString('utf8'))
  } catch {
    return undefined
  }
}
