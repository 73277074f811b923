/** The parts of a request by which it is recognized, and the bytes that two of them are compared by. */

import { utf8 } from '../platform/utf8.ts'
import type { Call } from './call.ts'
import { repeatableOf } from './fetch-repeat.ts'

/** The parts of a request that a key is made of. */
export interface KeyMaterial {
  readonly method: string
  /** Absolute, http(s). */
  readonly url: string
  readonly contentType: string
  readonly body: string | Uint8Array
}

/** Sets equal requests apart that are not meant as one. */
export interface KeyScope {
  /** null: no user, who is another than one without a name. */
  readonly principal: string | null
  readonly scope: string
  readonly nonce: string
  /** With one the key is an HMAC, which cannot be made without it. */
  readonly scopeKey: string | Uint8Array | undefined
}

/** The material of a call, whose body may be a form. */
export async function materialOf(call: Call): Promise<KeyMaterial> {
  const { method, url, headers } = call
  const contentType = headers.get('content-type') ?? ''
  return { method, url, contentType, body: formOf((await repeatableOf(call).body()) ?? '', contentType) }
}

/**
 * A fingerprint is the digest of these: method, URL and content type without parameters as JSON, a line break, which that has none of, and the
 * body as it is. Stores keep fingerprints, so this does not change: another way would get another number.
 */
export function printed({ method, url, contentType, body }: KeyMaterial): Uint8Array<ArrayBuffer> {
  const head = utf8(`${JSON.stringify([2, method, /[^#]*/.exec(url), /[^;\s]*/.exec(contentType.toLowerCase())])}\n`)
  const rest = typeof body === 'string' ? utf8(body) : body
  const bytes = new Uint8Array(head.length + rest.length)
  bytes.set(head)
  bytes.set(rest, head.length)
  return bytes
}

/**
 * Equal forms differ in the boundary that the platform draws for each: a form counts as its parts (RFC 2046, 5.1.1). A character that no byte
 * becomes stands where one begins, so that no part can be taken for two.
 */
function formOf(body: string | Uint8Array, contentType: string): string | Uint8Array {
  const boundary = /^multipart\/form-data;.*boundary="?([^";]+)/i.exec(contentType)?.[1]
  if (boundary === undefined) return body
  // the first part needs no line before it
  return `\r\n${latin1(body)}`.replaceAll(`\r\n--${boundary}`, '\uffff')
}

/** A character for each byte. */
const latin1 = (body: string | Uint8Array): string =>
  new TextDecoder('latin1').decode(typeof body === 'string' ? utf8(body) : body)
