/** Content negotiation, as far as one format a route needs it: `Accept` (RFC 9110, 12.5.1) and the type of what is sent. */

import { Problem } from './problem.ts'

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

/** Throws 'unsupported-media-type' where a body is anything but JSON in UTF-8. A page of another site cannot send this type unasked. */
export function checkJsonType(headers: Headers): void {
  const given = headers.get('content-type') ?? ''
  const [type, ...parameters] = given.split(';').map((part) => part.trim().toLowerCase())
  const isUtf8 = parameters.every((each) => !each.startsWith('charset=') || /^charset="?utf-8"?$/.test(each))
  if (type === 'application/json' && isUtf8) return
  throw new Problem('unsupported-media-type', 'the body has to be sent as `Content-Type: application/json`, in UTF-8')
}
