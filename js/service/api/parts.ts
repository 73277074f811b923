/**
 * Texts within a text, separated without reading them. Those of a batch are then read each by itself, with breaks: to read all of a batch in one go
 * would keep the requests of all others waiting. And what a canonical text holds need not be made anew from its value.
 */

import { afterOthers, SLICE_BYTES } from './in-slices.ts'
import { invalid, Problem } from './problem.ts'

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const BACKSLASH = 0x5c
const NEWLINE = 0x0a
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d]

/** Bytes that are separated between two breaks: some milliseconds of work. */
const STRETCH = 16 * SLICE_BYTES

const isBlank = (byte: number | undefined): boolean =>
  byte === 0x20 || byte === NEWLINE || byte === 0x0d || byte === 0x09

/** The lines of a body that hold anything. Throws 'invalid' where there are more than `most`. */
export async function linesOf(bytes: Uint8Array, most: number): Promise<Uint8Array[]> {
  const lines: Uint8Array[] = []
  for (let at = 0, pause = STRETCH; at < bytes.length; at++) {
    if (at >= pause) {
      await afterOthers()
      pause = at + STRETCH
    }
    if (isBlank(bytes[at])) continue
    const end = bytes.indexOf(NEWLINE, at)
    const to = end < 0 ? bytes.length : end
    lines.push(bytes.subarray(at, to))
    if (lines.length > most) throw new Problem('invalid', `the body has more than ${most} lines; send it in parts`)
    at = to
  }
  return lines
}

const decoder = new TextDecoder()

/**
 * The texts of what is in the list of `{"member":[…]}`. undefined: the body has another form, or is no JSON. It is JSON if each of the texts is.
 * Throws 'invalid' where there are more than `most`.
 */
export async function elementsOf(bytes: Uint8Array, member: string, most: number): Promise<Uint8Array[] | undefined> {
  let at = 0
  const skip = (): number => {
    while (isBlank(bytes[at])) at++
    return at
  }
  const take = (byte: number): boolean => {
    const isThere = bytes[skip()] === byte
    if (isThere) at++
    return isThere
  }
  if (!take(OPEN_OBJECT)) return undefined
  const name = textAt(bytes, skip())
  if (!isText(name, member)) return undefined
  at += name.length
  if (!take(COLON) || !take(OPEN_LIST)) return undefined
  const texts: Uint8Array[] = []
  for (let isLast = take(CLOSE_LIST), pause = STRETCH; !isLast; at++) {
    if (at >= pause) {
      await afterOthers()
      pause = at + STRETCH
    }
    const from = skip()
    at = endOfValue(bytes, from)
    if (at === from) return undefined
    texts.push(bytes.subarray(from, at))
    if (texts.length > most) throw invalid(`${member}: at most ${most} of them; send it in parts`, member)
    isLast = bytes[at] === CLOSE_LIST
    if (!isLast && bytes[at] !== COMMA) return undefined
  }
  return take(CLOSE_OBJECT) && skip() === bytes.length ? texts : undefined
}

/** The text that begins here, up to its next quotation mark. */
function textAt(bytes: Uint8Array, from: number): Uint8Array {
  const end = bytes.indexOf(QUOTE, from + 1)
  return bytes.subarray(from, end < 0 ? bytes.length : end + 1)
}

/** Whether a text of JSON is this one, each of its characters perhaps an escape. */
function isText(bytes: Uint8Array, text: string): boolean {
  if (bytes.length > 6 * text.length + 2) return false
  try {
    return JSON.parse(decoder.decode(bytes)) === text
  } catch {
    return false
  }
}

/** The value of a member of a canonical text, and the text without that member. undefined: it has none of this name. */
export function memberOf(
  canonical: Uint8Array,
  name: string,
): { readonly value: Uint8Array; readonly others: readonly Uint8Array[] } | undefined {
  const quoted = JSON.stringify(name)
  for (let from = 1; from < canonical.length - 1; ) {
    const colon = endOfValue(canonical, from)
    const end = endOfValue(canonical, colon + 1)
    const isLast = canonical[end] !== COMMA
    if (decoder.decode(canonical.subarray(from, colon)) === quoted) {
      // with the comma behind it, or the one before it
      const [start, next] = isLast ? [Math.max(1, from - 1), end] : [from, end + 1]
      const others = [canonical.subarray(0, start), canonical.subarray(next)]
      return { value: canonical.subarray(colon + 1, end), others }
    }
    from = end + 1
  }
  return undefined
}

/** The comma, colon or bracket behind a value, or the end. */
function endOfValue(bytes: Uint8Array, from: number): number {
  let depth = 0
  let isText = false
  for (let at = from; at < bytes.length; at++) {
    const byte = bytes[at]
    if (isText) {
      if (byte === BACKSLASH) at++
      else if (byte === QUOTE) isText = false
    } else if (byte === QUOTE) isText = true
    else if (byte === OPEN_LIST || byte === OPEN_OBJECT) depth++
    else if (depth === 0 && (byte === COMMA || byte === COLON || byte === CLOSE_LIST || byte === CLOSE_OBJECT))
      return at
    else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) depth--
  }
  return bytes.length
}
