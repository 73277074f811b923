/** Ids of tasks: UUIDs that rise. */

import type { Draw } from './random.ts'

const codesOf = (text: string): number[] => Array.from(text, (char) => char.charCodeAt(0))

/**
 * UUIDv7 (RFC 9562): ids of one maker rise, so they also say which task came first. `rand_a` counts within the
 * millisecond (method 1 of section 6.2); a full counter borrows from the next millisecond.
 */
export function uuid7Maker(draw: Draw): (now: number) => string {
  let at = 0
  let count = 0
  // the characters of the last id: most of the next are the same, and one call makes them a text in one piece
  const codes = codesOf('00000000-0000-7000-8000-000000000000')
  const digits = codesOf('0123456789abcdef')
  const put = (from: number, size: number, value: number) => {
    for (let i = from + size - 1, rest = value; i >= from; i--, rest >>>= 4) codes[i] = digits[rest & 15] ?? 0
  }
  const enter = (millisecond: number) => {
    at = millisecond
    count = 0
    put(0, 8, Math.floor(at / 0x10000) >>> 0)
    put(9, 4, at % 0x10000)
  }
  return (now) => {
    if (now > at) enter(now)
    else if (++count > 0xfff) enter(at + 1)
    const [high, low] = [draw(), draw()]
    put(15, 3, count)
    put(19, 4, 0x8000 | (high & 0x3fff))
    put(24, 4, high >>> 16)
    put(28, 8, low)
    return String.fromCharCode(...codes)
  }
}

/** The part of an id that is its time, as it was read last: ids of one millisecond come in rows. */
let lastTime = ''
let lastMs = 0

/** The millisecond of an id: that of its making, or a later one if there were very many in it or the clock was set back. */
export function timeOfId(id: string): number {
  if (lastTime === '' || !id.startsWith(lastTime)) {
    lastTime = id.slice(0, 13)
    lastMs = Number.parseInt(id.slice(0, 8), 16) * 0x10000 + Number.parseInt(id.slice(9, 13), 16)
  }
  return lastMs
}
