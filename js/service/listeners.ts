/**
 * The sockets of a service: HTTP/1.1 on one address, with TLS where it was asked for, and limits on what a client may hold open. HTTP/2
 * belongs to the proxy in front.
 */

import { createServer, type RequestListener, type Server } from 'node:http'
import { createServer as createSecureServer, type Server as SecureServer } from 'node:https'
import { type AddressInfo, type Socket, Server as SocketServer } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import type { Clock } from 'redrive'
import { systemClock } from 'redrive/internal'
import { newRequestId, Problem, problemResponse } from './api/problem.ts'
import { Connections } from './connections.ts'
import { Pipeline } from './pipeline.ts'

/** Names and values of a request's headers, in bytes. */
const MAX_HEADER_BYTES = 16 * 1024
/** A client that sends its headers, or a request, byte by byte holds a connection for no longer. */
const HEADERS_MS = 10_000
const REQUEST_MS = 60_000
const KEEP_ALIVE_MS = 60_000
/** A connection that carries nothing for so long after the last new one was taken is closed. A request may be on its way on it until then. */
const IDLE_MS = 500
/**
 * After a turn of the event loop this short, and without a new connection or request, none waits: each turn takes what has come, and then does
 * what else there is, while more may come.
 */
const QUIET_MS = 2
/** Longest wait for such a turn, which is rare on a busy machine. */
const BUSY_MS = 3_000

/** PEM texts. */
export interface Tls {
  readonly cert: string
  readonly key: string
  /** A client needs a certificate that one of these has signed. */
  readonly ca?: string | undefined
}

export type Answer = (request: Request, peer: { readonly remoteAddress?: string }) => Promise<Response>

export interface Listener {
  readonly port: number
  /** Certificates of connections that come later. Throws, and changes nothing, where they do not fit. */
  setTls(tls: Tls): void
  /** Resolves once no connection seems to wait to be taken: the system would cut those off with the listener. */
  whenTaken(): Promise<void>
  /** Takes no connection any more. Resolves once requests under way are answered, those included that are on their way on open connections. */
  close(): Promise<void>
  /** Cuts off what is still open. */
  cut(): void
}

export interface ListenOptions {
  readonly host: string
  readonly port: number
  readonly tls: Tls | undefined
  /** Requests to `/bodies` may take as long as their bodies need. @default false */
  readonly uploads?: boolean
  /** Times requests and connections. @default the system's */
  readonly clock?: Clock
}

/** Begins to listen. Rejects where the address cannot be had. */
export async function listen(
  answer: Answer,
  { host, port, tls, uploads = false, clock = systemClock }: ListenOptions,
): Promise<Listener> {
  const connections = new Connections(clock)
  const listener = listenerOf(answer, connections, uploads ? clock : undefined)
  const { server, context } = makeServer(listener, tls, uploads)
  server.on('connection', (socket: Socket) => connections.add(socket))
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port }, () => {
      server.off('error', reject)
      resolve()
    })
  })
  return {
    port: (server.address() as AddressInfo).port,
    setTls: (next) => context?.setSecureContext(secureOptions(next)),
    whenTaken: () => quietTurn(server, 'connection'),
    close: () => closed(server),
    cut: () => server.closeAllConnections(),
  }
}

/** Resolves right after a turn of the event loop that was short and brought none of these: what had come by then is read. */
async function quietTurn(server: Server | SecureServer, event: 'connection' | 'request'): Promise<void> {
  let isQuiet = false
  const hear = (): void => {
    isQuiet = false
  }
  server.on(event, hear)
  const askedAt = systemClock.monotonic()
  let now = askedAt
  // the first turn may be over but for its end
  for (let turns = 0; now - askedAt < BUSY_MS && !(isQuiet && turns > 1); turns++) {
    isQuiet = true
    await new Promise((done) => setImmediate(done))
    const began = now
    now = systemClock.monotonic()
    if (now - began > QUIET_MS) isQuiet = false
  }
  server.off(event, hear)
}

/**
 * `server.close()` would cut off every connection that is between two requests, and with it the request that its client has just sent. So
 * connections stay for a while: an answer that says `connection: close` ends its own, and one that is not used is closed then. After a long turn
 * of the event loop a request may have come on it and not been read: it is read first, since its client would see a reset.
 */
function closed(server: Server | SecureServer): Promise<void> {
  return new Promise((resolve) => {
    const closeIdle = () => void quietTurn(server, 'request').then(() => server.closeIdleConnections())
    const disarm = systemClock.after(IDLE_MS, closeIdle)
    SocketServer.prototype.close.call(server, () => {
      disarm()
      resolve()
    })
  })
}

function makeServer(
  listener: RequestListener,
  tls: Tls | undefined,
  uploads: boolean,
): { readonly server: Server | SecureServer; readonly context?: SecureServer } {
  const limits = {
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: HEADERS_MS,
    // where some may take longer, each has a limit of its own
    requestTimeout: uploads ? 0 : REQUEST_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connectionsCheckingInterval: HEADERS_MS / 2,
  }
  const secure = tls && createSecureServer({ ...limits, handshakeTimeout: HEADERS_MS, ...secureOptions(tls) }, listener)
  const server = secure ?? createServer(limits, listener)
  return secure ? { server, context: secure } : { server }
}

const secureOptions = ({ cert, key, ca }: Tls) => ({
  cert,
  key,
  ...(ca !== undefined && { ca, requestCert: true, rejectUnauthorized: true }),
  minVersion: 'TLSv1.2' as const,
})

/** `clock`: times each request by itself. */
function listenerOf(answer: Answer, connections: Connections, clock: Clock | undefined): RequestListener {
  const pipeline = new Pipeline()
  const handle = getRequestListener(
    (request, { incoming }) => {
      const { remoteAddress } = incoming.socket
      return answer(request, remoteAddress === undefined ? {} : { remoteAddress })
    },
    // a request that is none, such as one with a name that no URL can have
    // HTTP/1.0 needs no Host: a probe is answered under any name, and all else is refused under this one
    { overrideGlobalObjects: false, hostname: 'none.invalid', errorHandler: () => badRequest() },
  )
  // the body of a request that is not taken is not waited for
  const refuse = getRequestListener(() => tooMany(), { overrideGlobalObjects: false })
  return (incoming, outgoing) => {
    const own = connections.enter(incoming, outgoing) ? handle : refuse
    const listener = clock ? timed(own, clock) : own
    pipeline.take(incoming, outgoing, () => listener(incoming, outgoing))
  }
}

/** Gives each request the time that it may take: an upload as long as something comes, any other `REQUEST_MS`. */
function timed(listener: RequestListener, clock: Clock): RequestListener {
  return (incoming, outgoing) => {
    const { socket } = incoming
    const isUpload = /^\/bodies(?:$|\?)/.test(incoming.url ?? '')
    let read = socket.bytesRead
    const look = (): void => {
      if (incoming.complete) return
      if (!isUpload || socket.bytesRead === read) {
        socket.destroy()
        return
      }
      read = socket.bytesRead
      disarm = clock.after(REQUEST_MS, look, true)
    }
    let disarm = clock.after(REQUEST_MS, look, true)
    outgoing.once('close', () => disarm())
    return listener(incoming, outgoing)
  }
}

function tooMany(): Response {
  const detail =
    'this process has as many connections as it takes; ask again in a moment, or close those that you do not need'
  return problemResponse(new Problem('too-many-connections', detail), newRequestId())
}

function badRequest(): Response {
  const detail = 'the request cannot be read: its Host or its path is no part of a URL'
  return problemResponse(new Problem('bad-request', detail), newRequestId())
}
