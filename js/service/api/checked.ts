/** Values against their schemas: what is wrong is said with its place, in words that quote no value. */

import type { z } from '@hono/zod-openapi'
import { meant } from 'redrive/internal'
import { type FieldError, MOST_ERRORS, Problem, pointerTo } from './problem.ts'

/** The value as its schema lets it through. Throws 'invalid'. */
export function checked<T>(schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const errors = errorsOf(parsed.error, schema)
  const count = parsed.error.issues.reduce((sum, issue) => sum + faultsIn(issue), 0)
  const more = count > 1 ? `, and ${count - 1} more` : ''
  throw new Problem('invalid', `${errors[0]?.pointer}: ${errors[0]?.detail}${more}`, { errors })
}

/** The parts of an object's schema, by name. */
export const shapeOf = (schema: z.ZodType | undefined): Readonly<Record<string, z.ZodType>> =>
  (schema as { readonly shape?: Readonly<Record<string, z.ZodType>> } | undefined)?.shape ?? {}

type Issue = z.core.$ZodIssue

const faultsIn = (issue: Issue): number => (issue.code === 'unrecognized_keys' ? issue.keys.length : 1)

/** The first faults, and no work for more of them than are shown. */
export function errorsOf({ issues }: z.ZodError, schema: z.ZodType): FieldError[] {
  return issues
    .slice(0, MOST_ERRORS)
    .flatMap((issue) => toErrors(issue, schema))
    .slice(0, MOST_ERRORS)
}

function toErrors(issue: Issue, schema: z.ZodType): FieldError[] {
  const { path } = issue
  if (issue.code === 'unrecognized_keys') {
    const names = Object.keys(shapeOf(partAt(schema, path)))
    return issue.keys.slice(0, MOST_ERRORS).map((key) => ({
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
