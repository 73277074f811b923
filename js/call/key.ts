/**
 * The idempotency key of a call. RFC draft-ietf-httpapi-idempotency-key-header: one key per intent, the same on every
 * attempt, so that a server that honours it does the work once.
 */

import type { IdempotencySettings } from '../options/idempotency.ts'
import type { TaskOptions } from '../options/task-options.ts'
import { isPage, pageOrigin } from '../platform/page.ts'

/** Methods whose requests have the same effect once or several times (RFC 9110, section 9.2.2). */
const IDEMPOTENT = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE'])

export interface KeyReading {
  /** '': to be made of the request's content, once that is at hand. */
  readonly key: string | null
  /** Drawn by the queue for this call alone. */
  readonly made: boolean
  /** Safe or idempotent method, or a key, or the caller vouches. */
  readonly replayable: boolean
  /** The queue puts the header on a cross-origin request, which then needs a preflight. */
  readonly addedCrossOrigin: boolean
  /** An unsafe call to an origin that may not be given the header, without its caller vouching for it. */
  readonly plain: 'key_origin_missing' | null
}

/** Decides on the key and puts its header in place. The caller's option wins over a header already there, which wins over a made key. */
export function readKey(
  call: { readonly method: string; readonly origin: string; readonly headers: Headers; readonly options: TaskOptions },
  settings: IdempotencySettings,
  makeKey: () => string,
): KeyReading {
  const { method, origin, headers, options } = call
  const { header, keyed, allowed, mode } = settings
  const crossOrigin = isCrossOrigin(origin)
  const wantsKey = keyed.has(method)
  const present = unquoted(headers.get(header), settings)

  let key = unquoted(options.idempotencyKey, settings) ?? present
  const made = key === null && wantsKey && (!allowed || !crossOrigin || allowed.has(origin))
  if (made) key = mode === 'content' ? '' : makeKey()
  const added = key !== null && key !== present
  if (key) putKey(headers, key, settings)
  const vouched = options.idempotent === true
  const plain = key === null && wantsKey && !vouched ? 'key_origin_missing' : null
  const replayable = key !== null || vouched || (!plain && IDEMPOTENT.has(method))
  return { key, made, replayable, addedCrossOrigin: added && crossOrigin, plain }
}

/** The key in a text of the caller's, who may have quoted it already where the format asks for quotes; null: there is none. */
function unquoted(text: string | null | undefined, { format }: IdempotencySettings): string | null {
  // asked of any text: what is none throws, since its name, such as [object Promise], would be one key for all calls
  const isQuoted = text?.match(/^"([ !#-[\]-~]|\\["\\])*"$/) && format === 'sf-string'
  return (isQuoted ? JSON.parse(text as string) : text) || null
}

/** Writes a key into its header, in the form the server is said to expect. JSON has the same quotes: a key is visible ASCII. */
export function putKey(
  headers: Headers,
  key: string,
  { header, format }: Pick<IdempotencySettings, 'header' | 'format'>,
): void {
  headers.set(header, format === 'sf-string' ? JSON.stringify(key) : key)
}

/** Whether a request leaves the page's origin; only pages and their workers have one. */
export function isCrossOrigin(origin: string): boolean {
  return isPage() && pageOrigin() !== origin
}
