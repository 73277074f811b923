/**
 * Under which names the server answers, and to which pages. A page on another site can make a browser send requests here (CSRF), and a name
 * of its own can be made to lead here (DNS rebinding): the first shows itself by `Origin`, the second by `Host`.
 */

import { isIP } from 'node:net'
import type { ApiSettings } from './context.ts'
import { Problem } from './problem.ts'

/** The name in a `Host` field, without the port, in lower case. */
function nameIn(host: string): string {
  return host.toLowerCase().replace(/:\d*$/, '')
}

const hostOf = ({ headers, url }: Request): string => nameIn(headers.get('host') ?? new URL(url).host)

/** Whether a request calls this server by an address. */
export const isAtAddress = (request: Request): boolean => isIP(hostOf(request).replace(/^\[(.*)\]$/, '$1')) !== 0

/** Throws 'wrong-host' for a name that is not on the list. */
export function checkHost(request: Request, { hostNames }: ApiSettings): void {
  if (hostNames.includes(hostOf(request))) return
  throw new Problem('wrong-host', 'the Host of this request is not one of --host-names')
}

/** Throws 'forbidden' for a page that is not listed; gives its origin, or null where the request comes from none. */
export function checkOrigin(request: Request, { corsOrigins = [] }: ApiSettings): string | null {
  const { headers } = request
  const origin = headers.get('origin')
  if (origin === null) {
    // an image or a script of another page: it reads nothing, but learns from whether it loads, and keeps the service busy
    const isOwn = /^(?:same-origin|none)$/.test(headers.get('sec-fetch-site') ?? 'none')
    if (isOwn || headers.get('sec-fetch-mode') === 'navigate') return null
  } else if (corsOrigins.includes(origin)) return origin
  throw new Problem('forbidden', 'pages of this Origin may not ask: list it with --cors-origin if they should')
}

/**
 * Whether the page that asks is one of this server: the inspector is. Browsers say `Origin` with each write of a page, to its own server too.
 * To be called after `checkHost`, since the name is compared with that of the request alone: a page under a name that leads here has it, too.
 */
export function isOwnPage({ headers, url }: Request): boolean {
  const origin = headers.get('origin')
  if (origin === null || !URL.canParse(origin)) return false
  const { protocol, host } = new URL(origin)
  // the page of this host by http, where this is https: anyone on the way may have written it
  const site = headers.get('sec-fetch-site') ?? 'same-origin'
  if (!/^https?:$/.test(protocol) || site !== 'same-origin') return false
  // the scheme is taken from the page, since a proxy that ends TLS does not pass it on
  const own = `${protocol}//${headers.get('host') ?? new URL(url).host}`
  return URL.canParse(own) && new URL(own).host === host
}

const ASKED =
  'authorization, content-type, idempotency-key, if-match, if-none-match, last-event-id, prefer, redrive-tenant, traceparent'
const EXPOSED =
  'etag, location, preference-applied, ratelimit, ratelimit-policy, redrive-request-id, retry-after, www-authenticate'

/** Whether a browser asks if a page may send a request (Fetch, 3.3.4). */
export const isPreflight = (request: Request, origin: string | null): boolean =>
  origin !== null && request.method === 'OPTIONS' && request.headers.has('access-control-request-method')

/** The answer to a preflight of a page that is listed. */
export function preflightResponse(methods: readonly string[]): Response {
  return new Response(null, {
    status: 204,
    headers: {
      'access-control-allow-methods': methods.join(', '),
      'access-control-allow-headers': ASKED,
      'access-control-max-age': '600',
    },
  })
}

/** Lets the page read an answer. */
export function putCors(headers: Headers, origin: string | null): void {
  headers.append('vary', 'Origin')
  if (origin === null) return
  headers.set('access-control-allow-origin', origin)
  headers.set('access-control-expose-headers', EXPOSED)
}
