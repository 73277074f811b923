/**
 * Random ids: intent keys, trace ids. They need no core, so a first attempt waits for nothing.
 * Entropy is drawn at first use, never at import (Workers forbid it there), and a failure to get it is an error.
 */

/** 32 random bits. */
export type Draw = () => number

const POOL_WORDS = 128

/** The host's entropy, drawn in pools: one call per id would cost more than the id. */
export function hostDraw(): Draw {
  const pool = new Uint32Array(POOL_WORDS)
  let used = POOL_WORDS
  return () => {
    if (used === POOL_WORDS) {
      crypto.getRandomValues(pool)
      used = 0
    }
    return pool[used++] as number
  }
}

/** For repeatable tests: a linear congruence of full period, after Numerical Recipes. Not for secrets. */
export function seededDraw(seed: bigint): Draw {
  let state = Number(seed & 0xffffffffn)
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state
  }
}

const hex4 = (half: number) => (half + 0x10000).toString(16).slice(1)
/** By halves: toString(16) takes words above 2^31 for fractions, and ten times as long. */
export const hex8 = (word: number): string => hex4(word >>> 16) + hex4(word & 0xffff)
/** In one piece: `+` would keep every part in memory for as long as the id. */
export const join = (...parts: string[]): string => parts.join('')

/** 128 random bits as 32 hex digits: an intent key, a W3C trace id. */
export function random128(draw: Draw): string {
  return [draw(), draw(), draw(), draw()].map(hex8).join('')
}

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
