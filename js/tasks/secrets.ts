/**
 * Secrets of a request, which no text about it may contain (S12). A token without a form looks like other words, but in
 * texts about this request it can: it is known which values of it are secrets.
 */

import type { Call } from '../call/call.ts'
import type { Sanitizer } from '../core/sanitizer.ts'

/** Shorter values are found in ordinary words. */
const SHORTEST = 4
/** A part of a value may be quoted alone, as the token without `Bearer`; short ones are ordinary words. */
const SHORTEST_PART = 8

/** A request with what was laid over its headers. */
export interface Confidential {
  readonly call: Call | null
  readonly overlay: Headers | null
}

export function secretsOf({ call, overlay }: Confidential, sanitizer: Sanitizer): readonly string[] {
  const values: string[] = []
  overlay?.forEach((value) => {
    values.push(value)
  })
  if (call) {
    const { withheld, unknown } = sanitizer.headers(call.headers)
    values.push(...[...withheld, ...unknown].map((name) => call.headers.get(name) ?? ''))
    values.push(...sanitizer.secretsIn(call.url))
  }
  values.push(...values.flatMap(basicOf))
  const parts = values.flatMap((value) => value.split(/[\s,;:=&"]+/))
  return [
    ...values.filter(({ length }) => length >= SHORTEST),
    ...parts.filter(({ length }) => length >= SHORTEST_PART),
  ]
}

/** User and password of `Basic ...`, together and the password alone, as a server's message may quote them. */
function basicOf(value: string): readonly string[] {
  const encoded = /^\s*basic\s+(\S+)/i.exec(value)?.[1]
  if (encoded === undefined) return []
  try {
    const bytes = Uint8Array.from(atob(encoded), (character) => character.charCodeAt(0))
    const both = new TextDecoder().decode(bytes)
    return [both, both.slice(both.indexOf(':') + 1)]
  } catch {
    // no base64
    return []
  }
}
