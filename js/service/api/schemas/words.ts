/** The words that several schemas share, and how a query, which is all text, says a number. */

import { z } from '@hono/zod-openapi'
import type { TaskStatus } from 'redrive'
import { CIRCUITS, MAX_MS, origin as originRule, REASONS } from 'redrive/internal'

const STATUSES = [
  'PENDING',
  'IN_FLIGHT',
  'SUCCEEDED',
  'EXHAUSTED',
  'CANCELLED',
] as const satisfies readonly TaskStatus[]

export const TASK_ID = '0199a3b4-6c58-7000-8a4f-3f1d2c9b7e60'
/** An id of a task: a UUID in lower case, as they are made here. */
export const ID_SHAPE: RegExp = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/

export const status: z.ZodType<TaskStatus> = z.enum(STATUSES).meta({ description: 'Where the task stands' })
export const reason: z.ZodType<(typeof REASONS)[number]> = z
  .enum(REASONS)
  .meta({ description: 'The rule that ended the task without success' })
export const circuit: z.ZodType<(typeof CIRCUITS)[number]> = z.enum(CIRCUITS)

/** `z.int()`, with the bounds that JSON Schema tells. */
const int = (from: number, to: number) => z.int().min(from).max(to)

/** Seconds since 1970 are below this for 3,000 years, and milliseconds above it since 1973. */
const SECONDS_END = 1e11
const epochMs = (to: number) => z.int().min(SECONDS_END, 'expected epoch milliseconds, not seconds').max(to)

/** An instant in epoch milliseconds. */
export const instant = (description: string): z.ZodType<number> =>
  epochMs(MAX_MS).meta({ description, example: 1_795_420_800_000 })
/** An instant of a query, in epoch milliseconds. */
export const queryInstant = (to: number, description: string): z.ZodType<number> =>
  queryNumber(epochMs(to), description)
export const millis = (description: string, from = 0, to: number = MAX_MS): z.ZodType<number> =>
  int(from, to).meta({ description })
export const count = (description: string): z.ZodType<number> => z.int().min(0).meta({ description })
export const flag = (description: string): z.ZodType<boolean> => z.boolean().meta({ description })

export const taskId: z.ZodType<string> = z
  .string()
  .regex(ID_SHAPE)
  .meta({ description: 'The id of a task, a UUIDv7', example: TASK_ID, format: 'uuid' })

/** Text that every store keeps as it is. */
export const name = (description: string, most = 255): z.ZodType<string> =>
  z
    .string()
    .min(1)
    .max(most)
    .refine((text) => !text.includes('\0'), 'expected no NUL')
    .meta({ description, pattern: '^[^\\u0000]+$' })

const LABEL = '[a-z0-9](?:[a-z0-9-]*[a-z0-9])?'
const NAME = `(?:${LABEL}\\.)*[a-z](?:[a-z0-9-]*[a-z0-9])?`
const OCTET = '(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)'
const HEXTET = '[1-9a-f][0-9a-f]{0,3}'
const ADDRESS = `${OCTET}(?:\\.${OCTET}){3}|\\[(?:::1|${HEXTET}(?::${HEXTET}){7})\\]`
const PORT = '(?:[1-9]\\d{0,3}|[1-5]\\d{4}|6[0-4]\\d{3}|65[0-4]\\d{2}|655[0-2]\\d|6553[0-5])'
/** An origin as far as JSON Schema can tell it, but for addresses of IPv6 that are shortened. It never names the default port of its scheme. */
const ORIGIN_SHAPE = `^(?!http:.*:80$|https:.*:443$)https?://(?:${NAME}|${ADDRESS})(?::${PORT})?$`

/** By the rule that stores and queues have, which refuses hosts that none can have, such as `a*`. */
const isOrigin = (given: string): boolean => originRule.ok?.(given as never) === true

export const origin: z.ZodType<string> = z
  .string()
  .max(300)
  .refine(isOrigin, "expected an exact origin such as 'https://api.example.com'")
  .meta({
    description: 'Scheme, host and port, exactly as `new URL(url).origin` has them',
    example: 'https://api.example.com',
    pattern: ORIGIN_SHAPE,
  })

/** A number in a query: digits and nothing else. */
function queryNumber(number: z.ZodType<number>, description: string): z.ZodType<number> {
  return z
    .preprocess((given) => (typeof given === 'string' && /^\d{1,16}$/.test(given) ? Number(given) : given), number)
    .meta({ description })
}

export const limit: z.ZodType<number | undefined> = queryNumber(int(1, 1_000), 'Most of them in one answer')
  .optional()
  .meta({
    description: 'Most of them in one answer. Default: 100',
  })
export const cursor: z.ZodType<string | undefined> = z
  .string()
  .regex(/^\d{1,15}$/, 'expected a cursor of the page before')
  .optional()
  .meta({ description: 'From the page before, asked for with the same filter' })

/** Texts by name. zod's own record costs microseconds for each, and a stranger may send as many as a body has room for: this one stops at the first fault. */
export const texts = (description: string, maxProperties: number): z.ZodType<Readonly<Record<string, string>>> =>
  z
    .custom<Readonly<Record<string, string>>>()
    .check(({ value, issues }) => {
      const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
      if (!isObject) {
        issues.push({ code: 'custom', input: value, message: 'expected an object' })
        return
      }
      for (const name of Object.keys(value)) {
        if (typeof value[name] === 'string') continue
        issues.push({ code: 'custom', input: value, path: [name], message: 'expected a string' })
        return
      }
    })
    .meta({ description, type: 'object', additionalProperties: { type: 'string' }, maxProperties })
