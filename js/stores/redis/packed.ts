/** Numbers as the scripts pack them: big-endian, one behind the other. */

import { Buffer } from 'node:buffer'

/** Writes what `struct.unpack` reads. */
export class Packer {
  #bytes: Buffer
  #at = 0

  constructor(room = 256) {
    this.#bytes = Buffer.allocUnsafe(room)
  }

  #room(bytes: number): number {
    const at = this.#at
    this.#at += bytes
    if (this.#at > this.#bytes.length) {
      const more = Buffer.allocUnsafe(2 * this.#at)
      this.#bytes.copy(more, 0, 0, at)
      this.#bytes = more
    }
    return at
  }

  u8(...values: readonly number[]): this {
    for (const value of values) {
      const at = this.#room(1)
      this.#bytes.writeUInt8(value, at)
    }
    return this
  }

  u16(value: number): this {
    const at = this.#room(2)
    this.#bytes.writeUInt16BE(value, at)
    return this
  }

  u32(...values: readonly number[]): this {
    for (const value of values) {
      const at = this.#room(4)
      this.#bytes.writeUInt32BE(value, at)
    }
    return this
  }

  u40(value: number): this {
    const at = this.#room(5)
    this.#bytes.writeUIntBE(value, at, 5)
    return this
  }

  f64(...values: readonly number[]): this {
    for (const value of values) {
      const at = this.#room(8)
      this.#bytes.writeDoubleBE(value, at)
    }
    return this
  }

  bytes(...values: readonly Buffer[]): this {
    for (const value of values) {
      const at = this.#room(value.length)
      value.copy(this.#bytes, at)
    }
    return this
  }

  text(value: string): this {
    const at = this.#room(Buffer.byteLength(value))
    this.#bytes.write(value, at)
    return this
  }

  done(): Buffer {
    return this.#bytes.subarray(0, this.#at)
  }
}
