/**
 * Reads the arguments of fetch once, so that every attempt sends the same request: absolute URL, own copy of the
 * headers, body as bytes. A body that cannot be repeated is refused here, before anything is sent or kept.
 */

import { BodyNotReplayableError } from '../api/errors.ts'
import { defined, type Marked, OWN } from '../options/queue-options.ts'
import type { TaskOptions } from '../options/task-options.ts'
import { taskPolicies } from '../options/task-policies.ts'
import { FOREVER } from '../platform/clock.ts'
import { utf8 } from '../platform/utf8.ts'
import type { BodyLike, RequestLike } from '../platform/web.ts'
import { type Call, type CallContext, makeCall, NO_OPTIONS, patience } from './call.ts'
import { FetchTransport, type SentInit } from './fetch-transport.ts'
import { whileThere } from './leaving.ts'
import { cancelBody, readBody } from './read-body.ts'

export type RedriveInit = RequestInit & { redrive?: TaskOptions | false }

/** The init of a call that is enqueued. */
export type EnqueueInit = RequestInit & {
  redrive?: TaskOptions
  /**
   * In place of a `body`: sent as JSON, by POST and as 'application/json' unless `method` and `headers` say otherwise. @default none
   * @example queue.enqueue('/api/orders', { json: { sku: 1 } })
   */
  json?: unknown
}

/** The trait for which the queue leaves a request alone, with no trace, no key and no retry; '': it does not. @internal */
export function passesThrough(input: RequestLike, init: RedriveInit | undefined): string {
  if (init?.redrive === false || (init as Marked | undefined)?.[OWN]) return 'off'
  const request = isRequest(input) ? input : undefined
  const mode = init?.mode ?? request?.mode
  if (mode === 'no-cors' || mode === 'navigate') return mode
  if (init?.keepalive ?? request?.keepalive) return 'keepalive'
  const url = request?.url ?? String(input)
  // most are absolute already, and parsing costs more than the rest of this function
  return HTTP.test(url) || HTTP.test(absolute(url)) ? '' : 'scheme'
}

const HTTP = /^https?:/i

/** A frame of the page has a class of its own for it. */
const isRequest = (given: unknown): given is Request => Object(given)[Symbol.toStringTag] === 'Request'

/** The URL resolved as fetch would. Throws a TypeError without the secrets that the platform's message would quote. */
export function absolute(url: string): string {
  return parse(url).href
}

/** A URL for messages, cut, and without query and user info, which may hold a secret. Whatever comes in is looked at once. */
export const bare = (url: string): string => (url.includes('@') ? '…' : url.slice(0, 256).replace(/[?#].*/s, '…'))

function parse(url: string): URL {
  try {
    // outside pages and workers there is nothing that a relative URL could start from
    if (!/^\[object |^(undefined|null)$/.test(url))
      return new URL(url, globalThis.document?.baseURI ?? globalThis.location?.href)
  } catch {} // told as what has no URL is
  throw new TypeError(`expected a URL, absolute outside a page, as in (url, { method, body }), got '${bare(url)}'`)
}

/**
 * Reads a call. Synchronous unless a body must be read, so that a call without one is sent at once. `patient`: its caller waits for the body
 * without an end, unless it has a `waitMs`. @internal
 */
export function readFetch(
  input: RequestLike,
  init: RedriveInit | undefined,
  context: CallContext,
  patient = false,
): Call | Promise<Call> {
  const { clock, fetch, maxBodyBytes, sign } = context.settings
  const options = init?.redrive || NO_OPTIONS
  const pair = taskPolicies(context, options)
  const url = parse(isRequest(input) ? input.url : String(input))
  if (url.username || url.password) throw new TypeError(`expected a URL without a password for ${url.host}`)
  // checked first: a Request made of it would hide the stream
  context.checks?.init(init, context.given)
  const isWhole = isRequest(init)
  if (!isWhole && isStream(init?.body)) throw new BodyNotReplayableError(`${init?.method ?? 'GET'} ${url.origin}`)
  const request = isWhole || isRequest(input) ? new Request(input, init) : null
  const { method = 'GET', headers: ownHeaders, signal = null } = request ?? init ?? {}
  const headers = new Headers(ownHeaders)
  const asked = {
    method: method.toUpperCase(),
    url: url.href,
    origin: url.origin,
    headers,
    options,
    ...pair,
    signal,
    held: request && [input, init, request],
  }
  const complete = makeCall(context, asked)

  const given = request ?? init
  const sent = { ...init, ...partsOf(given ?? {}), method, headers }
  const finish = (bytes: number, body: BodyLike | null | undefined, whole?: Request): Call =>
    complete({
      hasBody: body !== null,
      bytes,
      transport: new FetchTransport({ fetch, url: url.href, init: { ...sent, body } as SentInit, whole }),
    })
  // the content type is the one that fetch would give the body
  const setType = (type: string | null) => {
    if (type && !headers.has('content-type')) headers.set('content-type', type)
  }

  const body = init?.body
  // most bodies are text: sent at once, without waiting for bytes
  if (!request && typeof body === 'string') {
    setType('text/plain;charset=UTF-8')
    return finish(utf8(body).byteLength, body)
  }
  // a Request's own body is not one-shot to its owner: it is read here, as fetch would
  const holder = request ?? (body == null ? body : new Response(body))
  // undefined: Firefox, and Chrome before 105, do not say whether a Request has one
  if (!holder || holder.body === null) return finish(0, null)
  // what is too long to be kept is still to be sent, with the length that only a Request knows
  const whole = request?.body ? request.clone() : undefined
  // bytes are here already, or needed: what is enqueued is signed later, and never so long
  const most = 'byteLength' in Object(body) || (sign && !patient) ? FOREVER : maxBodyBytes
  const controller = new AbortController()
  const reading = readBody(holder, most, controller.signal)
  const readMs = patience(options.waitMs, patient ? FOREVER : maxBodyBytes)
  return whileThere(asked, clock, readMs, reading, { controller }).then(
    (read) => {
      if (!read) return finish(maxBodyBytes + 1, whole ? undefined : body, whole)
      cancelBody(whole?.body)
      setType(holder.headers.get('content-type'))
      return finish(read.byteLength, read.byteLength ? read : null)
    },
    async (error) => {
      // a form has no stream of the caller's, and Node fails out of reach where one is cancelled while it is read
      if (!/^multipart/.test(headers.get('content-type') as string)) cancelBody(whole?.body, error)
      await context.checks?.unread(body, error)
      throw error
    },
  )
}

/** An init whose `json` is its body. What stands beside it, or has no JSON, is left there, and the core refuses it. */
export function withJson(input: RequestLike, init: EnqueueInit | undefined): EnqueueInit | undefined {
  // that of a Request is a method
  if (init?.json === undefined || isRequest(init)) return init
  const { method = 'POST', headers: own } = input as Partial<Request>
  const headers = new Headers(init.headers ?? own)
  if (!headers.has('content-type')) headers.set('content-type', 'application/json')
  const text = JSON.stringify(init.json)
  return { method, ...init, headers, body: text, json: text ? (init.body ?? undefined) : init.json }
}

/** Whether a body is a web stream, or an async iterable, which Node's fetch takes too. */
export function isStream(body: unknown): boolean {
  return 'getReader' in Object(body) || Symbol.asyncIterator in Object(body)
}

/** A copy of an init, or of a Request, with the parts that fetch asks for by name: `...` would miss those that a class has. */
export function partsOf(given: RequestInit & { readonly cf?: unknown }): RequestInit {
  const {
    body,
    cache,
    cf,
    credentials,
    headers,
    integrity,
    keepalive,
    method,
    mode,
    redirect,
    referrer,
    referrerPolicy,
    signal,
  } = given
  return {
    ...given,
    ...defined({
      body,
      cache,
      cf,
      credentials,
      headers,
      integrity,
      keepalive,
      method,
      mode,
      redirect,
      referrer,
      referrerPolicy,
      signal,
    }),
  } as RequestInit
}
