/**
 * Reads the arguments of fetch once, so that every attempt sends the same request: absolute URL, own copy of the
 * headers, body as bytes. A body that cannot be repeated is refused here, before anything is sent or kept.
 */

import { BodyNotReplayableError } from '../api/errors.ts'
import { type TaskOptions, taskPolicy } from '../options/task-options.ts'
import { type Call, type CallContext, makeCall } from './call.ts'
import { FetchTransport } from './fetch-transport.ts'

export type RedriveInit = RequestInit & { redrive?: TaskOptions | false }

/** Whether the queue leaves a request alone: no trace, no key, no retry. */
export function passesThrough(input: RequestInfo | URL, init: RedriveInit | undefined): boolean {
  if (init?.redrive === false) return true
  const request = input instanceof Request ? input : undefined
  const mode = init?.mode ?? request?.mode
  if (mode === 'no-cors' || mode === 'navigate') return true
  if (init?.keepalive ?? request?.keepalive) return true
  const url = request?.url ?? String(input)
  // most are absolute already, and parsing costs more than the rest of this function
  return !HTTP.test(url) && !HTTP.test(absolute(url))
}

const HTTP = /^https?:/i

/** The URL resolved as fetch would. Throws a TypeError without the secrets that the platform's message would quote. */
export function absolute(url: string): string {
  return parse(url).href
}

/** A URL for messages, cut, and without query and user info, which may hold a secret. Whatever comes in is looked at once. */
export const bare = (url: string): string => (url.includes('@') ? '…' : url.slice(0, 256).replace(/[?#].*/s, '…'))

function parse(url: string): URL {
  try {
    // outside pages and workers there is nothing that a relative URL could start from
    return new URL(url, globalThis.document?.baseURI ?? globalThis.location?.href)
  } catch {
    // as fetch does
    throw new TypeError(`expected a URL (absolute outside a page), got '${bare(url)}'`)
  }
}

/** Reads a call. Synchronous unless a body must be read, so that a call without one is sent at once. */
export function readFetch(
  input: RequestInfo | URL,
  init: RedriveInit | undefined,
  context: CallContext,
): Call | Promise<Call> {
  const { fetch, policies } = context.settings
  const options = (init?.redrive || {}) as TaskOptions
  const policy = taskPolicy(policies, options)
  const url = parse(input instanceof Request ? input.url : String(input))
  if (url.username || url.password) throw new TypeError(`expected a URL without a password for ${url.host}`)
  // checked first: a Request made of it would hide the stream
  if (isStream(init?.body)) throw new BodyNotReplayableError(`${init?.method ?? 'GET'} ${url.origin}`)
  const request = input instanceof Request ? new Request(input, init) : null
  const { method = 'GET', headers: given, signal = null } = request ?? init ?? {}
  const headers = new Headers(given)
  const complete = makeCall(context, {
    method: method.toUpperCase(),
    url: url.href,
    origin: url.origin,
    headers,
    options,
    policy,
    timeoutMs: policy.attemptTimeoutMs,
    signal,
  })

  // the content type is the one that fetch would give the body
  const finish = (body: string | Uint8Array<ArrayBuffer> | null, bytes: number, contentType: string | null): Call => {
    if (contentType && !headers.has('content-type')) headers.set('content-type', contentType)
    const sent = { ...(request ? requestInit(request) : init), method, headers, body }
    return complete({
      hasBody: body !== null,
      bytes,
      transport: new FetchTransport({ fetch, url: url.href, init: sent }),
    })
  }

  const body = init?.body ?? null
  // most bodies are text: sent at once, without waiting for bytes
  if (!request && typeof body === 'string') {
    return finish(body, encoder.encode(body).byteLength, 'text/plain;charset=UTF-8')
  }
  // a Request's own body is not one-shot to its owner: it is read here, as fetch would
  const holder = request ?? (body === null ? null : new Response(body))
  // undefined: Firefox, and Chrome before 105, do not say whether a Request has one
  if (!holder || holder.body === null) return finish(null, 0, null)
  const contentType = holder.headers.get('content-type')
  return holder.arrayBuffer().then((read) => {
    const bytes = read.byteLength
    return finish(bytes ? new Uint8Array(read) : null, bytes, contentType)
  })
}

const encoder = new TextEncoder()

/** Whether a body is a web stream, or an async iterable, which Node's fetch takes too. */
export function isStream(body: unknown): boolean {
  return typeof body === 'object' && body !== null && ('getReader' in body || Symbol.asyncIterator in body)
}

function requestInit(request: Request): RequestInit {
  const names = ['cache', 'credentials', 'integrity', 'mode', 'redirect', 'referrer', 'referrerPolicy'] as const
  return Object.fromEntries(names.map((name) => [name, request[name]]))
}
