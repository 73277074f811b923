/** Picks the parts of a request that may be shown, and one day stored. The core has the lists and says which. */

import type { SanitizeOptions } from '../options/sanitize.ts'
import { errorText, unsaid } from '../platform/error-text.ts'
import { utf8 } from '../platform/utf8.ts'
import { HEADER_DROPPED, HEADER_KEPT, HEADER_UNKNOWN } from './codes.ts'
import type { Engine } from './engine.ts'
import { HeaderNames } from './header-names.ts'

export interface Sanitized {
  readonly headers: Record<string, string>
  /** Names of what carries, or may carry, a credential. */
  readonly withheld: readonly string[]
  /** Names that are on no list. */
  readonly unknown: readonly string[]
}

const decoder = new TextDecoder()

/** Stands for a secret of a URL where that is shown. */
export const REDACTED = 'REDACTED'
/** In front of a path that is looked at by itself. */
const HOST = 'http://h'
/** Characters of an error's text. */
const SHOWN = 1_000
/** Characters that would end the header (RFC 9110, 5.5), or are no byte. */
const UNSENDABLE = /[\r\n\0\u0100-\uffff]/

/** @internal */
export class Sanitizer {
  readonly #engine: Engine
  readonly #names: HeaderNames
  /** By the built-in rules alone. */
  readonly #plain: HeaderNames
  readonly #keepsUrls: boolean
  /** The URL that was looked at last, and what may be shown of it: tasks of one kind come in rows. */
  #last: readonly [url: string, shown: string] = ['', '']

  constructor(engine: Engine, { persistHeaders = [], denyHeaders = [], urlSecrets }: SanitizeOptions) {
    this.#engine = engine
    this.#keepsUrls = urlSecrets === 'keep'
    this.#names = new HeaderNames(engine, persistHeaders, denyHeaders)
    this.#plain = new HeaderNames(engine)
  }

  /** Names in lower case, values of one name joined. Throws on what HTTP does not allow; the message names no value. */
  headers(given: Iterable<readonly [string, string]>, by: HeaderNames = this.#names): Sanitized {
    const { scratch, glue } = this.#engine
    const names: string[] = []
    const values: string[] = []
    let all = ''
    for (const [name, value] of given) {
      names.push(name)
      values.push(value)
      all += value
    }
    if (names.length === 0) return { headers: {}, withheld: [], unknown: [] }
    const verdicts = by.verdicts(names)
    // each looked at only if one of them all gives cause
    if (UNSENDABLE.test(all)) {
      const name = names[values.findIndex((value) => UNSENDABLE.test(value))]
      throw new TypeError(`headers: the value of '${name}' holds CR, LF, NUL or a character that is no byte`)
    }
    const kept = values.filter((_, i) => verdicts[i]?.kind === HEADER_KEPT)
    const secrets = glue.secret_values(scratch.text(kept.join('\n'))) && scratch.answer(kept.length)
    const headers: Record<string, string> = {}
    const withheld = new Set<string>()
    const unknown = new Set<string>()
    let looked = 0
    for (let i = 0; i < values.length; i++) {
      const { name, kind } = verdicts[i] as (typeof verdicts)[number]
      if (kind === HEADER_KEPT && (!secrets || secrets[looked++] === 0)) {
        const value = Object.hasOwn(headers, name) ? `${headers[name]}, ${values[i]}` : (values[i] as string)
        // an assignment would make no header of it
        if (name === '__proto__') Object.defineProperty(headers, name, { value, configurable: true, enumerable: true })
        else headers[name] = value
      } else if (kind === HEADER_UNKNOWN) unknown.add(name)
      else if (kind !== HEADER_DROPPED) withheld.add(name)
    }
    // the half of a header is another header
    if (secrets) for (const name of withheld) delete headers[name]
    return { headers, withheld: [...withheld], unknown: [...unknown] }
  }

  /** Whether a store may have been given these headers: names that only another's `persistHeaders` knows may be among them. */
  mayBeStored(headers: Readonly<Record<string, string>>): boolean {
    const { headers: kept, unknown } = this.headers(Object.entries(headers), this.#plain)
    return Object.keys(headers).every((name) => Object.hasOwn(kept, name) || unknown.includes(name))
  }

  /** The URL as it may be shown: `REDACTED` in place of what looks like a secret in it, unless asked to keep it. */
  url(url: string): string {
    if (this.#keepsUrls) return url
    if (this.#last[0] === url) return this.#last[1]
    const { scratch, glue } = this.#engine
    const size = scratch.text(url)
    // ranges are of bytes, which are characters in what URL.href gives
    const bytes = size === url.length ? null : utf8(url)
    const cut = (from: number, to: number) => (bytes ? decoder.decode(bytes.subarray(from, to)) : url.slice(from, to))
    const found = glue.url_secrets(size)
    let shown = ''
    let from = 0
    for (let i = 0; i < found.length; i += 3) {
      shown += cut(from, found[i + 1] as number) + REDACTED
      from = found[i + 2] as number
    }
    this.#last = [url, shown + cut(from, size)]
    return this.#last[1]
  }

  /** The URL without the secrets that can be taken out of it; one in its path cannot, and `url` shows that it is there. */
  strip(url: string): string {
    const { scratch, glue } = this.#engine
    return decoder.decode(scratch.answer(glue.strip_secrets(scratch.text(new URL(url).href))))
  }

  /** The secrets in a URL, as they stand there and decoded. */
  secretsIn(url: string): readonly string[] {
    if (this.#keepsUrls) return []
    const { scratch, glue } = this.#engine
    const bytes = utf8(url)
    const found = glue.url_secrets(scratch.text(url))
    const secrets: string[] = []
    for (let i = 0; i < found.length; i += 3) {
      const secret = decoder.decode(bytes.subarray(found[i + 1], found[i + 2]))
      secrets.push(secret, new URLSearchParams(`_=${secret}`).get('_') as string)
    }
    return secrets
  }

  /** The text of an error as it may be logged, cut: transports quote URLs, hooks their arguments, and servers what they like. */
  message(error: unknown, secrets: readonly string[] = []): string {
    // twice what is shown, so that a secret that begins in it is found as a whole
    const all = errorText(error).slice(0, 2 * SHOWN)
    const text = this.#withoutUrlSecrets(all)
    // a text may quote a request as it went over the wire, or JSON within JSON
    const once = unescaped(text)
    const hidden = secrets.map(withoutBackslashes)
    const isIn = (plain: string) => this.#tells(plain, hidden) || this.#withoutUrlSecrets(plain) !== plain
    const tells = this.#tells(text, secrets) || isIn(once) || isIn(unescaped(once))
    if (text.length <= SHOWN) return tells ? unsaid(error) : text
    // half of a word may be half of a secret
    const end = text.lastIndexOf(' ', SHOWN)
    return tells || end <= 0 ? unsaid(error) : `${text.slice(0, end)} …`
  }

  /** The text with its URLs as they may be shown, and the paths that stand by themselves in it. */
  #withoutUrlSecrets(text: string): string {
    const whole = text.replace(/\b[a-z][a-z\d+.-]{0,15}:\/\/[^\s"'<>`]+/gi, (url) => this.url(url))
    return whole.replace(
      /(^|[\s"'<>`])(\/[^\s"'<>`]+)/g,
      (_, before, path) => before + this.url(HOST + path).slice(HOST.length),
    )
  }

  #tells(text: string, secrets: readonly string[]): boolean {
    const { scratch, glue } = this.#engine
    const isNamed = glue.tells_secret(scratch.text(text.replace(/\s+/g, ' ')))
    return isNamed || secrets.some((secret) => text.includes(secret.slice(0, SHOWN)))
  }

  free(): void {
    this.#plain.free()
    this.#names.free()
  }
}

/** Percent-encoding and backslashes undone. Bytes that are no text are left as they are. */
function unescaped(text: string): string {
  const plain = text.replaceAll('+', ' ').replace(/(?:%[\da-f]{2})+/gi, (bytes) => {
    try {
      return decodeURIComponent(bytes)
    } catch {
      return bytes
    }
  })
  return withoutBackslashes(plain)
}

/** JSON's escapes undone, as far as they matter here. */
const withoutBackslashes = (text: string): string =>
  text.replace(/\\u([\da-f]{4})/gi, (_, code) => String.fromCharCode(Number.parseInt(code, 16))).replaceAll('\\', '')
