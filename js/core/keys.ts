/**
 * The core's second module: keys made of the content, with its canonical JSON, SHA-256 for hosts without, and what only `redrive/core` asks.
 *
 * One instance serves every queue of the page. One that traps is dropped, since nothing of it is safe to call again, and another
 * is made: what was asked of it fails typed, and what comes next is answered.
 */

import { RedriveError } from '../api/errors.ts'
import type { KeyMaterial, KeyScope } from '../call/material.ts'
import { bare } from '../call/read-fetch.ts'
import { errorText } from '../platform/error-text.ts'
import { ContentKeys } from './content-keys.ts'
import type * as Glue from './generated/keys/glue.js'
import { bindGlue } from './instance.ts'
import { Scratch } from './scratch.ts'

/** SHA-256 of the bytes: 64 hex digits, at once. */
export type Digest = (bytes: Uint8Array) => string

/** Below so many characters or bytes of a body the core has the key before the host could be asked. */
const WORTH_ASKING = 512

const decoder = new TextDecoder()

export class Keys {
  readonly #glue: typeof Glue
  readonly #module: WebAssembly.Module
  /** The host's own SHA-256, where it has one that answers at once. What is hashed is the core's, byte for byte. */
  readonly #digest: Digest | undefined
  #bound: Bound | undefined
  #trapped = false
  #starting: Promise<void> | undefined

  constructor(glue: typeof Glue, module: WebAssembly.Module, digest?: Digest) {
    this.#glue = glue
    this.#module = module
    this.#digest = digest
  }

  /** Resolves when there is an instance to ask; until then every question throws `CORE_TRAPPED`. Rejects where none can be made. */
  get ready(): Promise<void> {
    this.#starting ??= this.#start().catch((error) => {
      this.#starting = undefined
      throw error
    })
    return this.#starting
  }

  /** 64 hex digits. */
  contentKey(
    { method, url, contentType, body }: KeyMaterial,
    { principal, scope, nonce, scopeKey = '' }: KeyScope,
  ): string {
    const parts = [method, url, contentType, principal ?? '', scope, nonce, scopeKey, body]
    const hash: Hash = (lengths, framed) => this.#glue.content_key(lengths, principal !== null, framed)
    // an HMAC is the core's: its secret stays there
    return this.#hex(parts, hash, scopeKey.length > 0 ? '' : body)
  }

  /** For a queue. */
  ofContent(windowMs: number): ContentKeys {
    return new ContentKeys(this, windowMs)
  }

  /** A key without a scope: whether two requests are one where JSON in another order is the same. */
  fingerprint({ method, url, contentType, body }: KeyMaterial): string {
    return this.#hex([method, url, contentType, body], this.#glue.fingerprint, body)
  }

  /** SHA-256 in hex, for a host that has none. */
  sha256(bytes: Uint8Array): string {
    return this.answer(({ scratch }) => this.#glue.sha256(scratch.all([bytes])[0] ?? 0))
  }

  /** The URL is the second part. The host is asked where `body` is worth it. */
  #hex(parts: readonly (string | Uint8Array)[], hash: Hash, body: string | Uint8Array): string {
    const digest = body.length < WORTH_ASKING ? undefined : this.#digest
    const hex = this.answer(({ scratch }) => hash(scratch.all(parts), !!digest), digest)
    if (hex === '') throw new TypeError(`expected an absolute http(s) URL, got '${bare(parts[1] as string)}'`)
    return hex
  }

  /** The bytes that the module leaves behind, by their length: a text, or, with a digest, what that is to be made of. */
  answer(question: Question<number>, digest?: Digest): string {
    return this.ask((bound) => {
      const length = question(bound)
      const bytes = new Uint8Array(bound.memory.buffer, this.#glue.answer_at(), length)
      return digest && length > 0 ? digest(bytes) : decoder.decode(bytes)
    })
  }

  /** Puts a question to the module. Throws `CORE_TRAPPED` while there is none. */
  ask<T>(question: Question<T>): T {
    const bound = this.#bound
    if (!bound) throw trapped('before')
    try {
      return question(bound)
    } catch (error) {
      // the module's own words, given and not trapped
      const word = /^(.*)\|(\d+)$/s.exec((error as Error).message)
      if (word) throw new SyntaxError(`text: ${word[1]}, at byte ${word[2]}`)
      this.#bound = this.#starting = undefined
      this.#trapped = true
      // the glue keeps views of this memory: they end with its buffer
      bound.memory.grow(0)
      // who asks next hears of a failure
      this.ready.catch(() => {})
      throw trapped(errorText(error), error)
    }
  }

  async #start(): Promise<void> {
    const { memory } = (await bindGlue(this.#glue, this.#module, 'keys', this.#trapped)) as {
      readonly memory: WebAssembly.Memory
    }
    this.#bound = { glue: this.#glue, memory, scratch: new Scratch(memory, this.#glue.scratch) }
  }
}

interface Bound {
  readonly glue: typeof Glue
  readonly memory: WebAssembly.Memory
  readonly scratch: Scratch
}

type Hash = (lengths: Uint32Array | number[], framed: boolean) => number

type Question<T> = (bound: Bound) => T

const trapped = (why: string, cause?: unknown): RedriveError =>
  new RedriveError('CORE_TRAPPED', `the module of keys stopped (${why}): ask again`, { cause })

export async function bindKeys(glue: typeof Glue, module: WebAssembly.Module, digest?: Digest): Promise<Keys> {
  const keys = new Keys(glue, module, digest)
  await keys.ready
  return keys
}
