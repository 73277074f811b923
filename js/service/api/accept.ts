/** Content negotiation, as far as one format a route needs it: `Accept` (RFC 9110, 12.5.1) and the type of what is sent. */

import { cut, Problem } from './problem.ts'

/** Throws 'not-acceptable' where an `Accept` rules out all of `types`; those are without parameters. */
export function checkAccept(headers: Headers, types: readonly string[]): void {
  const accept = headers.get('accept')
  if (accept === null || accept.trim() === '' || types.length === 0) return
  const ranges = accept.split(',').map(readRange)
  if (types.some((type) => qualityOf(type, ranges) > 0)) return
  throw new Problem('not-acceptable', `the answer is ${types.join(' or ')}, which the Accept of this request rules out`)
}

interface Range {
  readonly type: string
  readonly quality: number
}

function readRange(text: string): Range {
  const [type = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase())
  const q = parameters.find((parameter) => parameter.startsWith('q='))
  const quality = q === undefined ? 1 : Number(q.slice(2))
  return { type, quality: quality >= 0 ? quality : 1 }
}

/** The most specific range counts. */
function qualityOf(type: string, ranges: readonly Range[]): number {
  const [main] = type.split('/')
  for (const name of type === '*/*' ? ranges.map((range) => range.type) : [type, `${main}/*`, '*/*']) {
    const fitting = ranges.filter((range) => range.type === name)
    if (fitting.length > 0) return Math.max(...fitting.map(({ quality }) => quality))
  }
  return 0
}

/** JSON texts, one a line. */
export const LINES_TYPE = 'application/x-ndjson'

/**
 * The type of a body, which is one of `types`, in UTF-8. Throws 'unsupported-media-type'. A page of another site cannot send these types
 * unasked.
 */
export function bodyTypeOf(headers: Headers, types: readonly string[]): string {
  const given = headers.get('content-type') ?? ''
  const [type = '', ...parameters] = given.split(';').map((part) => part.trim().toLowerCase())
  const isUtf8 = parameters.every((each) => !each.startsWith('charset=') || /^charset="?utf-8"?$/.test(each))
  if (types.includes(type) && isUtf8) return type
  const wanted = types.map((each) => `\`Content-Type: ${each}\``).join(' or ')
  throw new Problem('unsupported-media-type', `the body has to be sent as ${wanted}, in UTF-8`)
}

/** Throws 'unsupported-media-type' for a body that was compressed. */
export function assertPlain(headers: Headers): void {
  const given = headers.get('content-encoding') ?? ''
  if (/^(identity)?$/i.test(given)) return
  const detail = `Content-Encoding: ${cut(given)}: the body has to be sent without an encoding`
  throw new Problem('unsupported-media-type', detail, {}, { 'accept-encoding': 'identity' })
}
