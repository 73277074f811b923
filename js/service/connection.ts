/**
 * One connection to a target: undici's client for one socket, over a connector that goes to checked addresses only. No byte is
 * written, not even of a TLS handshake, before the address that the socket has really reached is checked again.
 */

import type { Socket } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import type { Clock } from 'redrive'
import { timeoutError } from 'redrive/internal'
import type { buildConnector, Client } from 'undici'
import type { Dial } from './dial.ts'
import type { Guard } from './guard.ts'
import { literalOf } from './targets.ts'

/** The things that the connections to one target have in common, for one tenant. */
export interface Lines {
  /** Connections that another one has let through carry nothing more. */
  guard: Guard
  readonly tenant: string | null
  readonly clock: Clock
  readonly connectTimeoutMs: number
  readonly maxSocketAgeMs: number
  readonly dial: Dial
  /** Certificates that are trusted in place of the system's; undefined: the system's. */
  readonly ca: string | undefined
  /** State of the last TLS connection, which the next one resumes: a tenant's own, since a session tells who was here before. */
  session: Buffer | undefined
}

/** A socket without a request ends after so long, unless its server names another time. */
const IDLE_MS = 4_000

/** HTTP/1.1, one request at a time, headers of an answer up to 16 KiB. How long an attempt may take is its queue's matter. */
export const CLIENT_OPTIONS = {
  allowH2: false,
  pipelining: 1,
  maxHeaderSize: 16_384,
  headersTimeout: 0,
  bodyTimeout: 0,
} as const

/** Bytes of all that comes back for one request: what no other limit counts, such as interim answers or a status line, has an end here. */
const MAX_READ_BYTES = 512 * 1024

/** The library, once it is there. Of all that the service stands on it takes longest to load, and to be ready the service needs none of it. */
export type Undici = typeof import('undici')

export class Connection {
  readonly #client: Client
  readonly #lines: Lines
  #resolvedAt = 0
  #guard: Guard | undefined
  #socket: Socket | undefined
  #readBefore = 0
  #withinMs = Number.POSITIVE_INFINITY
  #isOver = false

  constructor(origin: string, lines: Lines, undici: Undici) {
    this.#lines = lines
    this.#client = new undici.Client(origin, {
      ...CLIENT_OPTIONS,
      keepAliveTimeout: Math.min(IDLE_MS, lines.maxSocketAgeMs),
      keepAliveMaxTimeout: lines.maxSocketAgeMs,
      connect: (options, callback) => {
        this.#connect(options).then(
          (socket) => callback(null, socket),
          (error) => callback(error, null),
        )
      },
    })
  }

  /** Whether it may carry another request: a changed record or rule applies to sockets that are made after it. */
  get isFresh(): boolean {
    const { clock, maxSocketAgeMs, guard } = this.#lines
    return !this.#isOver && guard === this.#guard && clock.monotonic() - this.#resolvedAt < maxSocketAgeMs
  }

  /** Readies it for one request, which has no longer to wait for the addresses of its name. */
  begin(withinMs: number): Client {
    this.#withinMs = withinMs
    this.#readBefore = this.#socket?.bytesRead ?? 0
    return this.#client
  }

  /** Ends it, and whatever it carries. Resolves once its socket is closed; never rejects. */
  end(error: Error | null = null): Promise<void> {
    this.#isOver = true
    const closed = this.#client.destroy(error)
    this.#socket?.destroy()
    return closed
  }

  async #connect({ protocol, hostname, port }: buildConnector.Options): Promise<Socket> {
    const { guard, tenant, clock, connectTimeoutMs } = this.#lines
    const host = hostname.replace(/\.$/, '')
    const number = Number(port || (protocol === 'https:' ? 443 : 80))
    const addresses = await guard.resolve(hostname, { tenant, withinMs: this.#withinMs })
    this.#guard = guard
    this.#resolvedAt = clock.monotonic()
    this.#assertWanted()
    const disarm = clock.after(connectTimeoutMs, () => {
      const late = timeoutError(`no connection to ${host}:${number} within ${connectTimeoutMs} ms`)
      this.#socket?.destroy(late)
    })
    try {
      const socket = await this.#dial(guard, host, number, addresses)
      const ready = protocol === 'https:' ? await this.#secure(socket, host) : socket
      this.#assertWanted()
      return this.#limited(ready)
    } finally {
      disarm()
    }
  }

  /** A socket that has reached one of the addresses. Nothing was written on it. */
  async #dial(guard: Guard, hostname: string, port: number, addresses: readonly string[]): Promise<Socket> {
    const socket = this.#lines.dial({ hostname, port, addresses })
    this.#socket = socket
    await opened(socket, 'connect').catch((error) => {
      throw unaddressed(error, `${hostname}:${port}`)
    })
    const reached = socket.remoteAddress
    const error = reached === undefined ? lost() : guard.refuseAddress(hostname, reached)
    if (error) {
      socket.destroy()
      throw error
    }
    socket.setNoDelay(true)
    socket.setKeepAlive(true, 60_000)
    return socket
  }

  async #secure(socket: Socket, host: string): Promise<TLSSocket> {
    const lines = this.#lines
    const { ca, session } = lines
    const secure = connectTls({
      socket,
      host,
      // an address is no name for a server to choose its certificate by (RFC 6066, section 3)
      servername: literalOf(host) === undefined ? host : '',
      ALPNProtocols: ['http/1.1'],
      ...(ca === undefined ? {} : { ca }),
      ...(session === undefined ? {} : { session }),
    })
    this.#socket = secure
    secure.on('session', (given) => {
      lines.session = given
    })
    await opened(secure, 'secureConnect')
    return secure
  }

  #limited(socket: Socket): Socket {
    this.#readBefore = 0
    return socket.on('readable', () => {
      if (socket.bytesRead - this.#readBefore <= MAX_READ_BYTES) return
      const error = new Error(`its server sent more than ${MAX_READ_BYTES} bytes for one request`)
      void this.end(Object.assign(error, { code: 'ANSWER_TOO_LARGE' }))
    })
  }

  #assertWanted(): void {
    if (!this.#isOver) return
    this.#socket?.destroy()
    throw lost()
  }
}

/** Waits for a socket; rejects with its error, and where it is closed without one. */
function opened(socket: Socket, event: 'connect' | 'secureConnect'): Promise<void> {
  return new Promise((resolve, reject) => {
    // the listener for errors stays: until undici has its own, an error without one would end the process
    socket.once(event, resolve).on('error', reject)
    socket.once('close', () => reject(lost()))
  })
}

/** The error of a dial, with the name in place of the address: a caller need not learn what an operator has opened. One of several addresses has no words. */
function unaddressed(error: NodeJS.ErrnoException, host: string): Error {
  if (error.syscall !== 'connect' && !(error instanceof AggregateError)) return error
  const { code = 'failed' } = error
  return Object.assign(new Error(`connect ${code} ${host}`), { code })
}

function lost(): Error {
  return Object.assign(new Error('the connection was closed before anything was sent'), { code: 'ECONNRESET' })
}
