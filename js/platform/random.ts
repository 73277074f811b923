/**
 * Random ids: intent keys, trace ids. They need no core, so a first attempt waits for nothing.
 * Entropy is drawn at first use, never at import (Workers forbid it there), and a failure to get it is an error.
 */

/** 32 random bits. */
export type Draw = () => number

const POOL_WORDS = 1_024

/** The host's entropy, drawn in pools: one call per id would cost more than the id. */
export function hostDraw(): Draw {
  const pool = new Uint32Array(POOL_WORDS)
  let left = 0
  return () => {
    left ||= crypto.getRandomValues(pool).length
    return pool[--left] as number
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
const hex8 = (word: number): string => hex4(word >>> 16) + hex4(word & 0xffff)
/**
 * A random UUID (RFC 9562, version 4): an intent key, since servers check keys with the validators that they have. Version 7
 * would show when it was made.
 */
export function uuid4(draw: Draw): string {
  const [b, c] = [draw(), draw()]
  const node = hex4(c & 0xffff) + hex8(draw())
  return [hex8(draw()), hex4(b >>> 16), hex4(0x4000 | (b & 0xfff)), hex4(0x8000 | (c >>> 18)), node].join('-')
}

/** 128 random bits as 32 hex digits: a W3C trace id. */
export function random128(draw: Draw): string {
  return [draw(), draw(), draw(), draw()].map(hex8).join('')
}
