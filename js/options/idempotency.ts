/** How unsafe methods get their idempotency key: the option, and the settings it comes to. */

import { isPage } from '../platform/page.ts'

export interface IdempotencyOptions {
  /**
   * 'intent': one random UUID per call, version 4. 'content': SHA-256 of the request and its principal (`generateIdempotencyKey`
   * of `redrive/core`), so that equal requests of one user share a key within `windowMs`; an order placed twice on purpose is
   * then one order. Without a principal it asks for a `scope`; a call made while no user is signed in has a random key, then.
   * @default 'intent'
   */
  readonly mode?: 'intent' | 'content'
  /** 'content': how long equal requests share a key, from the first of them. 1 or more. @default 86_400_000, one day */
  readonly windowMs?: number
  /** 'content': mixed into the key beside the principal, so that equal requests of two tenants or installations have two keys. @default none */
  readonly scope?: string
  /**
   * 'content': a secret that turns the key into an HMAC-SHA-256, so that a body which is easily guessed, such as a PIN, cannot be found
   * from its key. 16 or more characters or bytes, the same in every process that shall make the same keys. Never stored, shown or sent.
   * @default none: the key is a plain SHA-256
   */
  readonly scopeKey?: string | Uint8Array
  /** The header that carries the key. @default 'Idempotency-Key' */
  readonly header?: string
  /**
   * 'sf-string' puts every key in double quotes, as draft-ietf-httpapi-idempotency-key-header demands; a caller's key that is
   * quoted already stays as it is. 'bare' sends it without them, as Stripe and most servers read it. @default 'bare'
   */
  readonly format?: 'bare' | 'sf-string'
  /** Methods that get a key. @default POST PATCH PUT DELETE */
  readonly methods?: readonly string[]
  /**
   * For pages: other origins that may get the header, each exactly as `new URL(url).origin` returns it, without wildcards. There the
   * header needs a CORS preflight, and the server must allow it. An unsafe call to any other origin is plain fetch, and `degraded`
   * 'key_origin_missing' says so once per origin. Outside a page all origins get it, whatever is listed.
   * @default none in a page; all elsewhere
   */
  readonly origins?: readonly string[]
}

/** Their repeat may do the work twice: what gets a key, and what is stored, by default. */
export const UNSAFE_METHODS: readonly string[] = ['POST', 'PUT', 'PATCH', 'DELETE']

export interface IdempotencySettings extends Omit<IdempotencyOptions, 'scopeKey'> {
  /** A copy. */
  readonly scopeKey: string | Uint8Array | undefined
  readonly header: string
  /** Methods that get a key, in upper case; none where `idempotency` is false. */
  readonly keyed: ReadonlySet<string>
  /** null: every origin. */
  readonly allowed: ReadonlySet<string> | null
}

/** The header of a key by default. */
export const KEY_HEADER = 'Idempotency-Key'

export function settledIdempotency(given: IdempotencyOptions): IdempotencySettings {
  const { header = KEY_HEADER, methods = UNSAFE_METHODS, origins } = given
  return {
    ...given,
    // its owner may wipe the bytes
    scopeKey: given.scopeKey?.slice(),
    header,
    keyed: new Set(methods.map((method) => method.toUpperCase())),
    allowed: origins || isPage() ? new Set(origins) : null,
  }
}
