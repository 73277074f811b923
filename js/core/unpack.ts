/** Unpacks a module that came as text: `scripts/build/pack.mjs` wrote down what of it could not be foretold. */

import { nextTurn } from '../platform/turn.ts'
import { expand } from './wasm-model.ts'

/** The content of `packed.js`: base64, and the measures of the module. */
export type Packed = readonly [base64: string, length: number, start: number, stop: number]

/** The range of an arithmetic coder stays above this, and below 256 times as much, so that all of it are small integers. */
export const LEAST: number = 1 << 22

export function unpack([base64, length, start, stop]: Packed): Promise<Uint8Array<ArrayBuffer>> {
  const text = atob(base64)
  let at = 0
  const byte = () => text.charCodeAt(at++) | 0 // zeros behind the end
  let range = LEAST * 256
  let code = (byte() << 24) | (byte() << 16) | (byte() << 8) | byte()
  let rest = code & 3
  code >>>= 2
  const next = (probability: number) => {
    const bound = (range >>> 16) * probability
    const bit = code < bound ? 1 : 0
    if (bit) range = bound
    else {
      code -= bound
      range -= bound
    }
    while (range < LEAST) {
      const read = byte()
      range <<= 8
      code = (code << 8) | (rest << 6) | (read >> 2)
      rest = read & 3
    }
    return bit
  }
  return expand({ length, start, stop }, next, nextTurn)
}
