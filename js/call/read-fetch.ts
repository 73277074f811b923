/**
 * Reads the arguments of fetch once, so that every attempt sends the same request: absolute URL, own copy of the
 * headers, body as bytes. What cannot be repeated is refused here, before anything is sent or kept.
 */

import { BodyNotReplayableError } from '../api/errors.ts'
import { checkTask, type TaskOptions, taskPolicy } from '../options/task-options.ts'
import type { Call, CallContext } from './call.ts'
import { FetchTransport } from './fetch-transport.ts'
import { readKey } from './key.ts'

export type RedriveInit = RequestInit & { redrive?: TaskOptions | false }

/** Requests the queue never touches: no trace, no key, no retry. */
export function passesThrough(input: RequestInfo | URL, init: RedriveInit | undefined): boolean {
  if (init?.redrive === false) return true
  const request = input instanceof Request ? input : undefined
  const mode = init?.mode ?? request?.mode
  if (mode === 'no-cors' || mode === 'navigate') return true
  if (init?.keepalive ?? request?.keepalive) return true
  const url = request?.url ?? String(input)
  // most are absolute as they stand, and parsing costs more than all the rest here
  return !HTTP.test(url) && !HTTP.test(absolute(url))
}

const HTTP = /^https?:/i

/** Where relative URLs start; undefined outside pages and workers. */
function baseUrl(): string | undefined {
  return globalThis.document?.baseURI ?? globalThis.location?.href
}

export function absolute(url: string): string {
  return parse(url).href
}

/** For messages: query and user info may hold a secret. */
export const bare = (url: string): string => url.replace(/.*@.*|[?#].*/s, '…')

function parse(url: string): URL {
  try {
    return new URL(url, baseUrl())
  } catch {
    // as fetch does
    throw new TypeError(`expected a URL (absolute outside a page), got '${bare(url)}'`)
  }
}

/** Synchronous unless a body must be read, so that a call without one is sent at once. */
export function readFetch(
  input: RequestInfo | URL,
  init: RedriveInit | undefined,
  { settings, principal, makeKey }: CallContext,
): Call | Promise<Call> {
  const options = (init?.redrive || {}) as TaskOptions
  checkTask(options)
  const policy = taskPolicy(settings.policies, options)
  const url = parse(input instanceof Request ? input.url : String(input))
  if (url.username || url.password) {
    throw new TypeError(`expected a URL without a password for ${url.host}`)
  }
  // asked first: a Request made of it would hide it
  if (isStream(init?.body)) throw new BodyNotReplayableError(`${init?.method ?? 'GET'} ${url.origin}${url.pathname}`)
  const request = input instanceof Request ? new Request(input, init) : null
  const { method: sendMethod = 'GET', headers: given, signal } = request ?? init ?? {}
  const method = sendMethod.toUpperCase()
  const headers = new Headers(given)
  const keyed = readKey({ method, origin: url.origin, headers, options }, settings.idempotency, makeKey)

  // with what cannot change between attempts, and the content type that fetch would give it
  const finish = (body: string | Uint8Array<ArrayBuffer> | null, bytes: number, contentType: string | null): Call => {
    if (contentType && !headers.has('content-type')) headers.set('content-type', contentType)
    const base = request ? requestInit(request) : init
    const sent = { ...base, method: sendMethod, headers, body }
    return {
      method,
      url: url.href,
      origin: url.origin,
      principal,
      headers,
      hasBody: body !== null,
      bytes,
      ...keyed,
      options,
      policy,
      timeoutMs: policy.attemptTimeoutMs,
      signal: signal ?? null,
      transport: new FetchTransport({ fetch: settings.fetch, url: url.href, init: sent }),
      plain: bytes > settings.maxBodyBytes ? 'too-large' : keyed.originMissing ? 'origin-missing' : null,
    }
  }

  const body = init?.body ?? null
  // text is what most bodies are: sent at once, without waiting for bytes
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

/** A web stream, or the async iterable that Node's fetch takes as well. */
export function isStream(body: unknown): boolean {
  return typeof body === 'object' && body !== null && ('getReader' in body || Symbol.asyncIterator in body)
}

function requestInit(request: Request): RequestInit {
  const names = ['cache', 'credentials', 'integrity', 'mode', 'redirect', 'referrer', 'referrerPolicy'] as const
  return Object.fromEntries(names.map((name) => [name, request[name]]))
}
