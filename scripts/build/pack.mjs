// A wasm module as text that js/core/unpack.ts makes the module of again. Both run js/core/wasm-model.ts, which foretells each
// bit; here an arithmetic coder writes down how far it was off, in some 2.7 bits a byte (docs/adr/0053).
import { LEAST } from '../../js/core/unpack.ts'
import { expand } from '../../js/core/wasm-model.ts'

/** Where the bodies of functions begin and end in a module; nowhere in what is none. */
function codeOf(wasm) {
  let at = 8
  const number = () => {
    let value = 0
    for (let shift = 0; at < wasm.length; shift += 7) {
      const byte = wasm[at++]
      value |= (byte & 127) << shift
      if (byte < 128) break
    }
    return value >>> 0
  }
  while (at < wasm.length) {
    const id = wasm[at++]
    const size = number()
    const stop = at + size
    if (id === 10) {
      number() // how many there are
      return { start: at, stop }
    }
    at = stop
  }
  return { start: wasm.length, stop: wasm.length }
}

/** An arithmetic coder that writes bytes: the range is kept in 30 bits, and a carry goes back over bytes of 255. */
function coder() {
  const out = []
  let low = 0
  let range = LEAST * 256
  let held // the last byte that a carry may still change, and behind it so many of 255
  let full = 0
  const shift = () => {
    const carry = low >= LEAST * 256 ? 1 : 0
    const top = Math.floor(low / LEAST) & 255
    low = (low % LEAST) * 256
    if (!carry && top === 255) {
      full++
      return
    }
    if (held !== undefined) out.push((held + carry) & 255)
    for (; full > 0; full--) out.push((255 + carry) & 255)
    held = top
  }
  const write = (bit, probability) => {
    const bound = (range >>> 16) * probability
    if (bit) range = bound
    else {
      low += bound
      range -= bound
    }
    for (; range < LEAST; range *= 256) shift()
  }
  const end = () => {
    for (let i = 0; i < 5; i++) shift()
    while (out.at(-1) === 0) out.pop() // read as zeros
    return Uint8Array.from(out)
  }
  return { write, end }
}

/** @returns base64 of the packed bytes, and the measures of the module, as js/core/unpack.ts takes them */
export async function pack(wasm) {
  const { start, stop } = codeOf(wasm)
  const { write, end } = coder()
  let at = 0
  const next = (probability) => {
    const bit = (wasm[at >> 3] >> (7 - (at & 7))) & 1
    at++
    write(bit, probability)
    return bit
  }
  await expand({ length: wasm.length, start, stop }, next, () => undefined)
  return [Buffer.from(end()).toString('base64'), wasm.length, start, stop]
}
