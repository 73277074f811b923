/** What the servers of a run do with each visit: they know its sender, take it in, answer as the seed says, and write down how it ended. */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Visit } from '../../servers/start.mjs'
import type { Fault } from './faults.ts'
import type { Note, Who } from './history.ts'
import type { Intent } from './intents.ts'
import { RETRY_AFTER_S } from './options.ts'

/** One visit, as far as it has come. */
export type Seen<V extends Visit = Visit> = { -readonly [Field in keyof V]: V[Field] }

export interface DeskOptions {
  readonly seed: number
  readonly intents: readonly Intent[]
  readonly note: Note
  /** The life whose process has the other end of a connection. */
  readonly lifeOf: (port: number, serverPort: number) => string | undefined
}

export abstract class Desk<V extends Visit> {
  readonly visits: V[] = []
  protected readonly options: DeskOptions
  protected readonly byName: ReadonlyMap<string, Intent>
  readonly #who: Who
  readonly #servers: readonly Server[]
  readonly #lives = new WeakMap<Socket, string>()
  readonly #made = new Map<string, number>()

  constructor(who: Who, options: DeskOptions, origins = 1) {
    this.#who = who
    this.options = options
    this.byName = new Map(options.intents.map((intent) => [intent.name, intent]))
    this.#servers = Array.from({ length: origins }, () => createServer({ keepAliveTimeout: 65_000 }))
    for (const server of this.#servers) {
      server.on('connection', (socket) => this.#connected(socket))
      server.on('request', (incoming, outgoing) => void this.visit(incoming, outgoing))
    }
  }

  async start(): Promise<this> {
    await Promise.all(this.#servers.map((server) => new Promise<void>((done) => server.listen(0, '127.0.0.1', done))))
    return this
  }

  get urls(): readonly string[] {
    return this.#servers.map((server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  }

  async close(): Promise<void> {
    for (const server of this.#servers) server.closeAllConnections()
    await Promise.all(this.#servers.map((server) => new Promise((done) => server.close(done))))
  }

  protected abstract visit(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void>

  /** The number of a visit among those of its name. */
  protected next(name: string): number {
    const attempt = (this.#made.get(name) ?? 0) + 1
    this.#made.set(name, attempt)
    return attempt
  }

  /** A visit that has just begun; whatever ends it first is its end. */
  protected begun(incoming: IncomingMessage, outgoing: ServerResponse): Seen {
    const { 'idempotency-key': key = null } = incoming.headers
    const seen: Seen = {
      ...{ intent: '', attempt: 0, via: null, by: this.#lives.get(incoming.socket) ?? null },
      ...{ method: incoming.method ?? '', key: key === null ? null : `${key}`, outcome: null, status: null },
      ...{ startedAt: Date.now(), endedAt: null, retryAfterMs: null },
    }
    outgoing.once('close', () => this.#end(seen, 'caller_gone', null))
    return seen
  }

  /** Its body, as it is read; undefined: its sender left before all of it had come. */
  protected async bodyOf<T>(incoming: IncomingMessage, seen: Seen, read: (text: string) => T): Promise<T | undefined> {
    const chunks: Buffer[] = []
    try {
      for await (const chunk of incoming) chunks.push(chunk as Buffer)
      return read(Buffer.concat(chunks).toString('utf8'))
    } catch {
      this.#end(seen, 'half', null)
      return undefined
    }
  }

  protected async answer(
    outgoing: ServerResponse,
    seen: Seen,
    { outcome, status, waits }: Fault,
    latencyMs: number,
  ): Promise<void> {
    if (status === 'hang') return
    await new Promise((resolve) => setTimeout(resolve, latencyMs))
    this.#end(seen, outcome, status, waits ? RETRY_AFTER_S * 1_000 : null)
    if (status === null) outgoing.req.socket.resetAndDestroy()
    else outgoing.writeHead(status, waits ? { 'retry-after': `${RETRY_AFTER_S}` } : {}).end()
  }

  #connected(socket: Socket): void {
    const { remotePort = 0, localPort = 0 } = socket
    const life = this.options.lifeOf(remotePort, localPort)
    if (life !== undefined) this.#lives.set(socket, life)
  }

  #end(seen: Seen, outcome: string, status: number | null, retryAfterMs: number | null = null): void {
    if (seen.endedAt !== null) return
    Object.assign(seen, { outcome, status, retryAfterMs, endedAt: Date.now() })
    const { intent, attempt, key } = seen
    this.options.note(this.#who, 'end', { intent, attempt, key, outcome, status })
  }
}
