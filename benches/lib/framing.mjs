// Fields as a key hashes them, each behind its length in 64 bits: for those who only hash. As good as the core's own side of
// it: a buffer that is kept, the encoder for long text and a loop for short.

const encoder = new TextEncoder()
const SHORT = 64

export class Framing {
  #bytes = new Uint8Array(1 << 16)
  #view = new DataView(this.#bytes.buffer)

  /** A view of a buffer that the next call writes over. */
  of(fields) {
    let most = 0
    for (const field of fields) most += 8 + field.length * 3
    if (most > this.#bytes.length) {
      this.#bytes = new Uint8Array(most)
      this.#view = new DataView(this.#bytes.buffer)
    }
    let at = 0
    for (const field of fields) {
      const length = this.#put(field, at + 8)
      // lengths beyond 2^32 are no business of a bench's
      this.#view.setUint32(at, 0)
      this.#view.setUint32(at + 4, length)
      at += 8 + length
    }
    return this.#bytes.subarray(0, at)
  }

  #put(field, at) {
    const bytes = this.#bytes
    if (typeof field !== 'string') {
      bytes.set(field, at)
      return field.length
    }
    if (field.length <= SHORT) {
      let ascii = 0
      for (; ascii < field.length; ascii++) {
        const code = field.charCodeAt(ascii)
        if (code > 0x7f) break
        bytes[at + ascii] = code
      }
      if (ascii === field.length) return ascii
    }
    return encoder.encodeInto(field, bytes.subarray(at)).written
  }
}
