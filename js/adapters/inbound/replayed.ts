/** The parts of a request that came in that are sent again: to the named origin, under a key, with the headers that may be stored. */

import type { Sanitizer } from '../../core/sanitizer.ts'
import { KEY_HEADER } from '../../options/idempotency.ts'
import { REPLAY_HEADER } from './replay-header.ts'
import type { InboundRequest } from './request.ts'

/** Methods whose repeat has the effect of one (RFC 9110, 9.2.2). Any other needs its client's key. */
const REPEATABLE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'PUT', 'DELETE'])

/**
 * Headers that clients and the proxies before this service add by themselves. On no list of the queue's they would keep every request out
 * of the store; named in its `sanitize.persistHeaders` they are kept.
 */
const ADDED =
  /^(user-agent|cache-control|pragma|priority|save-data|upgrade-insecure-requests|forwarded|x-forwarded-[\w-]+|x-real-ip)$/

/** The client's own key; null: it has given none. `header`: the queue's, which may be another than the usual one. */
export function keyIn(headers: Headers, header: string): string | null {
  return headers.get(header) || headers.get(KEY_HEADER) || null
}

export const mayRepeat = (method: string, key: string | null): boolean => key !== null || REPEATABLE.has(method)

/**
 * The target at `origin`; undefined: it cannot be sent there as it came. Such are the `*` of OPTIONS, a proxy's absolute one, and one that `fetch`
 * would make another path of: it takes out `..`, also where they are escaped, so that `/public/%2e%2e/admin` would pass the rules
 * of a proxy that guards `/admin`.
 */
export function urlAt(origin: string, target: string): string | undefined {
  // a fragment is not sent
  if (!target.startsWith('/') || target.includes('#')) return undefined
  // joined as text, so that `//host` and its like stay a path
  const url = new URL(origin + target)
  const isSame = url.origin === origin && unescaped(url.href) === unescaped(origin + target)
  return isSame ? url.href : undefined
}

/** Escaping alone makes no other request. Byte by byte, since what is escaped need not be UTF-8. */
const unescaped = (text: string): string =>
  text.replace(/%([\da-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))

/** The headers of a request as a task has them. */
export interface Heads {
  readonly headers: Headers
  /** Names of those that only `credentials` can give again. */
  readonly withheld: readonly string[]
  /** Names of those that are on no list: without them it might be another request. */
  readonly unknown: readonly string[]
}

/** `keyHeader`: the queue's. Keys are put into a header of their own. */
export function headsOf(
  { headers }: InboundRequest,
  isUnpacked: boolean,
  dropped: ReadonlySet<string>,
  keyHeader: string,
  sanitizer: Sanitizer,
): Heads {
  const gone = [REPLAY_HEADER, keyHeader.toLowerCase()]
  if (isUnpacked) gone.push('content-encoding')
  const given = [...headers].filter(([name]) => !gone.includes(name) && !dropped.has(name))
  const { headers: kept, withheld, unknown } = sanitizer.headers(given)
  return {
    headers: new Headers(Object.entries(kept)),
    withheld,
    unknown: unknown.filter((name) => !ADDED.test(name)),
  }
}
