/** Reads the query and the body of a request, as the row of its route says. */

import type { z } from '@hono/zod-openapi'
import { assertPlain, bodyTypeOf, LINES_TYPE } from './accept.ts'
import { checked, errorsOf, shapeOf } from './checked.ts'
import type { ApiContext, ApiSettings } from './context.ts'
import { afterOthers, inSlices, SLICE_BYTES } from './in-slices.ts'
import { type ReadJson, readJson } from './json.ts'
import { elementsOf, linesOf } from './parts.ts'
import { cut, Problem } from './problem.ts'
import type { Route } from './route.ts'

const MAX_DEPTH = 32

/** The query, checked. Throws 'bad-request', which names the parameter. */
export function readQuery({ query }: Route, search: URLSearchParams): unknown {
  const given: Record<string, unknown> = Object.create(null)
  const isList = listsOf(query)
  for (const [name, value] of search) {
    const before = given[name]
    if (Array.isArray(before)) before.push(value)
    else if (before === undefined) given[name] = isList.has(name) ? [value] : value
    else throw new Problem('bad-request', `${cut(name)}: it is there more than once`)
  }
  if (!query) {
    const [name] = Object.keys(given)
    if (name !== undefined)
      throw new Problem('bad-request', `${cut(name)}: there is no such parameter; this takes none`)
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
  assertPlain(request.headers)
  const isTyped = request.headers.has('content-type')
  const type = isTyped ? bodyTypeOf(request.headers, types) : undefined
  const bytes = row.mostBytes
    ? await bytesOf(request, row.mostBytes(limits), '; send it in parts')
    : await bytesOf(request, limits.maxBodyBytes, ' (--max-body)')
  if (bytes.length === 0 && isBodyOptional) return { body: {}, text: '' }
  const maxDepth = limits.maxDepth ?? MAX_DEPTH
  const isLines = (type ?? bodyTypeOf(request.headers, types)) === LINES_TYPE
  if (lines) {
    if (bytes.length > SLICE_BYTES) await afterOthers()
    const texts = isLines ? await linesOf(bytes, lines.most) : await elementsOf(bytes, lines.member, lines.most)
    if (texts) {
      const parts = await readParts(texts, limits.maxBodyBytes, maxDepth, core)
      // of lines, one that is no JSON fails alone; as JSON, the whole is none then
      if (!isLines) assertJson(parts, lines.member)
      return { body: checked(body, lines.bodyOf(parts)), text: '' }
    }
    if (bytes.length > limits.maxBodyBytes) throw new Problem('bad-request', `expected {"${lines.member}": […]} alone`)
  }
  const { value, canonical } = await readJson(bytes, maxDepth + (row.depthAround ?? 0), core)
  if (bytes.length > SLICE_BYTES) await afterOthers()
  return { body: checked(body, value), text: canonical }
}

function assertJson(parts: readonly (ReadJson | Problem)[], member: string): void {
  for (const [n, part] of parts.entries()) {
    if (part instanceof Problem && part.type === 'bad-request') {
      throw new Problem('bad-request', `#/${member}/${n}: ${part.message}`)
    }
  }
}

/** The value of each part, or what is wrong with it: the others do not depend on it. */
function readParts(
  texts: readonly Uint8Array[],
  most: number,
  maxDepth: number,
  core: ApiContext['core'],
): Promise<(ReadJson | Problem)[]> {
  const read = async (text: Uint8Array): Promise<ReadJson | Problem> => {
    try {
      return text.length > most ? tooLargeTask(text.length, most) : await readJson(text, maxDepth, core)
    } catch (error) {
      if (error instanceof Problem) return error
      throw error
    }
  }
  return inSlices(texts, read, ({ length }) => length)
}

/** A task of a batch that is larger than one that comes alone may be. */
export const tooLargeTask = (bytes: number, most: number): Problem =>
  new Problem('body-too-large', `the task has ${bytes} bytes, more than ${most} (--max-body)`)

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
