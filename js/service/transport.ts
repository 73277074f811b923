/**
 * Sends the attempts of the retry service. Each goes through the guard before it is sent, and each connection once more; sockets are
 * kept for the next request to the same scheme, name and port of the same tenant, and for no other.
 *
 * Redirects are not followed here: the queue follows the few that a replay may follow, one request each, so each passes the guard.
 */

import { RedriveError } from 'redrive'
import { assertNotAborted, systemClock } from 'redrive/internal'
import type { ProxyAgent } from 'undici'
import { CLIENT_OPTIONS, Connection, type Lines, type Undici } from './connection.ts'
import { type Dial, dialTcp } from './dial.ts'
import { exchange, type Line, type StreamedBody } from './exchange.ts'
import { type Guard, type GuardOptions, makeGuard, TargetRefusedError } from './guard.ts'
import { parsed } from './targets.ts'

const CONNECT_MS = 3_000
const MAX_SOCKET_AGE_MS = 60_000

/**
 * Sends one request for a tenant, as `fetch` would with `redirect: 'manual'`, with the body of `init`, or the streamed one. The answer has
 * no body: it was dropped.
 *
 * Rejects with `TargetRefusedError`, with `NameUnresolvedError` where no name server has answered in time, with the reason of `init.signal`,
 * with a `TimeoutError` where the connection took too long, or with the error of the connection.
 */
export type Send = (tenant: string | null, url: string, init: RequestInit, how?: SendHow) => Promise<Response>

interface SendHow {
  readonly streamed?: StreamedBody | undefined
  /** Longest wait for the addresses of the name, within `lookupTimeoutMs`, in milliseconds. */
  readonly nameWithinMs?: number
}

export interface TransportOptions extends GuardOptions {
  /** The guard, or the one of each tenant, asked before each request: another one applies to what is sent from then on. @default made of these options */
  readonly guard?: Guard | ((tenant: string | null) => Guard)
  /** Longest wait for a connection, TLS included, in milliseconds. @default 3_000 */
  readonly connectTimeoutMs?: number
  /** Longest use of a socket, in milliseconds: a changed record applies after that. @default 60_000 */
  readonly maxSocketAgeMs?: number
  /**
   * URL of an HTTP proxy that everything is sent by. Names are resolved by it then, and addresses judged by its rules: of the guard
   * only what shows in the URL is left.
   */
  readonly egressProxy?: string
  /** Certificate authorities that are trusted in place of the system's, as PEM. */
  readonly ca?: string
  /** Begins connections; for tests. @default TCP */
  readonly dial?: Dial
}

export interface SendingTransport {
  readonly send: Send
  /** Loads what the first request would wait for. Never rejects: that request does. */
  warm(): Promise<void>
  /** Ends every connection and what is sent on it. Resolves once the sockets are closed. */
  close(): Promise<void>
}

/** @throws TypeError for options that are wrong, with the fix */
export function makeTransport(options: TransportOptions = {}): SendingTransport {
  const { clock = systemClock, guard = makeGuard(options), maxSocketAgeMs = MAX_SOCKET_AGE_MS } = options
  const guardOf = typeof guard === 'function' ? guard : () => guard
  const proxy = options.egressProxy === undefined ? undefined : proxyUrl(options.egressProxy)
  const ways = new Map<string, Way>()
  let sweptAt = clock.monotonic()
  let isClosed = false
  let undici: Undici | undefined
  const load = async (): Promise<Undici> => {
    undici ??= await import('undici')
    return undici
  }

  /** Tenants and targets come and go; what none of them used for a while is closed. */
  const sweep = (now: number): void => {
    if (now - sweptAt < maxSocketAgeMs) return
    sweptAt = now
    for (const [key, way] of ways) {
      if (way.isBusy || now - way.usedAt < maxSocketAgeMs) continue
      ways.delete(key)
      void way.end()
    }
  }

  const lineTo = (lib: Undici, origin: string, tenant: string | null, own: Guard, nameWithinMs: number): Line => {
    const now = clock.monotonic()
    sweep(now)
    // '=' tells the tenant '' from none
    const key = `${proxy ? '' : origin} ${tenant === null ? '' : `=${tenant}`}`
    let way = ways.get(key)
    if (!way) {
      way = proxy ? new ProxyWay(lib, proxy, options) : new Pool(lib, { origin, tenant, guard: own }, options)
      ways.set(key, way)
    }
    way.usedAt = now
    return way.line(own, nameWithinMs)
  }

  return {
    async send(tenant, url, init, { streamed, nameWithinMs = Number.POSITIVE_INFINITY } = {}) {
      const lib = undici ?? (await load())
      if (isClosed) throw new RedriveError('TRANSPORT_CLOSED', 'nothing is sent any more: the service is closed')
      assertNotAborted(init.signal ?? null)
      const own = guardOf(tenant)
      const target = parsed(url)
      const refusal = own.check(target ?? url)
      if (refusal) throw new TargetRefusedError(refusal)
      if (!target) throw new TypeError('Failed to construct a request: its target is no URL')
      return exchange(() => lineTo(lib, target.origin, tenant, own, nameWithinMs), target, init, clock, streamed)
    },
    warm: () =>
      load().then(
        () => {},
        () => {}, // the first request rejects with it
      ),
    async close() {
      isClosed = true
      const all = [...ways.values()]
      ways.clear()
      await Promise.all(all.map((way) => way.end()))
    },
  }
}

/** A way to send to one target, or to all of them, for one tenant. */
interface Way {
  /** On the monotonic clock. */
  usedAt: number
  /** Whether something is sent on it now. */
  readonly isBusy: boolean
  /** `nameWithinMs`: longest wait for the addresses of its name. */
  line(guard: Guard, nameWithinMs: number): Line
  /** Ends its sockets and what is sent on them. Never rejects. */
  end(): Promise<void>
}

/** The connections of one tenant to one scheme, name and port. A connection carries one request at a time. */
class Pool implements Way {
  usedAt = 0
  readonly #undici: Undici
  readonly #origin: string
  readonly #lines: Lines
  readonly #idle: Connection[] = []
  readonly #running = new Set<Connection>()

  constructor(
    undici: Undici,
    { origin, ...whose }: { origin: string } & Pick<Lines, 'guard' | 'tenant'>,
    options: TransportOptions,
  ) {
    this.#undici = undici
    this.#origin = origin
    this.#lines = {
      ...whose,
      clock: options.clock ?? systemClock,
      connectTimeoutMs: options.connectTimeoutMs ?? CONNECT_MS,
      maxSocketAgeMs: options.maxSocketAgeMs ?? MAX_SOCKET_AGE_MS,
      dial: options.dial ?? dialTcp,
      ca: options.ca,
      session: undefined,
    }
  }

  get isBusy(): boolean {
    return this.#running.size > 0
  }

  line(guard: Guard, nameWithinMs: number): Line {
    this.#lines.guard = guard
    const connection = this.#take()
    this.#running.add(connection)
    return {
      dispatcher: connection.begin(nameWithinMs),
      free: () => {
        this.#running.delete(connection)
        this.#idle.push(connection)
      },
      cut: (error) => {
        this.#running.delete(connection)
        void connection.end(error)
      },
    }
  }

  async end(): Promise<void> {
    const all = [...this.#idle, ...this.#running]
    await Promise.all(all.map((connection) => connection.end()))
  }

  /** The last that was freed, which is the least likely to have been closed by its server. */
  #take(): Connection {
    for (let known = this.#idle.pop(); known; known = this.#idle.pop()) {
      if (known.isFresh) return known
      void known.end()
    }
    return new Connection(this.#origin, this.#lines, this.#undici)
  }
}

/** Everything that one tenant sends, by the proxy. TLS to a target is the tenant's own, inside a tunnel. */
class ProxyWay implements Way {
  usedAt = 0
  readonly #agent: ProxyAgent
  #running = 0

  constructor(
    undici: Undici,
    uri: string,
    { connectTimeoutMs = CONNECT_MS, maxSocketAgeMs = MAX_SOCKET_AGE_MS, ca }: TransportOptions,
  ) {
    this.#agent = new undici.ProxyAgent({
      uri,
      connectTimeout: connectTimeoutMs,
      ...CLIENT_OPTIONS,
      clientTtl: maxSocketAgeMs,
      proxyTls: { allowH2: false },
      requestTls: ca === undefined ? {} : { ca },
    })
  }

  get isBusy(): boolean {
    return this.#running > 0
  }

  line(): Line {
    this.#running++
    const over = (): void => {
      this.#running--
    }
    return { dispatcher: this.#agent, free: over, cut: over }
  }

  async end(): Promise<void> {
    await this.#agent.destroy()
  }
}

/** @throws TypeError. Its message never has the URL, which may carry a password. */
function proxyUrl(text: string): string {
  const url = parsed(text)
  if (url && (url.protocol === 'http:' || url.protocol === 'https:')) return url.href
  throw new TypeError('egressProxy: its URL is none of an HTTP proxy; write one such as http://proxy.example.com:3128')
}
