/**
 * Reads JSON as strangers send it. `JSON.parse` alone takes the second of two equal names, rounds what a double cannot hold and makes of
 * `__proto__` a member like any other: each would let two parties see two requests in one text. What is not I-JSON (RFC 7493) is
 * refused by the core's reader, which also gives the canonical text; the few rules it has not are here.
 */

import { RedriveError } from '../../api/errors.ts'
import type { ApiContext } from './context.ts'
import { type FieldError, Problem, pointerTo } from './problem.ts'

/** A body that was read. */
export interface ReadJson {
  readonly value: unknown
  /** RFC 8785. */
  readonly canonical: string
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

const unreadable = (why: string): Problem =>
  new Problem('bad-request', `the body is not JSON that can be taken: ${why}`)

/** Throws 'bad-request' for a text that is no such JSON, 'invalid' for a name or a number that would be read in two ways. */
export function readJson(bytes: Uint8Array, maxDepth: number, core: ApiContext['core']): ReadJson {
  let text: string
  try {
    text = decoder.decode(bytes)
  } catch {
    throw unreadable('its bytes are not UTF-8')
  }
  if (depthOf(bytes, maxDepth) > maxDepth) throw unreadable(`it is nested deeper than ${maxDepth} levels`)
  let canonical: string
  try {
    canonical = core.canonicalJson(text)
  } catch (error) {
    if (error instanceof RedriveError) throw error
    throw unreadable((error as Error).message.replace(/^text: /, ''))
  }
  const isRounded = mayBeInexact(text)
  const value: unknown = isRounded ? JSON.parse(text, exactly) : JSON.parse(canonical)
  const errors: FieldError[] = []
  if (isRounded || canonical.includes('"__proto__"')) collect(value, [], errors)
  const [first] = errors
  if (first) throw new Problem('invalid', `${first.pointer}: ${first.detail}`, { errors })
  return { value, canonical }
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
/** `[` and `{` differ in one bit, and so do the brackets that close. */
const CASE = 0x20
const OPENING = 0x7b
const CLOSING = 0x7d

/** How deep a text opens brackets, up to one more than `enough`. Told from bytes, whatever else is wrong with them. */
function depthOf(bytes: Uint8Array, enough: number): number {
  let depth = 0
  let deepest = 0
  let isText = false
  for (let at = 0; at < bytes.length && deepest <= enough; at++) {
    const byte = bytes[at] as number
    if (isText) {
      if (byte === BACKSLASH) at++
      else if (byte === QUOTE) isText = false
    } else if (byte === QUOTE) isText = true
    else if ((byte | CASE) === OPENING) deepest = Math.max(deepest, ++depth)
    else if ((byte | CASE) === CLOSING) depth--
  }
  return deepest
}

/** Fifteen digits are told apart by any double; more, or an exponent, may not be. */
const mayBeInexact = (text: string): boolean => /(?:^|[[:,\s])-?(?:[\d.]{16}|[\d.]{1,15}[eE])/.test(text)

/** In place of a number that stands for another decimal than the text's. */
const INEXACT = Object.freeze({})

/** A reviver (`context` came with ECMAScript's proposal of the source text, which every supported Node has). */
function exactly(_: string, value: unknown, context?: { readonly source?: string }): unknown {
  const source = typeof value === 'number' ? context?.source : undefined
  return source !== undefined && decimalOf(source) !== decimalOf(`${value}`) ? INEXACT : value
}

/** Equal numbers as equal texts: their digits without zeros around them, and the place of the point. */
function decimalOf(text: string): string {
  const [, sign = '', whole = '', part = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? []
  const digits = (whole + part).replace(/^0+/, '')
  const bare = digits.slice(0, digits.length - zerosBehind(digits))
  if (bare === '') return '0'
  return `${sign}${bare}e${Number(exponent) - part.length + digits.length - bare.length}`
}

/** The zeros that a text ends with. A regular expression looks at each run of zeros anew. */
function zerosBehind(digits: string): number {
  let count = 0
  while (digits[digits.length - 1 - count] === '0') count++
  return count
}

const ROUNDED =
  'a number that a double cannot hold as it is written: send it as a string, or the whole body as text in `body`'

/** The faults that the core's reader leaves, with their places. */
function collect(value: unknown, path: readonly string[], errors: FieldError[]): void {
  if (value === INEXACT) errors.push({ pointer: pointerTo(path), detail: ROUNDED })
  if (typeof value !== 'object' || value === null) return
  for (const [name, part] of Object.entries(value)) {
    const here = [...path, name]
    if (name === '__proto__') errors.push({ pointer: pointerTo(here), detail: 'a name that is not allowed' })
    collect(part, here, errors)
  }
}
