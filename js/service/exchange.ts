/**
 * One request and its answer over undici. An answer is its status and its headers: of its body a little is read and dropped, so that
 * its socket can be used again, and no byte of it is kept, since it may be what only the network of the service was to see.
 *
 * undici's `dispatch` and not its `request`: nothing reads the body, so no stream is made of it.
 */

import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import type { Clock } from 'redrive'
import { REDIRECT } from 'redrive/internal'
import type { Dispatcher } from 'undici'
import { OWN_FIELDS } from './field-rules.ts'

/** The way that one request takes. */
export interface Line {
  readonly dispatcher: Dispatcher
  /** Its answer has been read to its end. */
  free(): void
  /** Ends its connection. */
  cut(error: Error): void
}

/** Bytes of a body that are read and dropped. */
const MAX_BODY_BYTES = 64 * 1024
/** Longest time that a body is read, after its headers. */
const BODY_MS = 1_000
/** Interim answers (1xx) to one request. A server may send them without an end. */
const MAX_INTERIM = 16

/** A body that is sent as it comes, and has to be as long as it says. */
export interface StreamedBody {
  readonly stream: Readable
  readonly bytes: number
}

/**
 * Sends one request on the line that `open` gives. Rejects as `fetch` does: with the reason of `init.signal`, or with the error of the
 * connection.
 */
export function exchange(
  open: () => Line,
  url: URL,
  init: RequestInit,
  clock: Clock,
  streamed?: StreamedBody,
): Promise<Response> {
  return new Promise((resolve, reject) => {
    const { method = 'GET', body = null } = init
    if (!(body === null || typeof body === 'string' || body instanceof Uint8Array)) {
      throw new TypeError('Failed to construct a request: its body is neither bytes nor a text; read it first')
    }
    const { origin, pathname, search } = url
    const headers = headersOf(init.headers)
    // of a body that is at hand the client knows the length
    if (streamed) headers.push('content-length', `${streamed.bytes}`)
    const request = { origin, path: `${pathname}${search}`, method, headers, body: streamed?.stream ?? body }
    const line = open()
    const handler = new Exchange({ line, init, clock, resolve, reject })
    line.dispatcher.dispatch(request, handler)
  })
}

interface Parts {
  readonly line: Line
  readonly init: RequestInit
  readonly clock: Clock
  readonly resolve: (response: Response) => void
  readonly reject: (error: unknown) => void
}

class Exchange implements Dispatcher.DispatchHandler {
  readonly #parts: Parts
  #controller: Dispatcher.DispatchController | undefined
  #isOver = false
  #interim = 0
  #bytes = 0
  #disarm: (() => void) | undefined

  constructor(parts: Parts) {
    this.#parts = parts
    parts.init.signal?.addEventListener('abort', this.#aborted)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    // nothing of it has been written yet
    if (this.#isOver) controller.abort(cutOff('the attempt was over'))
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (this.#isOver) return
    if (status < 200) {
      if (++this.#interim > MAX_INTERIM) this.#cut(cutOff(`more than ${MAX_INTERIM} interim answers`))
      return
    }
    if (this.#parts.init.redirect === 'error' && REDIRECT.has(status)) {
      this.#cut(new TypeError('fetch failed', { cause: new Error('unexpected redirect') }))
      return
    }
    this.#parts.resolve(answerOf(status, headers))
    // most bodies have come with their headers, and have ended by then
    queueMicrotask(() => {
      if (!this.#isOver)
        this.#disarm = this.#parts.clock.after(BODY_MS, () => this.#cut(cutOff('its body took too long')))
    })
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#bytes += chunk.length
    if (this.#bytes > MAX_BODY_BYTES) this.#cut(cutOff('its body is too long'))
  }

  onResponseEnd(): void {
    if (this.#end()) this.#parts.line.free()
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#cut(ofProxy(error))
  }

  readonly #aborted = (): void => {
    this.#cut(this.#parts.init.signal?.reason)
  }

  /** Ends it without an answer, or without the rest of it. */
  #cut(error: unknown): void {
    if (!this.#end()) return
    // once there is an answer, this changes nothing
    this.#parts.reject(error)
    const reason = error instanceof Error ? error : cutOff('it was aborted')
    this.#controller?.abort(reason)
    this.#parts.line.cut(reason)
  }

  /** False where it has ended before. */
  #end(): boolean {
    if (this.#isOver) return false
    this.#isOver = true
    this.#disarm?.()
    this.#parts.init.signal?.removeEventListener('abort', this.#aborted)
    return true
  }
}

/** Names and values in turn, in the form that undici copies least. */
function headersOf(given: HeadersInit | undefined): string[] {
  const flat: string[] = []
  const headers = given instanceof Headers ? given : new Headers(given)
  headers.forEach((value, name) => {
    if (!OWN_FIELDS.has(name)) flat.push(name, value)
  })
  // servers exist that refuse requests without them
  if (!headers.has('accept')) flat.push('accept', '*/*')
  if (!headers.has('user-agent')) flat.push('user-agent', 'redrive')
  return flat
}

/** An answer without its body. */
function answerOf(status: number, given: IncomingHttpHeaders): Response {
  const headers: [string, string][] = []
  for (const [name, value] of Object.entries(given)) {
    if (typeof value === 'string') headers.push([name, value])
    else for (const each of value ?? []) headers.push([name, each])
  }
  if (status <= 599) return new Response(null, { status, headers })
  return withStatus(new Response(null, { headers }), status)
}

/** A Response of a status that none can be made with, such as 999, which servers give all the same. */
function withStatus(response: Response, status: number): Response {
  const clone = (): Response => withStatus(new Response(null, { headers: response.headers }), status)
  return Object.defineProperties(response, { status: { value: status }, ok: { value: false }, clone: { value: clone } })
}

/**
 * undici gives the refusals of a proxy as errors of the caller's own, which no repeat mends; a proxy may let the next request pass. Only a proxy
 * is looked for and dialled by undici, and where it is concerns no caller.
 */
function ofProxy(error: NodeJS.ErrnoException): Error {
  const { syscall = '', code = '' } = error
  if (syscall === 'connect' || syscall === 'getaddrinfo' || error instanceof AggregateError) {
    return Object.assign(new Error(`the egress proxy cannot be reached: ${code}`), { code })
  }
  if (!/^Proxy (response|Authentication)/.test(error.message)) return error
  return Object.assign(new Error(`the egress proxy let nothing pass: ${error.message}`), { code: 'PROXY_REFUSED' })
}

function cutOff(why: string): Error {
  return Object.assign(new Error(`the exchange was cut off: ${why}`), { code: 'ECONNRESET' })
}
