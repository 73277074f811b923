/**
 * RESP, as far as a client of one server needs it. On the wire it is RESP3, which tells messages from answers; values are given
 * as a client has them that speaks RESP2: maps as flat arrays, doubles as text.
 */

import { Buffer } from 'node:buffer'
import type { Arg, Reply } from '../../js/stores/redis/port.ts'

/** What the server says of a command that it does not do: 'NOSCRIPT …', 'OOM …'. */
export class ServerError extends Error {
  override readonly name = 'ServerError'
}

/** One thing that the server has sent. */
export type Sent =
  | { readonly kind: 'answer'; readonly value: Reply }
  | { readonly kind: 'error'; readonly error: ServerError }
  | { readonly kind: 'message'; readonly parts: readonly Reply[] }

const CR = 13
const LF = 10
const DIGIT = 48
const MINUS = 45

/** Commands as bytes, one after the other; what is there holds until the next are made. */
export class Encoder {
  #bytes: Buffer = Buffer.allocUnsafe(64 * 1_024)
  #at = 0

  encode(commands: readonly (readonly Arg[])[]): Buffer {
    this.#at = 0
    for (const parts of commands) {
      this.#count(STAR, parts.length)
      for (const part of parts) this.#bulk(part)
    }
    return this.#bytes.subarray(0, this.#at)
  }

  #bulk(part: Arg): void {
    const length = typeof part === 'string' ? Buffer.byteLength(part) : part.length
    this.#count(DOLLAR, length)
    this.#need(length + 2)
    const bytes = this.#bytes
    if (typeof part === 'string') bytes.write(part, this.#at)
    // a native call costs more than a few bytes
    else if (length > FEW_BYTES) bytes.set(part, this.#at)
    else for (let i = 0; i < length; i++) bytes[this.#at + i] = part[i] ?? 0
    this.#at += length
    this.#end()
  }

  #count(type: number, count: number): void {
    this.#need(HEADER)
    this.#bytes[this.#at++] = type
    const digits = String(count)
    for (let i = 0; i < digits.length; i++) this.#bytes[this.#at++] = digits.charCodeAt(i)
    this.#end()
  }

  #end(): void {
    this.#bytes[this.#at++] = CR
    this.#bytes[this.#at++] = LF
  }

  #need(more: number): void {
    if (this.#at + more <= this.#bytes.length) return
    const larger = Buffer.allocUnsafe(2 * (this.#at + more))
    larger.set(this.#bytes.subarray(0, this.#at))
    this.#bytes = larger
  }
}

const STAR = 42
const DOLLAR = 36
/** Most bytes of a length, with what is around it. */
const HEADER = 16
const FEW_BYTES = 48

class Short extends Error {}
const SHORT = new Short('more is to come')

/** Makes out of bytes, in whatever pieces they come, what the server has sent. */
export class Decoder {
  #bytes: Buffer = Buffer.alloc(0)
  #at = 0

  /** `chunk` is its own from now on. */
  feed(chunk: Buffer): void {
    const rest = this.#bytes.subarray(this.#at)
    this.#bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    this.#at = 0
  }

  /** undefined: it is not all here yet. */
  next(): Sent | undefined {
    const from = this.#at
    try {
      return this.#sent()
    } catch (error) {
      if (error !== SHORT) throw error
      this.#at = from
      return undefined
    }
  }

  #sent(): Sent {
    const type = this.#type()
    if (type === '>') return { kind: 'message', parts: this.#many(this.#count()) }
    if (type === '-') return { kind: 'error', error: new ServerError(this.#line()) }
    if (type === '!') return { kind: 'error', error: new ServerError(this.#bulk(this.#count()).toString()) }
    return { kind: 'answer', value: this.#value(type) }
  }

  #value(type: string): Reply {
    switch (type) {
      case ':':
        return this.#count()
      case '$': {
        const length = this.#count()
        return length < 0 ? null : this.#bulk(length)
      }
      case '*':
      case '~': {
        const length = this.#count()
        return length < 0 ? null : this.#many(length)
      }
      case '%':
        return this.#many(2 * this.#count())
      case '+':
        return this.#line()
      case ',':
      case '(':
        return Buffer.from(this.#line())
      case '_':
        this.#line()
        return null
      case '#':
        return this.#line() === 't' ? 1 : 0
      case '=':
        return this.#bulk(this.#count()).subarray('txt:'.length)
      case '-':
        // inside of an array, an error is one of its elements
        return `-${this.#line()}`
      default:
        throw new TypeError(`this is not RESP: ${type}`)
    }
  }

  #many(length: number): Reply[] {
    const values: Reply[] = []
    for (let i = 0; i < length; i++) values.push(this.#value(this.#type()))
    return values
  }

  #type(): string {
    const code = this.#bytes[this.#at++]
    if (code === undefined) throw SHORT
    return String.fromCharCode(code)
  }

  #count(): number {
    const bytes = this.#bytes
    let at = this.#at
    const isNegative = bytes[at] === MINUS
    if (isNegative) at++
    let count = 0
    for (; ; at++) {
      const code = bytes[at]
      if (code === undefined) throw SHORT
      if (code === CR) break
      count = count * 10 + code - DIGIT
    }
    if (at + 1 >= bytes.length) throw SHORT
    this.#at = at + 2
    return isNegative ? -count : count
  }

  #line(): string {
    const end = this.#bytes.indexOf(CR, this.#at)
    if (end < 0 || end + 1 >= this.#bytes.length) throw SHORT
    const line = this.#bytes.toString('utf8', this.#at, end)
    this.#at = end + 2
    return line
  }

  /** A copy: who keeps it keeps no more than that. */
  #bulk(length: number): Buffer {
    const end = this.#at + length
    if (end + 2 > this.#bytes.length) throw SHORT
    const bulk = Buffer.from(this.#bytes.subarray(this.#at, end))
    this.#at = end + 2
    return bulk
  }
}
