/** Keys made of the content: equal requests of one user within a window are one intent. With the module that makes them, since few queues have any. */

import type { KeyMaterial, KeyScope } from '../call/material.ts'

interface Keys {
  fingerprint(material: KeyMaterial): string
  contentKey(material: KeyMaterial, scope: KeyScope): string
}

/** Keys remembered, beside those of tasks: the oldest goes first. */
const MAX_RECENT = 10_000

export interface ContentKey {
  readonly key: string
  readonly fingerprint: string
}

export class ContentKeys {
  readonly #keys: Keys
  readonly #windowMs: number
  /** By fingerprint and principal. */
  readonly #recent = new Map<string, { readonly key: string; readonly at: number }>()

  constructor(keys: Keys, windowMs: number) {
    this.#keys = keys
    this.#windowMs = windowMs
  }

  of(material: KeyMaterial, scope: Omit<KeyScope, 'nonce'>, now: number): ContentKey {
    const fingerprint = this.#keys.fingerprint(material)
    const { principal } = scope
    // a fingerprint has one length, so that no two of these are one
    const whose = principal === null ? fingerprint : `${fingerprint} ${principal}`
    const last = this.#recent.get(whose)
    // the window begins with the first of them; between processes, which share no memory, at its multiples
    if (last !== undefined && now - last.at < this.#windowMs) return { key: last.key, fingerprint }
    const nonce = String(Math.floor(now / this.#windowMs))
    const key = this.#keys.contentKey(material, { ...scope, nonce })
    this.#remember(whose, key, now)
    return { key, fingerprint }
  }

  #remember(whose: string, key: string, at: number): void {
    this.#recent.delete(whose)
    this.#recent.set(whose, { key, at })
    if (this.#recent.size <= MAX_RECENT) return
    for (const oldest of this.#recent.keys()) {
      this.#recent.delete(oldest)
      return
    }
  }
}
