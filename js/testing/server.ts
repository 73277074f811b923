/** A server in the shape of fetch that answers from a script and remembers what it saw. */

import { type Clock, systemClock } from '../platform/clock.ts'
import type { BodyLike } from '../platform/web.ts'

export interface SeenRequest {
  readonly method: string
  readonly url: string
  readonly headers: Headers
  readonly body: string
  /** On the server's clock. */
  readonly at: number
  readonly signal: AbortSignal
}

export interface ScriptedServer {
  readonly fetch: typeof fetch
  /** The next request gets this answer. Past the end of the script the answer is 200. */
  reply(status: number, headers?: Record<string, string>, body?: BodyLike | null): ScriptedServer
  /** The next request fails without an answer. @default a TypeError, as a lost connection gives */
  fail(error?: unknown): ScriptedServer
  /** The next request is answered only when the returned function is called; an abort ends it as fetch would. */
  hang(): (status: number, headers?: Record<string, string>) => void
  readonly requests: readonly SeenRequest[]
  readonly hits: number
  /** Highest number of requests that ran at once. */
  readonly maxInFlight: number
}

type Answer = (request: SeenRequest) => Response | Promise<Response>

export function scriptedServer({ clock = systemClock }: { readonly clock?: Clock } = {}): ScriptedServer {
  const script: Answer[] = []
  const requests: SeenRequest[] = []
  let inFlight = 0
  let maxInFlight = 0
  const server: ScriptedServer = {
    requests,
    get hits() {
      return requests.length
    },
    get maxInFlight() {
      return maxInFlight
    },
    reply(status, headers = {}, body = null) {
      // made now: a status that no answer can have is a mistake of the script's, and would pass for a lost connection later
      const answer = new Response(body, { status, headers })
      script.push(() => answer)
      return server
    },
    fail(error = new TypeError('fetch failed')) {
      script.push(() => Promise.reject(error))
      return server
    },
    hang() {
      let release: (response: Response) => void = () => {}
      const released = new Promise<Response>((resolve) => {
        release = resolve
      })
      script.push(() => released)
      return (status, headers = {}) => release(new Response(null, { status, headers }))
    },
    fetch: async (input, init) => {
      const request = new Request(input, init)
      request.signal.throwIfAborted()
      inFlight++
      maxInFlight = Math.max(maxInFlight, inFlight)
      try {
        const { method, url, headers, signal } = request
        const seen = { method, url, headers, body: await request.text(), at: clock.now(), signal }
        requests.push(seen)
        const answer = script.shift() ?? (() => new Response(null, { status: 200 }))
        return await orAbort(signal, answer(seen))
      } finally {
        inFlight--
      }
    },
  }
  return server
}

/** A scripted server in the place of the global `fetch`. */
export interface FakeServer extends ScriptedServer {
  /** Puts the `fetch` back that was there before, as the end of a `using` block does. */
  restore(): void
  [Symbol.dispose](): void
}

/**
 * Replaces the global `fetch`, which queues look up for each attempt, by a scripted server.
 *
 * @example
 * using server = withFakeServer()
 * server.reply(503).reply(200)
 */
export function withFakeServer(): FakeServer {
  const { fetch } = globalThis
  const server = scriptedServer()
  const restore = () => {
    globalThis.fetch = fetch
  }
  globalThis.fetch = server.fetch
  return Object.assign(server, { restore, [Symbol.dispose]: restore })
}

function orAbort<T>(signal: AbortSignal, answer: T | Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    // while the body was read
    if (signal.aborted) reject(signal.reason)
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    Promise.resolve(answer).then(resolve, reject)
  })
}
