/** Sends one request by fetch, as often as asked, and holds replays to the origin the caller named. */

import { type Answer, type AttemptInit, type Mark, mark, type Transport } from './transport.ts'

export const MAX_REDIRECTS = 20 // the fetch standard's
export const REDIRECT: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])
const SAFE = new Set(['GET', 'HEAD', 'OPTIONS'])
/** What a request may carry to another origin without giving anything away. */
const HARMLESS = /^(accept|accept-.*|content-.*|prefer|range|if-.*|x-request(ed-with|-id)|user-agent)$/

type SentInit = RequestInit & { readonly method: string; readonly headers: Headers }

export class FetchTransport implements Transport {
  readonly #fetch: typeof fetch
  readonly #url: string
  readonly #init: SentInit

  constructor(fetch: typeof globalThis.fetch, url: string, init: SentInit) {
    this.#fetch = fetch
    this.#url = url
    this.#init = init
  }

  async send({ overlay, signal, replay }: AttemptInit): Promise<Answer> {
    let headers = this.#init.headers
    if (overlay) {
      headers = new Headers(headers)
      overlay.forEach((value, name) => {
        headers.set(name, value)
      })
    }
    const init: SentInit = { ...this.#init, headers, signal }
    const follows = (init.redirect ?? 'follow') === 'follow'
    const { method, headers: own } = this.#init
    if (!replay || !follows || mayLeave(method, own, overlay))
      return new FetchAnswer(await this.#fetch(this.#url, init))
    return this.#sendWithinOrigin(init)
  }

  /** fetch tells a wrong argument from a lost connection by nothing but this: it is wrong without a network too. */
  isFinal(): boolean {
    try {
      new Request(this.#url, { ...this.#init, signal: null })
      return false
    } catch {
      return true
    }
  }

  accepted(taskId: string, traceId: string): Response {
    const headers = { 'content-type': 'application/json', 'redrive-task-id': taskId }
    return new Response(JSON.stringify({ status: 'queued', taskId, traceId }), { status: 202, headers })
  }

  /** Follows redirects by hand while they stay within the origin (S15). */
  async #sendWithinOrigin(first: SentInit): Promise<Answer> {
    const origin = new URL(this.#url).origin
    let init: SentInit = { ...first, redirect: 'manual' }
    let url = this.#url
    for (let hop = 0; hop <= MAX_REDIRECTS; hop++) {
      const response = await this.#fetch(url, init)
      // a browser's opaque redirect does not say where it leads
      if (response.type === 'opaqueredirect') return new FetchAnswer(response, true)
      const location = REDIRECT.has(response.status) ? response.headers.get('location') : null
      if (location === null) return new FetchAnswer(response)
      const next = new URL(location, url)
      if (next.origin !== origin) return new FetchAnswer(response, true)
      drain(response)
      url = next.href
      init = afterRedirect(init, response.status)
    }
    throw new TypeError(`more than ${MAX_REDIRECTS} redirects`)
  }
}

/**
 * Browsers hide where a redirect leads, so refusing every one would break calls that plain fetch completes; a safe
 * request without a credential gives nothing away by following. Elsewhere each hop can be looked at.
 */
export function mayLeave(method: string, headers: Headers, overlay: Headers | null): boolean {
  if (globalThis.location === undefined || overlay || !SAFE.has(method.toUpperCase())) return false
  let harmless = true
  headers.forEach((_, name) => {
    harmless &&= HARMLESS.test(name)
  })
  return harmless
}

/** The fetch standard, "HTTP-redirect fetch": 303 turns all but GET and HEAD into GET, 301 and 302 only POST. */
export function becomesGet(status: number, method: string): boolean {
  return status === 303 ? method !== 'GET' && method !== 'HEAD' : status <= 302 && method === 'POST'
}

/** What goes with the body. */
export const BODY_HEADERS: readonly string[] = [
  'content-encoding',
  'content-language',
  'content-location',
  'content-type',
]

function afterRedirect(init: SentInit, status: number): SentInit {
  if (!becomesGet(status, init.method.toUpperCase())) return init
  const headers = new Headers(init.headers)
  for (const name of BODY_HEADERS) headers.delete(name)
  return { ...init, method: 'GET', headers, body: null }
}

class FetchAnswer implements Answer {
  readonly #response: Response
  readonly redirectRefused: boolean

  constructor(response: Response, redirectRefused = false) {
    this.#response = response
    this.redirectRefused = redirectRefused
  }

  get status(): number {
    return this.#response.type === 'opaque' ? 200 : this.#response.status
  }

  header(name: string): string | null {
    return this.#response.headers.get(name)
  }

  deliver(redrive: Mark | null): Response {
    return mark(this.#response, redrive)
  }

  clone(): Response {
    return this.#response.clone()
  }

  discard(): void {
    drain(this.#response)
  }
}

const SMALL_BODY_BYTES = 64 * 1024

/** Frees the connection: a short body is read to its end so that the connection can be used again, a long one cancelled. */
function drain(response: Response): void {
  if (!response.body || response.bodyUsed) return
  const length = Number(response.headers.get('content-length') ?? Number.NaN)
  const done = length <= SMALL_BODY_BYTES ? response.arrayBuffer() : response.body.cancel()
  // the answer was given up already: an error in what is left of it concerns nobody
  done.catch(() => {})
}
