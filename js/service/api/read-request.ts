/** Reads the query and the body of a request, as the row of its route says. */

import type { z } from '@hono/zod-openapi'
import { meant } from '../../options/meant.ts'
import { checkJsonType } from './accept.ts'
import type { ApiContext, ApiSettings } from './context.ts'
import { type ReadJson, readJson } from './json.ts'
import { type FieldError, Problem, pointerTo } from './problem.ts'
import type { Route } from './route.ts'

const MAX_DEPTH = 32

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

const shapeOf = (schema: z.ZodType | undefined): Readonly<Record<string, z.ZodType>> =>
  (schema as { readonly shape?: Readonly<Record<string, z.ZodType>> } | undefined)?.shape ?? {}

/** A body that was read and checked, and its canonical text. */
export interface ReadBody {
  readonly body: unknown
  readonly text: string
}

/** The body, checked. Throws 'unsupported-media-type', 'body-too-large', 'bad-request', 'invalid'. */
export async function readBody(
  { body, isBodyOptional }: Route,
  request: Request,
  { limits }: ApiSettings,
  { core }: Pick<ApiContext, 'core'>,
): Promise<ReadBody> {
  if (!body) {
    // nothing was asked for: what came is let go, unread
    await request.body?.cancel().catch(() => {})
    return { body: {}, text: '' }
  }
  const isTyped = request.headers.has('content-type')
  if (isTyped) checkJsonType(request.headers)
  const bytes = await bytesOf(request, limits.maxBodyBytes)
  if (bytes.length === 0 && isBodyOptional) return { body: {}, text: '' }
  if (!isTyped) checkJsonType(request.headers)
  const { value, canonical }: ReadJson = readJson(bytes, limits.maxDepth ?? MAX_DEPTH, core)
  const parsed = body.safeParse(value)
  if (parsed.success) return { body: parsed.data, text: canonical }
  const errors = errorsOf(parsed.error, body)
  const more = errors.length > 1 ? `, and ${errors.length - 1} more` : ''
  throw new Problem('invalid', `${errors[0]?.pointer}: ${errors[0]?.detail}${more}`, { errors })
}

async function bytesOf(request: Request, most: number): Promise<Uint8Array> {
  const tooLarge = (): Problem => new Problem('body-too-large', `the body has more than ${most} bytes (--max-body)`)
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

/** Faults that are told at most: a body may have as many as it has fields. */
const MOST_ERRORS = 20

type Issue = z.core.$ZodIssue

function errorsOf({ issues }: z.ZodError, schema: z.ZodType): FieldError[] {
  return issues.flatMap((issue) => toErrors(issue, schema)).slice(0, MOST_ERRORS)
}

function toErrors(issue: Issue, schema: z.ZodType): FieldError[] {
  const { path } = issue
  if (issue.code === 'unrecognized_keys') {
    const names = Object.keys(shapeOf(partAt(schema, path)))
    return issue.keys.map((key) => ({
      pointer: pointerTo([...path, key]),
      detail: `there is no such field; ${meant(key, names)}`,
    }))
  }
  if (issue.code === 'invalid_union') {
    const inner = issue.errors.flat().find((each) => each.path.length > 0)
    if (inner) return [{ pointer: pointerTo([...path, ...inner.path]), detail: lower(inner.message) }]
    return [{ pointer: pointerTo(path), detail: 'expected one of the forms that the field takes' }]
  }
  return [{ pointer: pointerTo(path), detail: lower(issue.message) }]
}

/** In the words of zod, which name kinds and bounds and never a value. */
const lower = (message: string): string =>
  message.replace(/^Invalid (?:input|string|option): /, '').replace(/^[A-Z](?=[a-z])/, (first) => first.toLowerCase())

/** The part of a schema that a path leads to, as far as it is made of objects. */
function partAt(schema: z.ZodType | undefined, path: readonly PropertyKey[]): z.ZodType | undefined {
  let part = schema
  for (const name of path) part = unwrapped(shapeOf(part)[String(name)])
  return part
}

function unwrapped(schema: z.ZodType | undefined): z.ZodType | undefined {
  const { innerType } = (schema?.def ?? {}) as { readonly innerType?: z.ZodType }
  return innerType ? unwrapped(innerType) : schema
}
