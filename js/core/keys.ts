/** The core's second module: SHA-256 keys of requests, canonical JSON, and what only `redrive/core` asks. */

import { bare } from '../call/read-fetch.ts'
import type * as Glue from './generated/keys/glue.js'
import { bindGlue } from './instance.ts'
import { Scratch } from './scratch.ts'

/** The parts of a request that a key is made of. */
export interface KeyMaterial {
  readonly method: string
  /** Absolute, http(s). */
  readonly url: string
  readonly contentType: string
  readonly body: string | Uint8Array
}

const decoder = new TextDecoder()
/** Lone surrogates, which TextEncoder would silently replace. */
const LONE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/

export class Keys {
  readonly #glue: typeof Glue
  readonly #scratch: Scratch
  readonly #memory: WebAssembly.Memory

  constructor(glue: typeof Glue, memory: WebAssembly.Memory) {
    this.#glue = glue
    this.#memory = memory
    this.#scratch = new Scratch(memory, glue.scratch)
  }

  /** 64 hex digits. */
  contentKey({ method, url, contentType, body }: KeyMaterial, scope: string, nonce: string): string {
    const lengths = this.#scratch.all([method, url, contentType, scope, nonce, body])
    return this.#hex(this.#glue.content_key(lengths), url)
  }

  /** A key without scope and nonce: whether two requests are one. */
  fingerprint({ method, url, contentType, body }: KeyMaterial): string {
    const lengths = this.#scratch.all([method, url, contentType, body])
    return this.#hex(this.#glue.fingerprint(lengths), url)
  }

  /** RFC 8785. */
  canonicalJson(text: string): string {
    return this.#answer(this.#canonical(text))
  }

  /** 0 ENQUEUE, 1 FAIL_FAST, 2 CIRCUIT_OPEN. `circuit`: 0 closed, 1 open, 2 half-open. */
  evaluateRetryStatus(
    status: number,
    circuit: number,
    retryCount: number,
    maxRetries: number,
    codes: readonly number[],
  ): number {
    return this.#glue.evaluate_retry_status(status, circuit, retryCount, maxRetries, Uint16Array.from(codes))
  }

  /** `12.5s` in ms; NaN if it is no duration. */
  parseDuration(text: string): number {
    return this.#glue.parse_duration(this.#scratch.text(text))
  }

  /** SHA-256 in hex: for the standard's published examples. */
  sha256(bytes: Uint8Array): string {
    const [length = 0] = this.#scratch.all([bytes])
    return this.#answer(this.#glue.sha256(length))
  }

  #canonical(text: string): number {
    const wellFormed = (text as { isWellFormed?(): boolean }).isWellFormed?.() ?? !LONE.test(text)
    if (!wellFormed) throw new SyntaxError('text: a surrogate stands alone in it')
    try {
      return this.#glue.canonical_json(this.#scratch.text(text))
    } catch (error) {
      const [what, at] = (error as Error).message.split('|')
      throw new SyntaxError(`text: ${what}, at byte ${at}`)
    }
  }

  #hex(length: number, url: string): string {
    if (length === 0) throw new TypeError(`expected an absolute http(s) URL, got '${bare(url)}'`)
    return this.#answer(length)
  }

  #answer(length: number): string {
    return decoder.decode(new Uint8Array(this.#memory.buffer, this.#glue.answer_at(), length))
  }
}

export async function bindKeys(glue: typeof Glue, module: WebAssembly.Module): Promise<Keys> {
  const { memory } = (await bindGlue(glue, module, 'keys')) as { readonly memory: WebAssembly.Memory }
  return new Keys(glue, memory)
}
