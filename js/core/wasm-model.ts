/**
 * Foretells the bits of a wasm module, so that it can travel in three quarters of the bytes that gzip needs. Packing and
 * unpacking are this one function: who packs knows each bit and writes down how far the forecast was off, who unpacks reads that
 * and learns the bit. Both must compute the same on every engine, so there is no arithmetic in it but what IEEE 754 fixes.
 *
 * Code is read as instructions: what follows is foretold from the last four operators rather than from the last four bytes.
 * Each context keeps a probability, and the four are mixed with weights that learn (as in paq; docs/adr/0053). Reading an
 * instruction wrong costs bytes and nothing else.
 */

/** A module to be foretold: its bytes, and where in it the bodies of functions begin and end. */
export interface Extent {
  readonly length: number
  readonly start: number
  readonly stop: number
}

/** Gets the probability of a 1 in 65536ths, above 0 and below 65536, and says which bit it is. */
export type NextBit = (probability: number) => 0 | 1

/** Probabilities in the table, all contexts together: 8 MB while unpacking. */
const TABLE_BITS = 22
/** A probability follows the last so many bits and forgets older ones. */
const MEMORY = 7
const LEARNING = 0.03 / 65536
/** Between bodies of functions: their sizes and locals, read as an operator of its own with two immediates or more. */
const HEADER = 257
/** No operator yet: the next byte is one. */
const NONE = 256

/** The bytes of a module, after a `pause` for each 8,192 of them. */
export async function expand(
  { length, start, stop }: Extent,
  next: NextBit,
  pause: () => Promise<void> | undefined,
): Promise<Uint8Array<ArrayBuffer>> {
  const { squash, stretch, share } = curves()
  const table = new Uint16Array(1 << TABLE_BITS).fill(1 << 15)
  // four weights for each operator, and four for each beginning of a byte
  const byOperator = new Float32Array((HEADER + 1) * 4).fill(0.45)
  const byPrefix = new Float32Array(256 * 4).fill(0.45)
  const out = new Uint8Array(length)

  let operator = NONE
  let operators = 0
  let instruction = 0 // a hash of what of it was read
  let immediates = 0
  let left = 0
  let raw = start // bytes that are no numbers: constants, and all that is not code
  let number = 0
  let shift = 0
  let depth = 0
  let bytes = 0

  const stretched = (slot: number) => stretch[(table[slot] as number) >>> 4] as number
  const learn = (slot: number, bit: number) => {
    // twelve bits of probability, and how many bits it has seen
    const value = table[slot] as number
    const seen = value & 15
    const off = (bit << 12) - bit - (value >>> 4)
    table[slot] = value + ((off * (share[seen] as number)) << 4) + (seen < MEMORY ? 1 : 0)
  }
  const adjust = (weights: Float32Array, at: number, by: number) => {
    weights[at] = (weights[at] as number) + by
  }

  for (let at = 0; at < length; at++) {
    if (at % 8192 === 8191) await pause()
    if (at === stop) {
      raw = length
      operator = NONE
      instruction = operators = left = immediates = 0
    }
    const here = hash(operator * 16 + immediates, instruction)
    const hash0 = hash(hash(bytes & 0xff, operator), 1)
    const hash1 = hash(bytes & 0xffff, 2)
    const hash2 = hash(hash(here, operators & 0xff), 3)
    const hash3 = hash(hash(here, operators), 4)
    const row = operator * 4
    let prefix = 1
    for (let half = 0; half < 2; half++) {
      // the 15 probabilities of half a byte lie side by side, so that they come to the processor together
      const line0 = lineOf(hash0, prefix)
      const line1 = lineOf(hash1, prefix)
      const line2 = lineOf(hash2, prefix)
      const line3 = lineOf(hash3, prefix)
      let node = 1
      // unrolled: as a loop over contexts it takes a third longer
      while (node < 16) {
        const column = prefix * 4
        const input0 = stretched(line0 | node)
        const input1 = stretched(line1 | node)
        const input2 = stretched(line2 | node)
        const input3 = stretched(line3 | node)
        const sum =
          ((byOperator[row] as number) + (byPrefix[column] as number)) * input0 +
          ((byOperator[row + 1] as number) + (byPrefix[column + 1] as number)) * input1 +
          ((byOperator[row + 2] as number) + (byPrefix[column + 2] as number)) * input2 +
          ((byOperator[row + 3] as number) + (byPrefix[column + 3] as number)) * input3
        const probability = squash[Math.max(1, Math.min(4095, (sum * 45 + 2048) | 0))] as number
        const bit = next(probability)
        const step = ((bit << 16) - probability) * LEARNING
        adjust(byOperator, row, step * input0)
        adjust(byOperator, row + 1, step * input1)
        adjust(byOperator, row + 2, step * input2)
        adjust(byOperator, row + 3, step * input3)
        adjust(byPrefix, column, step * input0)
        adjust(byPrefix, column + 1, step * input1)
        adjust(byPrefix, column + 2, step * input2)
        adjust(byPrefix, column + 3, step * input3)
        learn(line0 | node, bit)
        learn(line1 | node, bit)
        learn(line2 | node, bit)
        learn(line3 | node, bit)
        node = node * 2 + bit
        prefix = prefix * 2 + bit
      }
    }
    const byte = prefix & 255
    out[at] = byte
    bytes = (bytes << 8) | byte

    let ends = false
    if (raw > 0) {
      ends = --raw === 0
      if (operator < NONE) instruction = hash(instruction, byte)
    } else if (left > 0) {
      number |= (byte & 127) << shift
      shift += 7
      instruction = hash(instruction, byte)
      if (byte < 128) {
        left--
        // how many follow is in the number for tables of branches, bulk memory, and the groups of locals
        if (immediates === 0) {
          if (operator === 0x0e) left = number + 1
          if (operator === 0xfc) left = number === 10 ? 2 : number === 11 ? 1 : 0
        } else if (immediates === 1 && operator === HEADER) left = 2 * number
        immediates++
        number = shift = 0
        ends = left === 0
      }
    } else {
      operator = byte
      instruction = byte + 1
      left = immediatesOf(byte)
      raw = byte === 0x43 ? 4 : byte === 0x44 ? 8 : 0
      ends = left + raw === 0
      if (byte > 1 && byte < 5) depth++
      if (byte === 0x0b) depth--
    }
    if (ends) {
      operators = (operators << 8) | operator
      operator = NONE
      instruction = immediates = 0
      if (depth < 0 || at === start - 1) {
        operator = HEADER
        left = 2
        depth = operators = 0
      }
    }
  }
  return out
}

/** From a probability to what is summed up, ln(p / (1 - p)), and back; by steps of 1/256. */
function curves(): { squash: Uint16Array; stretch: Float32Array; share: Float32Array } {
  const squash = new Uint16Array(4096)
  const stretch = new Float32Array(4096)
  // e^x by multiplying: engines differ in the last bit of Math.exp
  for (let x = 0, power = 1; x < 2048; x++, power *= 1.0039138893383475) {
    const share = (power / (1 + power)) * 65535
    squash[2048 + x] = share
    squash[2048 - x] = 65536 - share
  }
  for (let x = 1, p = 0; x < 4096; x++) {
    while (p < 4096 && p <= (squash[x] as number) >> 4) stretch[p++] = (x - 2048) / 256
  }
  stretch[2048] = 0
  // the more bits a probability has seen, the less one more moves it
  const share = Float32Array.from({ length: 16 }, (_, seen) => 1 / (seen + 1.1))
  return { squash, stretch, share }
}

/** Numbers that follow an operator. */
function immediatesOf(operator: number): number {
  if (operator === 0x11 || (operator >= 0x28 && operator < 0x3f)) return 2
  const one =
    (operator > 0x01 && operator < 0x05) ||
    (operator > 0x0b && operator < 0x11 && operator !== 0x0f) ||
    (operator > 0x1f && operator < 0x27) ||
    (operator > 0x3e && operator < 0x43) ||
    operator === 0xfc ||
    operator === 0xfd
  return one ? 1 : 0
}

/** Where the probabilities of half a byte begin, for a context and what of the byte is known. */
function lineOf(context: number, prefix: number): number {
  const spread = Math.imul(context + Math.imul(prefix, 0x9e3779b1), 0x2c1b3c6d)
  return (spread >>> (36 - TABLE_BITS)) << 4
}

function hash(a: number, b: number): number {
  const mixed = Math.imul(a, 0x9e3779b1) ^ Math.imul(b, 0x85ebca6b)
  const spread = Math.imul(mixed ^ (mixed >>> 15), 0x2c1b3c6d)
  return spread ^ (spread >>> 13)
}
