/** Reads the query and the body of a request, as the row of its route says. */

import type { z } from '@hono/zod-openapi'
import { bodyTypeOf, LINES_TYPE } from './accept.ts'
import { checked, errorsOf, shapeOf } from './checked.ts'
import type { ApiContext, ApiSettings } from './context.ts'
import { type ReadJson, readJson } from './json.ts'
import { Problem } from './problem.ts'
import type { Route } from './route.ts'

const MAX_DEPTH = 32

const NEWLINE = 0x0a
const BLANK: ReadonlySet<number> = new Set([0x20, 0x09, 0x0d])

/** The query, checked. Throws 'bad-request', which names the parameter. */
export function readQuery({ query }: Route, search: URLSearchParams): unknown {
  const given: Record<string, unknown> = Object.create(null)
  const isList = listsOf(query)
  for (const name of new Set(search.keys())) {
    const values = search.getAll(name)
    if (!isList.has(name) && values.length > 1)
      throw new Problem('bad-request', `${name}: it is there ${values.length} times`)
    given[name] = isList.has(name) ? values : values[0]
  }
  if (!query) {
    const [name] = Object.keys(given)
    if (name !== undefined) throw new Problem('bad-request', `${name}: there is no such parameter; this takes none`)
    return {}
  }
  const parsed = query.safeParse({ ...given })
  if (parsed.success) return parsed.data
  const [first] = errorsOf(parsed.error, query)
  throw new Problem(
    'bad-request',
    first ? `${first.pointer.replace(/^#\//, '')}: ${first.detail}` : 'the query is not valid',
  )
}

/** The parameters that may be there several times. */
function listsOf(query: z.ZodType | undefined): ReadonlySet<string> {
  const names = Object.entries(shapeOf(query)).filter(([, part]) => /array/.test(kindOf(part)))
  return new Set(names.map(([name]) => name))
}

const kindOf = (schema: z.ZodType): string => {
  const { type, innerType } = schema.def as { readonly type: string; readonly innerType?: z.ZodType }
  return innerType ? kindOf(innerType) : type
}

/** A body that was read and checked, and its canonical text; of lines the text is ''. */
export interface ReadBody {
  readonly body: unknown
  readonly text: string
}

/** The body, checked. Throws 'unsupported-media-type', 'body-too-large', 'bad-request', 'invalid'. */
export async function readBody(
  row: Route,
  request: Request,
  { limits }: ApiSettings,
  { core }: Pick<ApiContext, 'core'>,
): Promise<ReadBody> {
  const { body, isBodyOptional, lines } = row
  if (row.bytes !== undefined) return { body: {}, text: '' }
  if (!body) {
    // nothing was asked for: what came is let go, unread
    await request.body?.cancel().catch(() => {})
    return { body: {}, text: '' }
  }
  const types = ['application/json', ...(lines ? [LINES_TYPE] : [])]
  const isTyped = request.headers.has('content-type')
  const type = isTyped ? bodyTypeOf(request.headers, types) : undefined
  const bytes = row.mostBytes
    ? await bytesOf(request, row.mostBytes(limits), '; send it in parts')
    : await bytesOf(request, limits.maxBodyBytes, ' (--max-body)')
  if (bytes.length === 0 && isBodyOptional) return { body: {}, text: '' }
  const maxDepth = limits.maxDepth ?? MAX_DEPTH
  if ((type ?? bodyTypeOf(request.headers, types)) === LINES_TYPE) {
    const read = linesOf(bytes, lines?.most ?? 0).map((line) => readLine(line, maxDepth, core))
    return { body: checked(body, lines?.bodyOf(read)), text: '' }
  }
  const { value, canonical }: ReadJson = readJson(bytes, maxDepth + (row.depthAround ?? 0), core)
  return { body: checked(body, value), text: canonical }
}

/** The lines of a body that hold anything. Throws 'invalid' where there are more than `most`. */
function linesOf(bytes: Uint8Array, most: number): Uint8Array[] {
  const lines: Uint8Array[] = []
  for (let from = 0; from < bytes.length; ) {
    const end = bytes.indexOf(NEWLINE, from)
    const to = end < 0 ? bytes.length : end
    const line = bytes.subarray(from, to)
    if (line.some((byte) => !BLANK.has(byte))) lines.push(line)
    if (lines.length > most) throw new Problem('invalid', `the body has more than ${most} lines; send it in parts`)
    from = to + 1
  }
  return lines
}

/** The value of a line, or what is wrong with it: the other lines do not depend on it. */
function readLine(line: Uint8Array, maxDepth: number, core: ApiContext['core']): unknown {
  try {
    return readJson(line, maxDepth, core).value
  } catch (error) {
    if (error instanceof Problem) return error
    throw error
  }
}

async function bytesOf(request: Request, most: number, remedy: string): Promise<Uint8Array> {
  const tooLarge = (): Problem => new Problem('body-too-large', `the body has more than ${most} bytes${remedy}`)
  const length = request.headers.get('content-length')
  if (Number(length ?? 0) > most) throw tooLarge()
  if (length !== null) {
    // no longer than it says, and as a whole it costs half of what a stream does
    const bytes = await request.arrayBuffer().catch(() => {
      throw brokenOff()
    })
    if (bytes.byteLength > most) throw tooLarge()
    return new Uint8Array(bytes)
  }
  if (!request.body) return new Uint8Array()
  const parts: Uint8Array[] = []
  let size = 0
  const reader = request.body.getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts)
      size += value.byteLength
      if (size > most) throw tooLarge()
      parts.push(value)
    }
  } catch (error) {
    await reader.cancel().catch(() => {})
    if (error instanceof Problem) throw error
    throw brokenOff()
  }
}

const brokenOff = (): Problem => new Problem('bad-request', 'the body broke off before its end')
