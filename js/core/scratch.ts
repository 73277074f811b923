/**
 * Text on its way into the wasm: encoded into a buffer that lies in its memory and is kept. A string that crosses as
 * wasm-bindgen's own costs seven times as much when it is short and thirty times when it is long.
 */

const encoder = new TextEncoder()

/** Up to so many characters are written one by one: in a browser, calling the encoder costs more than this. */
const SHORT = 64

export class Scratch {
  readonly #memory: WebAssembly.Memory
  readonly #reserve: (size: number) => number
  #view = new Uint8Array()
  #at = 0

  constructor(memory: WebAssembly.Memory, reserve: (size: number) => number) {
    this.#memory = memory
    this.#reserve = reserve
  }

  /** Writes one text; gives its length in bytes. */
  text(text: string): number {
    // a character of a JavaScript string takes three bytes at most
    this.#open(text.length * 3)
    return this.#write(text, 0)
  }

  /** Writes several, one behind the other, and gives the length of each. */
  all(parts: readonly (string | Uint8Array)[]): number[] {
    let most = 0
    for (const part of parts) most += typeof part === 'string' ? part.length * 3 : part.byteLength
    this.#open(most)
    const lengths: number[] = []
    let end = 0
    for (const part of parts) {
      let length = part.length
      if (typeof part === 'string') length = this.#write(part, end)
      else this.#view.set(part, end)
      lengths.push(length)
      end += length
    }
    return lengths
  }

  /** The first `length` bytes, which the core has written over. A view: read it before the next call. */
  answer(length: number): Uint8Array {
    // the memory may have grown meanwhile
    return new Uint8Array(this.#memory.buffer, this.#at, length)
  }

  #write(text: string, at: number): number {
    const { length } = text
    const view = this.#view
    if (length <= SHORT) {
      let ascii = 0
      while (ascii < length) {
        const code = text.charCodeAt(ascii)
        if (code > 0x7f) break
        view[at + ascii++] = code
      }
      if (ascii === length) return length
    }
    return encoder.encodeInto(text, at === 0 ? view : view.subarray(at)).written
  }

  #open(size: number): void {
    const at = this.#reserve(size)
    if (this.#view.buffer !== this.#memory.buffer || at !== this.#at || this.#view.byteLength < size) {
      this.#at = at
      this.#view = new Uint8Array(this.#memory.buffer, at, size)
    }
  }
}
