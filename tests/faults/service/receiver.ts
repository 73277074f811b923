/**
 * The server to which ends are told: it takes a callback in, fails, breaks off or hangs, as the seed says for each visit, and checks every signature
 * as the library of Standard Webhooks does. It writes down whatever it is told.
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Visit } from '../../servers/start.mjs'
import { chance } from '../options.ts'
import { type Fault, type Faults, faultAt, seedOf } from './faults.ts'
import type { Note } from './history.ts'
import type { Intent } from './intents.ts'
import { RETRY_AFTER_S } from './options.ts'
import type { SigningKeys } from './signing.ts'

/** What a callback says of a task. */
export interface Message {
  readonly type: string
  readonly timestamp: string
  readonly data: {
    readonly taskId: string
    readonly idempotencyKey: string | null
    readonly tenant: string | null
    readonly targetUrl: string
    readonly lastStatus: number | null
    readonly attemptNumber: number
  }
}

/** A visit with a callback. `intent`: the one in its path. */
export interface CallbackVisit extends Visit {
  readonly text: string
  /** undefined: it is no JSON of that form. */
  readonly message: Message | undefined
  readonly webhookId: string | null
  /** Why its signature is not as its task wants it; null: it is. */
  readonly fault: string | null
}

type Seen = { -readonly [Field in keyof CallbackVisit]: CallbackVisit[Field] }

/** Shares of all visits. */
const FAULTS: Faults = [
  [0.1, { outcome: 'unavailable', status: 503, works: false }],
  [0.04, { outcome: 'broken', status: 500, works: false }],
  [0.02, { outcome: 'unavailable_wait', status: 503, works: false, waits: true }],
  [0.04, { outcome: 'reset_before', status: null, works: false }],
  [0.05, { outcome: 'reset_after', status: null, works: true }],
  [0.005, { outcome: 'hang_after', status: 'hang', works: true }],
]
const DONE: Fault = { outcome: 'done', status: 204, works: true }
const LATENCY_MS: readonly [least: number, most: number] = [2, 40]

export interface ReceiverOptions {
  readonly seed: number
  readonly intents: readonly Intent[]
  readonly keys: SigningKeys
  readonly note: Note
  /** The life whose process has the other end of a connection. */
  readonly lifeOf: (port: number, serverPort: number) => string | undefined
}

export class Receiver {
  readonly visits: CallbackVisit[] = []
  readonly url: string
  readonly #options: ReceiverOptions
  readonly #server: Server
  readonly #byName: ReadonlyMap<string, Intent>
  readonly #lives = new WeakMap<Socket, string>()
  readonly #made = new Map<string, number>()

  private constructor(options: ReceiverOptions, server: Server) {
    this.#options = options
    this.#server = server
    this.#byName = new Map(options.intents.map((intent) => [intent.name, intent]))
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }

  static async start(options: ReceiverOptions): Promise<Receiver> {
    const server = createServer({ keepAliveTimeout: 65_000 })
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
    const receiver = new Receiver(options, server)
    server.on('connection', (socket) => receiver.#connected(socket))
    server.on('request', (incoming, outgoing) => void receiver.#visit(incoming, outgoing))
    return receiver
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((done) => this.#server.close(done))
  }

  #connected(socket: Socket): void {
    const { remotePort = 0, localPort = 0 } = socket
    const life = this.#options.lifeOf(remotePort, localPort)
    if (life !== undefined) this.#lives.set(socket, life)
  }

  async #visit(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const { note, seed } = this.#options
    const { 'idempotency-key': key = null } = incoming.headers
    const name = decodeURIComponent((incoming.url ?? '').slice(1))
    const attempt = (this.#made.get(name) ?? 0) + 1
    this.#made.set(name, attempt)
    const seen: Seen = {
      ...{ intent: name, attempt, via: null, by: this.#lives.get(incoming.socket) ?? null },
      ...{ method: incoming.method ?? '', key: key === null ? null : `${key}`, outcome: null, status: null },
      ...{ startedAt: Date.now(), endedAt: null, retryAfterMs: null },
      ...{ text: '', message: undefined, webhookId: null, fault: null },
    }
    const end = (outcome: string, status: number | null, retryAfterMs: number | null = null) => {
      if (seen.endedAt !== null) return
      Object.assign(seen, { outcome, status, retryAfterMs, endedAt: Date.now() })
      note('receiver', 'end', { intent: name, attempt, key: seen.key, outcome, status })
    }
    outgoing.once('close', () => end('caller_gone', null))
    const text = await textOf(incoming)
    if (text === undefined) return end('half', null)
    Object.assign(seen, { text, ...this.#read(name, text, headersOf(incoming)) })
    this.visits.push(seen)
    note('receiver', 'arrival', { intent: name, attempt, key: seen.key, by: seen.by, fault: seen.fault, text })
    const random = chance(seedOf(`${seed}/callback/${name}/${attempt}`))
    const [least, most] = LATENCY_MS
    const fault = faultAt(FAULTS, random()) ?? DONE
    if (fault.status === 'hang') return
    await new Promise((resolve) => setTimeout(resolve, least + random() * (most - least)))
    end(fault.outcome, fault.status, fault.waits ? RETRY_AFTER_S * 1_000 : null)
    if (fault.status === null) incoming.socket.resetAndDestroy()
    else outgoing.writeHead(fault.status, fault.waits ? { 'retry-after': `${RETRY_AFTER_S}` } : {}).end()
  }

  #read(
    name: string,
    text: string,
    headers: Readonly<Record<string, string>>,
  ): Pick<CallbackVisit, 'message' | 'webhookId' | 'fault'> {
    const { signing } = this.#byName.get(name)?.callback ?? {}
    const { 'webhook-id': webhookId = null } = headers
    const unasked = webhookId === null && headers['webhook-signature'] === undefined ? null : 'signed, unasked'
    const fault = signing ? (this.#options.keys.faultOf(signing, text, headers) ?? null) : unasked
    return { message: messageIn(text), webhookId, fault }
  }
}

const headersOf = ({ headers }: IncomingMessage): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))

function messageIn(text: string): Message | undefined {
  try {
    const message = JSON.parse(text) as Message
    return typeof message.type === 'string' && typeof message.data?.taskId === 'string' ? message : undefined
  } catch {
    return undefined
  }
}

/** undefined: its sender left before all of it had come. */
async function textOf(incoming: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = []
  try {
    for await (const chunk of incoming) chunks.push(chunk as Buffer)
    return Buffer.concat(chunks).toString('utf8')
  } catch {
    return undefined
  }
}
