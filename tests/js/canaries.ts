/** Secrets that can be told from everything else, and a search for them in whatever form they may have been written. */

import { randomBytes } from 'node:crypto'

export const SHAPES = ['base64url', 'hex', 'jwt', 'basic', 'bearer', 'words'] as const
export type Shape = (typeof SHAPES)[number]

export interface Canary {
  /** Its number, and where it was put. */
  readonly slot: string
  /** As it was put there. */
  readonly value: string
  /** The parts of it that nobody could guess: any one of them found is a leak. */
  readonly parts: readonly string[]
}

const WORDS =
  'amber bishop candle dragon ember falcon garnet harbor island jigsaw kettle lantern marble nectar onyx'.split(' ')

interface Needle {
  readonly needle: Buffer
  readonly name: string
}

const KEY_BYTES = 4

export class Canaries {
  readonly all: Canary[] = []
  readonly #index = new Map<number, Needle[]>()
  #indexed = 0
  /** Those that are to be sent. */
  readonly sent = new Set<Canary>()

  /** A new secret for `slot`; its shape is the next in turn unless it is given. */
  make(slot: string, shape: Shape = SHAPES[this.all.length % SHAPES.length] as Shape): string {
    const made = { slot: `${this.all.length + 1}. ${slot} (${shape})`, ...MAKERS[shape]() }
    this.all.push(made)
    return made.value
  }

  /** One that has to reach the server. */
  makeSent(slot: string, shape?: Shape): string {
    const value = this.make(slot, shape)
    this.sent.add(this.all.at(-1) as Canary)
    return value
  }

  /** Slots whose secret is among `bytes`, each with the form it was found in. */
  foundIn(bytes: Uint8Array): string[] {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    const found = new Set<string>()
    for (let at = 0; at + KEY_BYTES <= text.length; at++) {
      for (const { needle, name } of this.#needles().get(text.readUInt32LE(at)) ?? []) {
        if (text.compare(needle, 0, needle.length, at, Math.min(text.length, at + needle.length)) === 0) found.add(name)
      }
    }
    return [...found]
  }

  /** By their first bytes: there are thousands, and megabytes to look through. */
  #needles(): ReadonlyMap<number, readonly Needle[]> {
    for (const { slot, parts } of this.all.slice(this.#indexed)) {
      for (const part of parts) {
        for (const [form, needle] of Object.entries(formsOf(part))) {
          const key = needle.readUInt32LE(0)
          const same = this.#index.get(key) ?? []
          same.push({ needle, name: `${slot} as ${form}` })
          this.#index.set(key, same)
        }
      }
    }
    this.#indexed = this.all.length
    return this.#index
  }
}

const MAKERS: Record<Shape, () => Pick<Canary, 'value' | 'parts'>> = {
  base64url: () => whole(randomBytes(30).toString('base64url')),
  hex: () => whole(randomBytes(24).toString('hex')),
  jwt: () => {
    const [header, payload] = [{ alg: 'HS256' }, { sub: randomBytes(12).toString('hex') }].map((part) =>
      Buffer.from(JSON.stringify(part)).toString('base64url'),
    ) as [string, string]
    const signature = randomBytes(32).toString('base64url')
    return { value: `${header}.${payload}.${signature}`, parts: [payload, signature] }
  },
  basic: () => {
    const password = randomBytes(15).toString('base64url')
    const both = Buffer.from(`kim:${password}`).toString('base64')
    return { value: `Basic ${both}`, parts: [both, password] }
  },
  bearer: () => {
    const token = randomBytes(24).toString('base64url')
    return { value: `Bearer ${token}`, parts: [token] }
  },
  words: () =>
    whole([...randomBytes(6)].map((byte) => WORDS[byte % WORDS.length]).join('-') + randomBytes(3).readUIntBE(0, 3)),
}

function whole(value: string): Pick<Canary, 'value' | 'parts'> {
  return { value, parts: [value] }
}

/** What a text looks like in bytes. In base64 it depends on how many bytes come before it, and its first and last letter on its neighbours. */
export function formsOf(text: string): Record<string, Buffer> {
  const bytes = Buffer.from(text)
  const forms: Record<string, Buffer> = {
    'utf-8': bytes,
    'utf-16le': Buffer.from(text, 'utf16le'),
    hex: Buffer.from(bytes.toString('hex')),
    HEX: Buffer.from(bytes.toString('hex').toUpperCase()),
  }
  for (const before of [0, 1, 2]) {
    const padded = Buffer.concat([Buffer.alloc(before), bytes])
    const inner = (encoded: string) =>
      Buffer.from(encoded.slice(Math.ceil((before * 4) / 3), Math.floor((padded.length * 4) / 3)))
    forms[`base64, ${before} before`] = inner(padded.toString('base64'))
    forms[`base64url, ${before} before`] = inner(padded.toString('base64url'))
  }
  return forms
}
