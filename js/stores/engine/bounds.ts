/**
 * How much of what a storage says is believed. An honest writer stays far below each of these, and what comes after has room:
 * a number at the very end of what is believed must not make the next one that is counted one that is not.
 */

import { DAY_MS } from '../../platform/clock.ts'

/** The highest number of a row that anything is counted by: its place, its token. */
export const MOST_IN_ROW: number = 2 ** 52
/** The highest that a counter goes on from. It takes as many tasks again to come to what no row may say. */
export const MOST_COUNTED: number = 2 ** 51

/** The longest lease. An attempt that may take longer has its lease renewed. */
export const LONGEST_LEASE_MS: number = DAY_MS / 24
/** The longest that a lane is held which other code, or an earlier process, says is held. */
export const LONGEST_HOLD_MS: number = DAY_MS

/** Characters of a name: of an id, a key, a principal, an order, a lane, the name of a header. */
export const NAME_LENGTH: number = 2 ** 17
export const METHOD_LENGTH = 256
/** Characters of a URL, and of all texts together of a part of a request: more than a row of a Durable Object holds, which has words of its own. */
export const TEXT_LENGTH: number = 2 ** 22
/** Values, at whatever depth, of a part of a request: its headers, its policy, a line of its history. */
export const MOST_PARTS = 10_000
const DEPTH = 16

/**
 * Whether it is little work to look at all of a value: plain, few parts, little text, no circle. An array counts by its length, since
 * one of 2^32 - 1 holes is a few bytes in a storage and ends the process that walks along it. `jsonBytes`: as much as so many bytes of
 * JSON can hold, however deep.
 */
export const isSmall = (value: unknown, jsonBytes?: number): boolean =>
  jsonBytes === undefined
    ? fits(value, { parts: MOST_PARTS, text: TEXT_LENGTH }, DEPTH)
    : fits(value, { parts: jsonBytes, text: jsonBytes }, jsonBytes)

function fits(value: unknown, left: { parts: number; text: number }, depth: number): boolean {
  left.parts--
  if (typeof value === 'string') left.text -= value.length
  if (left.parts < 0 || left.text < 0 || depth === 0) return false
  if (typeof value !== 'object' || value === null) return true
  if (Array.isArray(value)) {
    if (value.length > left.parts) return false
    for (const each of value) if (!fits(each, left, depth - 1)) return false
    return true
  }
  if (!isPlain(value)) return false
  for (const name in value) {
    left.text -= name.length
    if (!fits(value[name], left, depth - 1)) return false
  }
  return true
}

/** An object that is nothing but its properties, of whatever realm. */
export const isPlain = (value: unknown): value is Record<string, unknown> =>
  Object.prototype.toString.call(value) === '[object Object]'
