/** Reads the headers that a hook of the user's has returned. */

import type { HeadersLike } from '../platform/web.ts'

/** The queue's own words about what a hook returned. They quote none of it, which may be a credential (S12). */
export class UnusableHeaders extends TypeError {}

/** The headers as given, or `UnusableHeaders`. `without`: how a request would go out that has none of the hook's headers. */
export function hookHeaders(given: HeadersLike, hook: string, without: string): Headers {
  // a hook without a `return` gives undefined: what has no headers on purpose says so
  if (given === undefined || given === null)
    throw new UnusableHeaders(`${hook} returned nothing: return headers, or {} to send this ${without}`)
  try {
    return new Headers(given)
  } catch {
    // the platform's message quotes the value
    throw new UnusableHeaders(`what ${hook} returned is no valid headers`)
  }
}
