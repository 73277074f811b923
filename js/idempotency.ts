/**
 * Which key a call carries. RFC draft-ietf-httpapi-idempotency-key-header: one key per intent, the same on every
 * attempt, so that a server that honours it does the work once.
 */

import type { IdempotencySettings, TaskOptions } from './options.ts'

/** Makes an intent key: 128 random bits, since a key made from the request would merge two intended orders. */
export type KeyMaker = () => string

/** Methods a server treats alike however often they come (RFC 9110, section 9.2.2). */
const IDEMPOTENT = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE'])

export interface KeyReading {
  readonly key: string | null
  readonly replayable: boolean
  readonly addedCrossOrigin: boolean
  /** An unsafe call to an origin that may not be given the header, and nobody vouches for it. */
  readonly originMissing: boolean
}

/** The caller's option wins over a header already there, which wins over a made key. Puts the header in place. */
export function readKey(
  call: { readonly method: string; readonly origin: string; readonly headers: Headers; readonly options: TaskOptions },
  settings: IdempotencySettings | null,
  make: KeyMaker,
): KeyReading {
  const { method, origin, headers, options } = call
  const crossOrigin = isCrossOrigin(origin)
  const header = settings?.header ?? 'Idempotency-Key'
  const mayGetKey = settings && (!settings.origins || !crossOrigin || settings.origins.has(origin))
  const wantsKey = settings?.methods.has(method)
  const present = headers.get(header)

  let key = options.idempotencyKey ?? (present || null)
  if (key === null && wantsKey && mayGetKey) key = make()
  let addedCrossOrigin = false
  if (key !== null && key !== present) {
    headers.set(header, settings?.format === 'sf-string' ? `"${key.replace(/["\\]/g, '\\$&')}"` : key)
    addedCrossOrigin = crossOrigin
  }
  const vouched = options.idempotent === true
  const originMissing = key === null && wantsKey === true && !vouched
  const replayable = key !== null || vouched || (!originMissing && IDEMPOTENT.has(method))
  return { key, replayable, addedCrossOrigin, originMissing }
}

/** Only pages and their workers have an origin of their own. */
function isCrossOrigin(origin: string): boolean {
  return globalThis.location !== undefined && globalThis.location.origin !== origin
}
