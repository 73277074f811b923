/** ETags of what is made anew for each request, or once at the start: a digest of the bytes, so that equal bytes are known again after a restart. */

import { createHash } from 'node:crypto'

/** A strong one. */
export const etagOf = (content: string | Uint8Array): string =>
  `"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`

/** Whether a GET has this already (RFC 9110, 13.1.2). */
export function isKnown(etag: string, headers: Headers): boolean {
  const known = (headers.get('if-none-match') ?? '').split(',').map((each) => each.trim().replace(/^W\//, ''))
  return known.includes(etag) || known.includes('*')
}
