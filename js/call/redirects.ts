/**
 * The rules for redirects of a replay: within the recorded origin it follows any, beyond it none that would give something
 * away (S15). Each transport follows them by its own means; Axios brings these rules along, and nothing else of a replay.
 */

import type { AttemptInit } from './transport.ts'

export const MAX_REDIRECTS = 20 // the fetch standard's
export const REDIRECT: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])
/** Headers that are dropped together with the body: the fetch standard's, and its length, which a caller can give outside of browsers. */
const BODY_HEADERS = ['encoding', 'language', 'length', 'location', 'type'].map((name) => `content-${name}`)
const SAFE = new Set(['GET', 'HEAD', 'OPTIONS'])
/** Headers that a request may carry to another origin without giving anything away. */
const HARMLESS = /^(accept|accept-.*|content-.*|prefer|range|if-.*|x-request(ed-with|-id)|user-agent)$/
/** Likewise, of those that an attempt adds: whatever else it adds is a credential, or a signature. */
const TRACE = /^trace(parent|state)$/

/**
 * Whether a replay may follow redirects unseen. Browsers hide where one leads, so refusing all would break calls that plain
 * fetch completes; a safe request without a credential gives nothing away by following. Elsewhere each hop can be checked, and only an attempt that
 * `roams` follows one that leads away.
 */
export function mayLeave(
  method: string,
  headers: Headers,
  overlay: Headers | null,
  roams: boolean = globalThis.location !== undefined,
): boolean {
  let harmless = roams && SAFE.has(method.toUpperCase())
  headers.forEach((_, name) => {
    harmless &&= HARMLESS.test(name) || TRACE.test(name)
  })
  overlay?.forEach((_, name) => {
    harmless &&= TRACE.test(name)
  })
  return harmless
}

/** Whether the next hop is a GET. The fetch standard, "HTTP-redirect fetch": 303 turns all but GET and HEAD into GET, 301 and 302 only POST. */
export function becomesGet(status: number, method: string): boolean {
  return status === 303 ? method !== 'GET' && method !== 'HEAD' : status <= 302 && method === 'POST'
}

/** Takes out of a request's headers those that the GET goes without which a redirect has made of it. */
export function dropBody(headers: { delete(name: string): unknown }, keyHeader: string | undefined): void {
  for (const name of BODY_HEADERS) headers.delete(name)
  if (keyHeader !== undefined) headers.delete(keyHeader)
}

/** A replay is redirected, and may not be sent any further now. Its task is tried again later. */
class HopRefused extends TypeError {}

/** Throws where no hop may follow: the principal whose request it is has left. */
export function assertMaySend(maySend: AttemptInit['maySend']): void {
  if (maySend?.() !== false) return
  throw new HopRefused('redirected, and not sent any further now: the queue is paused, or another principal is there')
}

/** Whether an error comes of that, however deep a library has wrapped it. */
export function isHopRefused(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return error instanceof HopRefused || isHopRefused(error.cause)
}

/** The next hop from `from`; undefined: it would leave the origin, or leads nowhere. */
export function nextHop(location: string, from: string | URL): URL | undefined {
  try {
    const next = new URL(location, from)
    return next.origin === new URL(from).origin ? next : undefined
  } catch {
    return undefined
  }
}
