/**
 * The way of one simulated process to a real server: every promise is resolved when it is returned. All processes of a Node
 * process share one connection, on which their calls happen one after another, as they do in the server.
 *
 * What goes wrong on the way is the test's to say, call by call.
 */

import { Buffer } from 'node:buffer'
import { join } from 'node:path'
import { type Arg, PortError, type RedisPort, type Reply } from '../../js/stores/redis/port.ts'
import { type ServerOptions, startServer } from './servers.ts'
import { SyncConnection } from './sync-connection.ts'

/**
 * 'fail-before': the connection breaks before the call is sent; 'fail-after': after it was done, and its answer is lost. Then it is
 * there again. 'crash-before', 'crash-after': the process dies at that moment.
 */
export type CallFault = 'fail-before' | 'fail-after' | 'crash-before' | 'crash-after'

/** What happens between a process and the server. */
export interface Line {
  /** Before each call. undefined: it is answered. */
  called?(command: string): CallFault | undefined
  /** The process dies. */
  crash?(): void
}

const never = <T>(): Promise<T> => new Promise<T>(() => {})
const bytesOf = (arg: Arg): Buffer => (typeof arg === 'string' ? Buffer.from(arg) : arg)

export class SyncPort implements RedisPort {
  readonly #connection: SyncConnection
  readonly #line: Line
  readonly #subscriptions = new Set<() => void>()
  readonly #again = new Set<() => void>()
  #isDead = false

  constructor(connection: SyncConnection, line: Line = {}) {
    this.#connection = connection
    this.#line = line
  }

  /** `key` has a say in a cluster only. */
  call(command: string, args: readonly Arg[], _key?: Arg): Promise<Reply> {
    return this.#send([...command.split(' '), ...args])
  }

  async subscribe(channel: string, heard: (message: Buffer) => void): Promise<() => Promise<void>> {
    if (this.#isDead) return async () => {}
    const end = this.#connection.listen(channel, (message) => {
      if (!this.#isDead && this.#subscriptions.has(end)) heard(bytesOf(message))
    })
    this.#subscriptions.add(end)
    return async () => this.#unsubscribe(end)
  }

  onReconnect(again: () => void): () => void {
    this.#again.add(again)
    return () => this.#again.delete(again)
  }

  async close(): Promise<void> {
    for (const end of this.#subscriptions) this.#unsubscribe(end)
  }

  /** Its process is gone: nothing that it asks for reaches the server any more, and nothing reaches it. */
  die(): void {
    for (const end of this.#subscriptions) this.#unsubscribe(end)
    this.#again.clear()
    this.#isDead = true
  }

  /** There is a new connection. */
  reconnected(): void {
    for (const again of this.#again) again()
  }

  #unsubscribe(end: () => void): void {
    if (this.#subscriptions.delete(end)) end()
  }

  async #send(parts: readonly Arg[]): Promise<Reply> {
    if (this.#isDead) return never()
    const fault = this.#line.called?.(String(parts[0]))
    if (fault === undefined) return this.#connection.ask(parts)
    if (fault === 'fail-before') return this.#failed('NOT_READY', 'the connection was lost before the call was sent')
    if (fault === 'crash-before') {
      this.#crash()
      return never()
    }
    if (fault === 'fail-after') {
      this.#connection.tell(parts)
      return this.#failed('CONNECTION_LOST', 'the connection was lost, and with it the answer')
    }
    try {
      // the process hears nothing of it, for it is gone; a recorder that stands between it and its store does
      return this.#connection.ask(parts)
    } finally {
      this.#crash()
    }
  }

  #failed(code: PortError['code'], what: string): never {
    queueMicrotask(() => this.reconnected())
    throw new PortError(code, what)
  }

  #crash(): void {
    this.die()
    this.#line.crash?.()
  }
}

const opened = new Map<string, Promise<SyncConnection>>()

/** The one connection of this process to a server of its own, which ends with it. `env`: of that server; each has its own. */
export function syncConnection(env?: ServerOptions['env']): Promise<SyncConnection> {
  const key = JSON.stringify(env)
  const connection = opened.get(key) ?? open(env)
  opened.set(key, connection)
  return connection
}

async function open(env: ServerOptions['env']): Promise<SyncConnection> {
  const { folder } = await startServer({ args: ['--unixsocket', SOCKET], ...(env && { env }) })
  return SyncConnection.open(join(folder, SOCKET))
}

/** In the folder of the server: faster than a port. */
const SOCKET = 'socket'
