/**
 * Reads JSON as strangers send it. `JSON.parse` alone takes the second of two equal names, rounds what a double cannot hold and makes of
 * `__proto__` a member like any other: each would let two parties see two requests in one text. What is not I-JSON (RFC 7493) is
 * refused by the core's reader, which also gives the canonical text; the few rules it has not are here.
 */

import { RedriveError } from 'redrive'
import type { ApiContext } from './context.ts'
import { afterOthers, SLICE_BYTES } from './in-slices.ts'
import { type FieldError, MOST_ERRORS, Problem, pointerTo } from './problem.ts'

/** A body that was read. */
export interface ReadJson {
  readonly value: unknown
  /** RFC 8785. */
  readonly canonical: string
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

const unreadable = (why: string): Problem =>
  new Problem('bad-request', `the body is not JSON that can be taken: ${why}`)

/**
 * Values of one JSON text, names not counted. Each costs work that the rest of the service waits for, so that a text of digits and commas
 * may not have as many as it has bytes.
 */
export const MOST_VALUES = 20_000

/**
 * Throws 'bad-request' for a text that is no such JSON, 'body-too-large' for one of too many values, 'invalid' for a name or a number that would
 * be read in two ways.
 */
export async function readJson(bytes: Uint8Array, maxDepth: number, core: ApiContext['core']): Promise<ReadJson> {
  const rest = (): Promise<void> | undefined => (bytes.length > SLICE_BYTES ? afterOthers() : undefined)
  let text: string
  try {
    text = decoder.decode(bytes)
  } catch {
    throw unreadable('its bytes are not UTF-8')
  }
  const { depth, values } = measure(bytes, maxDepth)
  if (depth > maxDepth) throw unreadable(`it is nested deeper than ${maxDepth} levels`)
  if (values > MOST_VALUES) {
    const why = `the JSON has more than ${MOST_VALUES} values`
    throw new Problem('body-too-large', `${why}; a task may have any number of them as text in \`body\``)
  }
  await rest()
  // before the core has printed all of them: that takes the longest for numbers which are rounded
  if (mayBeInexact(text) && isJson(text)) refuseFaults(text)
  await rest()
  let canonical: string
  try {
    canonical = core.canonicalJson(text)
  } catch (error) {
    if (error instanceof RedriveError) throw error
    throw unreadable((error as Error).message.replace(/^text: /, ''))
  }
  await rest()
  if (canonical.includes('"__proto__"')) refuseFaults(text)
  return { value: JSON.parse(canonical) as unknown, canonical }
}

/** `text` is JSON. */
function refuseFaults(text: string): void {
  const errors = faultsIn(text)
  const [first] = errors
  if (first) throw new Problem('invalid', `${first.pointer}: ${first.detail}`, { errors })
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false // the core says what is wrong with it
  }
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
/** `[` and `{` differ in one bit, and so do the brackets that close. */
const CASE = 0x20
const OPENING = 0x7b
const CLOSING = 0x7d
const COMMA = 0x2c
const EXPONENT = 0x65
const PLUS = 0x2b
const MINUS = 0x2d
const POINT = 0x2e

const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= 0x30 && byte <= 0x39

/**
 * How deep a text opens brackets, up to one more than `enough`, and how many values it has. Counted in bytes, whatever else
 * is wrong with them.
 */
function measure(bytes: Uint8Array, enough: number): { readonly depth: number; readonly values: number } {
  let depth = 0
  let deepest = 0
  let values = 1
  let isText = false
  for (let at = 0; at < bytes.length && deepest <= enough; at++) {
    const byte = bytes[at] as number
    if (isText) {
      if (byte === BACKSLASH) at++
      else if (byte === QUOTE) isText = false
    } else if (byte === QUOTE) isText = true
    // a number with an exponent takes twice the work, since the host prints it
    else if (byte === COMMA || ((byte | CASE) === EXPONENT && isDigit(bytes[at - 1]))) values++
    else if ((byte | CASE) === OPENING) {
      values++
      deepest = Math.max(deepest, ++depth)
    } else if ((byte | CASE) === CLOSING) depth--
  }
  return { depth: deepest, values }
}

/** Any double keeps fifteen digits apart; more, or an exponent, may not be. */
const mayBeInexact = (text: string): boolean => /(?:^|[[:,\s])-?(?:[\d.]{16}|[\d.]{1,15}[eE])/.test(text)

/** Equal numbers as equal texts: their digits without zeros around them, and the place of the point. */
function decimalOf(text: string): string {
  const mark = text.search(/e/i)
  const end = mark < 0 ? text.length : mark
  const exponent = mark < 0 ? 0 : Number(text.slice(mark + 1))
  const from = text[0] === '-' ? 1 : 0
  const point = text.lastIndexOf('.', end)
  const digits = text.slice(from, point < 0 ? end : point) + (point < 0 ? '' : text.slice(point + 1, end))
  let first = 0
  while (digits[first] === '0') first++
  if (first === digits.length) return '0'
  let behind = digits.length
  while (digits[behind - 1] === '0') behind--
  const places = (point < 0 ? 0 : end - point - 1) - (digits.length - behind)
  return `${from === 0 ? '' : '-'}${digits.slice(first, behind)}e${exponent - places}`
}

const ROUNDED =
  'a number that a double cannot hold as it is written: send it as a string, or the whole body as text in `body`'

/**
 * The faults that the core's reader leaves, with their places, up to as many as are shown. Found in the text, which is JSON: a reviver of `JSON.parse`
 * costs a microsecond for each value.
 */
function faultsIn(text: string): FieldError[] {
  const errors: FieldError[] = []
  /** Names of members as they are written, and numbers in lists. */
  const path: (string | number)[] = []
  let isName = false
  const fault = (detail: string): void => {
    const names = path.map((part) => (typeof part === 'string' ? (JSON.parse(part) as string) : part))
    errors.push({ pointer: pointerTo(names), detail })
  }
  for (let at = 0; at < text.length && errors.length < MOST_ERRORS; at++) {
    const unit = text.charCodeAt(at)
    const last = path.length - 1
    if (unit === QUOTE) {
      const from = at
      at = lastOfText(text, from)
      if (isName) {
        path[last] = text.slice(from, at + 1)
        if (isProto(path[last])) fault('a name that is not allowed')
      }
      isName = false
    } else if ((unit | CASE) === OPENING) {
      isName = unit === OPENING
      path.push(isName ? '""' : 0)
    } else if ((unit | CASE) === CLOSING) path.pop()
    else if (unit === COMMA) {
      const number = path[last]
      isName = typeof number === 'string'
      if (typeof number === 'number') path[last] = number + 1
    } else if (unit === MINUS || isDigit(unit)) {
      const from = at
      while (isOfNumber(text.charCodeAt(at + 1))) at++
      if (!isExact(text.slice(from, at + 1))) fault(ROUNDED)
    }
  }
  return errors
}

/** The quotation mark that ends the text which begins here. */
function lastOfText(text: string, from: number): number {
  for (let end = text.indexOf('"', from + 1); ; end = text.indexOf('"', end + 1)) {
    let before = end
    while (text.charCodeAt(before - 1) === BACKSLASH) before--
    if ((end - before) % 2 === 0) return end
  }
}

/** Each of its characters may be an escape. */
const isProto = (name: string): boolean => name.length <= 56 && JSON.parse(name) === '__proto__'

const isOfNumber = (unit: number): boolean =>
  isDigit(unit) || unit === POINT || unit === MINUS || unit === PLUS || (unit | CASE) === EXPONENT

/** Whether a double stands for the decimal that was written. Doubles distinguish all numbers of up to 15 characters, but those near the smallest. */
function isExact(source: string): boolean {
  const value = Number(source)
  if (source.length <= 15 && Math.abs(value) > 1e-290) return true
  const printed = `${value}`
  return source === printed || decimalOf(source) === decimalOf(printed)
}
