/**
 * The kinds of values that a setting may have. Each reads text, as a flag and the environment have it, and JSON, as a file has it, and
 * both come to the same. `undefined`: what came is none of its kind.
 */

import { isIP } from 'node:net'
import { exactBytes, exactDuration } from 'redrive/internal'

export type JsonSchema = Readonly<Record<string, unknown>>

/** The functions of the core that are needed for reading. */
export interface Tools {
  /** Throws where the text is no duration. */
  parseDuration(text: string): number
}

export interface Kind<T> {
  /** The word that stands for a value in the help. Empty: a switch, which has none. */
  readonly placeholder: string
  /** Ends the sentence "expected ...". */
  readonly expected: string
  readonly schema: JsonSchema
  /** Given more than once, it takes all of them. */
  readonly isList?: true
  /** No message shows its values. */
  readonly isSecret?: true
  /** Reads with the core's functions, which take a while to load. */
  readonly needsCore?: true
  fromText(text: string, tools: Tools): T | undefined
  fromJson(value: unknown, tools: Tools): T | undefined
  /** A value as the help shows it. */
  print(value: T): string
}

const isIn = (value: number, from: number, to: number): boolean => value >= from && value <= to

interface TextOptions {
  readonly placeholder?: string
  /** May throw a TypeError that says more than `expected`. */
  readonly ok?: (text: string) => boolean
}

export function text(expected: string, { placeholder = 'TEXT', ok = () => true }: TextOptions = {}): Kind<string> {
  const read = (value: string) => (value !== '' && !/[\0\r\n]/.test(value) && ok(value) ? value : undefined)
  return {
    placeholder,
    expected,
    schema: { type: 'string' },
    fromText: read,
    fromJson: (value) => (typeof value === 'string' ? read(value) : undefined),
    print: (value) => value,
  }
}

/** The line that it was written on may have come along: from a file, or a secret that was mounted. */
export const token: Kind<string> = {
  ...text('a token of visible ASCII characters', { placeholder: 'TOKEN' }),
  isSecret: true,
  fromText: (value) => /^([\x21-\x7e]+)[\r\n]*$/.exec(value)?.[1],
}

export const file: Kind<string> = text('the path of a file', { placeholder: 'FILE' })

export function choice<T extends string>(...words: readonly T[]): Kind<T> {
  const read = (value: unknown) => words.find((word) => word === value)
  return {
    placeholder: words.join('|'),
    expected: words.length === 2 ? words.join(' or ') : `one of ${words.join(', ')}`,
    schema: { enum: words },
    fromText: read,
    fromJson: read,
    print: (value) => value,
  }
}

const ON: readonly string[] = ['true', '1', 'yes', 'on']
const OFF: readonly string[] = ['false', '0', 'no', 'off']

export const toggle: Kind<boolean> = {
  placeholder: '',
  expected: 'true or false',
  schema: { type: 'boolean' },
  fromText: (value) =>
    ON.includes(value.toLowerCase()) ? true : OFF.includes(value.toLowerCase()) ? false : undefined,
  fromJson: (value) => (typeof value === 'boolean' ? value : undefined),
  print: (value) => (value ? 'on' : 'off'),
}

function numeric(expected: string, placeholder: string, shape: RegExp, from: number, to: number): Kind<number> {
  const isWhole = !shape.test('.5')
  const read = (value: number) => (isIn(value, from, to) && (!isWhole || Number.isInteger(value)) ? value : undefined)
  return {
    placeholder,
    expected,
    schema: { type: isWhole ? 'integer' : 'number', minimum: from, maximum: to },
    fromText: (value) => (shape.test(value) ? read(Number(value)) : undefined),
    fromJson: (value) => (typeof value === 'number' ? read(value) : undefined),
    print: String,
  }
}

export const whole = (from: number, to: number, what = 'a whole number', placeholder = 'N'): Kind<number> =>
  numeric(`${what} from ${from} to ${to}`, placeholder, /^\d{1,16}$/, from, to)

export const fraction = (from: number, to: number): Kind<number> =>
  numeric(`a number from ${from} to ${to}`, 'X', /^(\d{1,16}(\.\d{1,16})?|\.\d{1,16})$/, from, to)

/** Milliseconds. A number is milliseconds, too. */
export function duration(from: number, to: number, example = '30s'): Kind<number> {
  const read = (value: number) => (Number.isInteger(value) && isIn(value, from, to) ? value : undefined)
  const fromText = (value: string, { parseDuration }: Tools): number | undefined => {
    try {
      return read(parseDuration(value))
    } catch {
      return undefined // the sentence that says so is the same for all kinds
    }
  }
  return {
    placeholder: 'D',
    needsCore: true,
    expected: `a duration from ${exactDuration(from)} to ${exactDuration(to)}, such as ${example}`,
    schema: { anyOf: [{ type: 'integer', minimum: from, maximum: to }, { type: 'string' }] },
    fromText,
    fromJson: (value, tools) =>
      typeof value === 'number' ? read(value) : typeof value === 'string' ? fromText(value, tools) : undefined,
    print: exactDuration,
  }
}

/** A date in the form of ISO 8601, in UTC unless it names another zone. `Date.parse` takes one with a time for that of the machine. */
export function dateOf(text: string): number | undefined {
  const [, day = '', time, zone = 'Z'] =
    /^(\d{4}-\d\d(?:-\d\d)?)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)(Z|[+-]\d\d:\d\d)?)?$/i.exec(text) ?? []
  const midnight = Date.parse(day)
  // the 31st of February is a day of March to it
  if (Number.isNaN(midnight) || !new Date(midnight).toISOString().startsWith(day)) return undefined
  const read = time === undefined ? midnight : Date.parse(`${day}T${time}${zone.toUpperCase()}`)
  return Number.isNaN(read) ? undefined : read
}

/** An instant, as epoch milliseconds: those, a date, or a duration before `now`. */
export function moment(now: () => number): Kind<number> {
  const fromText = (value: string, { parseDuration }: Tools): number | undefined => {
    if (/^\d{12,15}$/.test(value)) return Number(value)
    if (/^\d{4}-\d\d/.test(value)) return dateOf(value)
    try {
      return now() - parseDuration(value)
    } catch {
      return undefined // the sentence that says so is the same for all kinds
    }
  }
  return {
    placeholder: 'WHEN',
    needsCore: true,
    expected: 'a date such as 2027-01-31T12:00Z, epoch milliseconds, or how long ago, such as 2h',
    schema: {},
    fromText,
    fromJson: (value) => (typeof value === 'number' ? value : undefined),
    print: String,
  }
}

const SIZE = /^(\d{1,16}(?:\.\d{1,6})?)(B|[KMGT]i?B)?$/i

/** Bytes. `KB` is 1,000 of them and `KiB` 1,024. */
export function size(from: number, to: number, example = '64KiB'): Kind<number> {
  const read = (value: number) => (Number.isInteger(value) && isIn(value, from, to) ? value : undefined)
  const fromText = (value: string): number | undefined => {
    const [, count, unit = 'B'] = SIZE.exec(value) ?? []
    if (count === undefined) return undefined
    const power = 'BKMGT'.indexOf(unit[0]?.toUpperCase() ?? 'B')
    return read(Number(count) * (/i/i.test(unit) ? 1_024 : 1_000) ** power)
  }
  return {
    placeholder: 'BYTES',
    expected: `a size from ${exactBytes(from)} to ${exactBytes(to)}, such as ${example}`,
    schema: { anyOf: [{ type: 'integer', minimum: from, maximum: to }, { type: 'string' }] },
    fromText,
    fromJson: (value) =>
      typeof value === 'number' ? read(value) : typeof value === 'string' ? fromText(value) : undefined,
    print: exactBytes,
  }
}

const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600 }

/** So many a second, a minute or an hour, as a number a second. */
export const rate: Kind<number> = {
  placeholder: 'N/s',
  expected: 'a rate such as 500/s, 60/m or 100/h',
  schema: { type: 'string' },
  fromText(value) {
    const [, count, unit = ''] = /^(\d{1,9}(?:\.\d{1,6})?)\/([smh])$/.exec(value) ?? []
    const perSecond = Number(count) / (SECONDS[unit] ?? Number.NaN)
    return perSecond > 0 && perSecond <= 1e6 ? perSecond : undefined
  },
  fromJson: (value) => (typeof value === 'string' ? rate.fromText(value, NO_TOOLS) : undefined),
  print: (value) => `${value}/s`,
}
const NO_TOOLS: Tools = { parseDuration: () => Number.NaN }

/** Texts with commas between them, or a flag for each. */
export function listOf(each: Kind<string>, expected: string): Kind<readonly string[]> {
  const all = (values: readonly unknown[], tools: Tools) => {
    const read = values.map((value) => each.fromJson(value, tools))
    return read.some((value) => value === undefined) || read.length === 0 ? undefined : [...new Set(read as string[])]
  }
  const fromText = (value: string, tools: Tools) =>
    all(
      value
        .split(',')
        .map((part) => part.trim())
        .filter(Boolean),
      tools,
    )
  return {
    placeholder: `${each.placeholder},…`,
    expected,
    isList: true,
    schema: { anyOf: [{ type: 'array', items: each.schema }, { type: 'string' }] },
    fromText,
    fromJson: (value, tools) =>
      Array.isArray(value)
        ? value.length === 0
          ? []
          : all(value, tools)
        : typeof value === 'string'
          ? fromText(value, tools)
          : undefined,
    print: (values) => values.join(','),
  }
}

/** A file on the command line; in a configuration the records themselves, or a file. They are read where the file is. */
export function records(what: string, items: JsonSchema): Kind<string | readonly unknown[]> {
  return {
    placeholder: 'FILE',
    expected: `the path of a file with ${what}`,
    schema: { anyOf: [{ type: 'array', items }, { type: 'string' }] },
    fromText: file.fromText,
    fromJson: (value, tools) => (Array.isArray(value) ? value : file.fromJson(value, tools)),
    print: (value) => (typeof value === 'string' ? value : `${value.length}`),
  }
}

/** Like `records`, with a name for each. */
export function namedRecords(what: string, each: JsonSchema): Kind<string | Readonly<Record<string, unknown>>> {
  const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
  return {
    placeholder: 'FILE',
    expected: `the path of a file with ${what}`,
    schema: { anyOf: [{ type: 'object', additionalProperties: each }, { type: 'string' }] },
    fromText: file.fromText,
    fromJson: (value, tools) => (isRecord(value) ? value : file.fromJson(value, tools)),
    print: (value) => (typeof value === 'string' ? value : `${Object.keys(value).length}`),
  }
}

const HOST = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/i

/** A name or an address, without a port. */
export const isHost = (value: string): boolean => HOST.test(value) || isIP(value.replace(/^\[(.*)\]$/, '$1')) !== 0

/** An origin exactly as browsers send it. */
export function isOrigin(value: string): boolean {
  try {
    const url = new URL(value)
    return /^https?:$/.test(url.protocol) && url.origin === value
  } catch {
    return false
  }
}
