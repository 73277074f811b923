/** Ids of tasks: UUIDs that rise. */

import { type Draw, hex8 } from './random.ts'

/** In one piece: `+` would keep every part in memory for as long as the id. */
const join = (...parts: string[]): string => parts.join('')

/**
 * UUIDv7 (RFC 9562): ids of one maker rise, so they also say which task came first. `rand_a` counts within the
 * millisecond (method 1 of section 6.2); a full counter borrows from the next millisecond.
 */
export function uuid7Maker(draw: Draw): (now: number) => string {
  let at = 0
  let count = 0
  let prefix = ''
  const enter = (millisecond: number) => {
    at = millisecond
    count = 0
    const time = at.toString(16).padStart(12, '0')
    prefix = `${time.slice(0, 8)}-${time.slice(8)}-7`
  }
  return (now) => {
    if (now > at) enter(now)
    else if (++count > 0xfff) enter(at + 1)
    const order = count.toString(16).padStart(3, '0')
    const variant = hex8(((draw() & 0x3fffffff) | 0x80000000) >>> 0)
    return join(prefix, order, '-', variant.slice(0, 4), '-', variant.slice(4), hex8(draw()))
  }
}
