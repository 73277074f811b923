/**
 * Secrets that can be told from everything else, and a search for them in whatever form they may have been written. They
 * can be made in a page too; the search is Node's.
 */

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
  /** Which pairs of bytes a needle begins with: most places in a file are told from one by that alone. */
  readonly #begins = new Uint8Array(2 ** 16)
  #indexed = 0
  /** Those that are to be sent. */
  readonly sent = new Set<Canary>()

  /** A new secret for `slot`; its shape is the next in turn unless it is given. */
  make(slot: string, shape: Shape = SHAPES[this.all.length % SHAPES.length] as Shape): string {
    const made = { slot: `${this.all.length + 1}. ${slot} (${shape})`, ...MAKERS[shape]() }
    this.all.push(made)
    return made.value
  }

  /** One of a form that its use asks for. `parts`: likewise as of any other. */
  keep(slot: string, value: string, parts: readonly string[] = [value]): string {
    this.all.push({ slot: `${this.all.length + 1}. ${slot} (own)`, value, parts })
    return value
  }

  /** One that has to reach the server. */
  makeSent(slot: string, shape?: Shape): string {
    const value = this.make(slot, shape)
    this.sent.add(this.all.at(-1) as Canary)
    return value
  }

  /** Takes over what was made elsewhere. */
  add(made: { readonly all: readonly Canary[]; readonly sent: Iterable<Canary> }): void {
    this.all.push(...made.all)
    for (const canary of made.sent) this.sent.add(canary)
  }

  /** Slots whose secret is among `bytes`, each with the form it was found in. */
  foundIn(bytes: Uint8Array): string[] {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    const found = new Set<string>()
    const needles = this.#needles()
    for (let at = 0; at + KEY_BYTES <= text.length; at++) {
      if (this.#begins[(text[at] as number) | ((text[at + 1] as number) << 8)] === 0) continue
      for (const { needle, name } of needles.get(text.readUInt32LE(at)) ?? []) {
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
          this.#begins[key & 0xffff] = 1
        }
      }
    }
    this.#indexed = this.all.length
    return this.#index
  }
}

const random = (length: number): Uint8Array => crypto.getRandomValues(new Uint8Array(length))
const base64 = (bytes: Uint8Array): string => btoa(String.fromCharCode(...bytes))
const base64url = (bytes: Uint8Array): string =>
  base64(bytes).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
const hex = (bytes: Uint8Array): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text)

const MAKERS: Record<Shape, () => Pick<Canary, 'value' | 'parts'>> = {
  base64url: () => whole(base64url(random(30))),
  hex: () => whole(hex(random(24))),
  jwt: () => {
    const [header, payload] = [{ alg: 'HS256' }, { sub: hex(random(12)) }].map((part) =>
      base64url(utf8(JSON.stringify(part))),
    ) as [string, string]
    const signature = base64url(random(32))
    return { value: `${header}.${payload}.${signature}`, parts: [payload, signature] }
  },
  basic: () => {
    const password = base64url(random(15))
    const both = base64(utf8(`kim:${password}`))
    return { value: `Basic ${both}`, parts: [both, password] }
  },
  bearer: () => {
    const token = base64url(random(24))
    return { value: `Bearer ${token}`, parts: [token] }
  },
  words: () =>
    whole([...random(6)].map((byte) => WORDS[byte % WORDS.length]).join('-') + Number.parseInt(hex(random(3)), 16)),
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
    'utf-16be': Buffer.from(text, 'utf16le').swap16(),
    hex: Buffer.from(bytes.toString('hex')),
    HEX: Buffer.from(bytes.toString('hex').toUpperCase()),
  }
  const percent = encodeURIComponent(text)
  if (percent !== text) forms.percent = Buffer.from(percent)
  for (const before of [0, 1, 2]) {
    const padded = Buffer.concat([Buffer.alloc(before), bytes])
    const inner = (encoded: string) =>
      Buffer.from(encoded.slice(Math.ceil((before * 4) / 3), Math.floor((padded.length * 4) / 3)))
    forms[`base64, ${before} before`] = inner(padded.toString('base64'))
    forms[`base64url, ${before} before`] = inner(padded.toString('base64url'))
  }
  return forms
}
