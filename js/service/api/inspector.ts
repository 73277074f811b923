/**
 * `/ui`: the files of the inspector. They are the same for everybody and hold no data, so they need no token, which a browser could not send
 * with a link anyway. What the page shows it asks of the API, as any client does. The files are a list that was made at the start: no path of
 * a request is ever looked up on the disk.
 */

import type { InspectorFiles } from './context.ts'
import { isKnown } from './etag.ts'
import type { Reply } from './exchange.ts'
import { pathOf } from './path.ts'
import { Problem } from './problem.ts'

export const INSPECTOR_PATH = '/ui'

/** Headers of every answer below `/ui`, refusals too. */
export const INSPECTOR_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  'referrer-policy': 'no-referrer',
}

const YEAR_S = 31_536_000

/** Throws 'method-not-allowed', or 'not-found' for what is not on the list. */
export function inspectorReply(files: InspectorFiles, request: Request): Reply {
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    const allow = 'GET, HEAD'
    throw new Problem('method-not-allowed', `${INSPECTOR_PATH} takes ${allow}`, {}, { allow })
  }
  const path = pathOf(request)
  // relative, so that it leads to the same place behind a proxy that has put a prefix in front
  if (path === INSPECTOR_PATH) return { status: 308, headers: { location: 'ui/', 'cache-control': 'no-cache' } }
  const file = files.get(path.slice(INSPECTOR_PATH.length + 1))
  if (!file) throw new Problem('not-found', `the inspector has no such file; its page is ${INSPECTOR_PATH}/`)
  const { bytes, contentType, etag, isHashed } = file
  const cacheControl = isHashed ? `public, max-age=${YEAR_S}, immutable` : 'no-cache'
  if (isKnown(etag, request.headers)) return { status: 304, headers: { etag, 'cache-control': cacheControl } }
  const headers = { 'content-type': contentType, 'content-length': String(bytes.length), 'cache-control': cacheControl }
  return { status: 200, body: bytes, headers: { etag, ...headers } }
}
