/** Canonical JSON, URLs, keys and SHA-256, every row through the wasm; and keys by the host's SHA-256 are the same keys. */

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { hmac } from '@noble/hashes/hmac.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex } from '@noble/hashes/utils.js'
import { expect, onTestFinished, test, vi } from 'vitest'
import { bindGlue } from '../../js/core/instance.ts'
import { bindKeys, type Keys } from '../../js/core/keys.ts'
import { instantiateKeys } from '../../js/core/keys-file.ts'
import { Scratch } from '../../js/core/scratch.ts'
import { loadCore } from '../../js/core.ts'
import { digestOfHost, hostDigest } from '../../js/platform/host-digest.ts'
import { vectors } from './vectors.ts'

interface JsonRow {
  readonly name: string
  readonly text?: string
  readonly textHex?: string
  readonly canonical?: string
  readonly kind?: string
  readonly at?: number
}

interface KeyRow {
  readonly name: string
  readonly group?: string
  readonly method: string
  readonly url: string
  readonly contentType?: string
  readonly body?: string
  readonly bodyHex?: string
  readonly principal?: string | null
  readonly scope?: string
  readonly nonce?: string
  readonly scopeKey?: string
  /** What is hashed behind the tag. */
  readonly fields?: readonly string[]
  readonly key?: string
  readonly fingerprint?: string
  readonly error?: 'url' | 'method'
}

const core = await loadCore()
const keys = await instantiateKeys()
const unhex = (hex: string) => new Uint8Array(Buffer.from(hex, 'hex'))

/** What of a fault its message says; the words are the core's. */
const KINDS: Readonly<Record<string, RegExp>> = {
  BadEscape: /escape/,
  BadNumber: /number/,
  ByteOrderMark: /byte order mark/,
  ControlCharacter: /control character/,
  DuplicateName: /twice/,
  LoneSurrogate: /surrogate/,
  NumberTooLarge: /number/,
  TrailingData: /./,
  UnexpectedByte: /./,
  UnexpectedEnd: /end/,
}

/** As JSON of ECMAScript reads it; JCS has no minus zero. */
const meaning = (text: string) => JSON.parse(text, (_, value) => (value === 0 ? 0 : value))

const json = vectors<JsonRow>('canonical-json')

test('the only rows of canonical JSON that cannot cross are bytes that are no text', () => {
  const left = json.filter(({ text }) => text === undefined)
  expect(left.length).toBe(8)
  for (const { textHex = '' } of left) {
    expect(() => new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(unhex(textHex))).toThrow(TypeError)
  }
})

test('every text is canonical, as JSON of ECMAScript is, or a SyntaxError that says what and where', () => {
  for (const row of json) {
    if (row.text === undefined) continue
    const { text, canonical, kind = '', at } = row
    if (canonical !== undefined) {
      expect([row.name, core.canonicalJson(text)]).toEqual([row.name, canonical])
      expect([row.name, meaning(canonical)]).toEqual([row.name, meaning(text)])
      continue
    }
    let thrown: unknown
    try {
      core.canonicalJson(text)
    } catch (error) {
      thrown = error
    }
    expect(thrown, row.name).toBeInstanceOf(SyntaxError)
    const { message } = thrown as Error
    expect(message, row.name).toMatch(KINDS[kind] ?? /^$/)
    expect(message, row.name).toMatch(new RegExp(`^text: .*, at byte ${at}$`))
  }
})

const rows = vectors<KeyRow>('keys')
const bodyOf = ({ body = '', bodyHex }: KeyRow) => (bodyHex === undefined ? body : unhex(bodyHex))

test('every request has the key and fingerprint of its row', () => {
  for (const row of rows) {
    const { name, method, url, contentType = '', principal = null, scope = '', nonce = '', scopeKey, error } = row
    const material = { method, url, contentType, body: bodyOf(row) }
    const within = { principal, scope, nonce, scopeKey }
    if (error) {
      expect(() => keys.contentKey(material, within), name).toThrow(TypeError)
      expect(() => keys.fingerprint(material), name).toThrow(TypeError)
      continue
    }
    const got = [keys.contentKey(material, within), keys.fingerprint(material)]
    expect([name, ...got]).toEqual([name, row.key, row.fingerprint])
  }
})

test('generateIdempotencyKey gives the same keys, and names the argument that is wrong', () => {
  for (const row of rows) {
    const { name, method, url, contentType = '', error } = row
    const given = (['principal', 'scope', 'nonce', 'scopeKey'] as const).filter((part) => row[part] !== undefined)
    const within = Object.fromEntries(given.map((part) => [part, row[part]]))
    // a method of one's own has the letters it was given; those of HTTP are upper case on the wire
    const call = () => core.generateIdempotencyKey({ method, url, body: bodyOf(row), contentType, ...within })
    if (error) {
      expect(call, name).toThrow(new RegExp(`^request\\.${error}: expected `))
      expect(call, name).not.toThrow(/qty/)
    } else expect([name, call()]).toEqual([name, row.key])
  }
})

/** Each field as its length and its bytes. */
function framed({ bodyHex }: KeyRow, fields: readonly string[]): Uint8Array {
  const parts = fields.flatMap((field, i) => {
    const bytes = bodyHex !== undefined && i === 5 ? unhex(field) : utf8(field)
    const length = new DataView(new ArrayBuffer(8))
    length.setBigUint64(0, BigInt(bytes.length))
    return [...new Uint8Array(length.buffer), ...bytes]
  })
  return new Uint8Array(parts)
}

const utf8 = (text: string) => new TextEncoder().encode(text)

test('another implementation makes the same keys of the fields of a row', () => {
  let withSecret = 0
  for (const row of rows) {
    const { name, fields, scopeKey } = row
    if (!fields) continue
    const hashed = framed(row, ['redrive key 1', ...fields])
    const key = scopeKey ? hmac(sha256, utf8(scopeKey), hashed) : sha256(hashed)
    const fingerprint = sha256(framed(row, ['redrive fingerprint 1', ...fields.slice(0, 5)]))
    expect([name, bytesToHex(key), bytesToHex(fingerprint)]).toEqual([name, row.key, row.fingerprint])
    withSecret += scopeKey ? 1 : 0
  }
  expect(withSecret).toBeGreaterThan(5)
})

test('a secret in bytes makes the key of its text', () => {
  const request = { method: 'POST', url: 'https://api.test/', body: '1234' }
  const scopeKey = 'schlüsselschlüssel'
  const [text, bytes] = [scopeKey, utf8(scopeKey)].map((each) =>
    core.generateIdempotencyKey({ ...request, scopeKey: each }),
  )
  expect(text).toBe(bytes)
  expect(text).not.toBe(core.generateIdempotencyKey(request))
})

test('rows of one group have one key, rows of two groups have two', () => {
  const groups = new Map<string, Set<string>>()
  for (const { group, key } of rows) {
    if (!group || !key) continue
    groups.set(group, (groups.get(group) ?? new Set()).add(key))
  }
  expect([...groups.values()].map(({ size }) => size)).toEqual([...groups].map(() => 1))
  expect(new Set([...groups.values()].flatMap((set) => [...set])).size).toBe(groups.size)
})

const urls = vectors<{ url: string; normalized: string | null }>('urls')

/** `new URL(url).href` without user, password and fragment, escapes in capitals; null: not absolute, or not http(s). */
function byPlatform(text: string): string | null {
  let url: URL
  try {
    url = new URL(text)
  } catch {
    return null
  }
  if (!/^https?:$/.test(url.protocol)) return null
  url.username = ''
  url.password = ''
  url.hash = ''
  return url.href.replace(/%[\da-f]{2}/gi, (triple) => triple.toUpperCase())
}

test('what this platform makes of a URL is what the row says', () => {
  for (const { url, normalized } of urls) expect([url, byPlatform(url)]).toEqual([url, normalized])
})

test('SHA-256 gives the published digests', () => {
  for (const { name, msgHex, repeat = 1, digest } of vectors<{
    name: string
    msgHex: string
    repeat?: number
    digest: string
  }>('sha256')) {
    expect([name, keys.sha256(unhex(msgHex.repeat(repeat)))]).toEqual([name, digest])
  }
})

const module = await WebAssembly.compile(readFileSync('js/core/generated/keys/keys.wasm'))
/** Glue of its own for each instance: it keeps views of one memory. */
const freshGlue = () => {
  vi.resetModules()
  return import('../../js/core/generated/keys/glue.js')
}
const digestOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

test('what the host is given has the digest that each row asks for', async () => {
  const glue = await freshGlue()
  const { memory } = (await bindGlue(glue, module, 'keys')) as { readonly memory: WebAssembly.Memory }
  const scratch = new Scratch(memory, glue.scratch)
  const digest = (length: number) => digestOf(new Uint8Array(memory.buffer, glue.answer_at(), length))
  const hashed = rows.filter(({ key, scopeKey }) => key !== undefined && !scopeKey)
  expect(hashed.length).toBeGreaterThan(50)
  for (const { name, method, url, contentType = '', principal = null, scope = '', nonce = '', ...row } of hashed) {
    const body = row.body ?? unhex(row.bodyHex ?? '')
    const parts = [method, url, contentType, principal ?? '', scope, nonce, '', body]
    const key = digest(glue.content_key(scratch.all(parts), principal !== null, true))
    const fingerprint = digest(glue.fingerprint(scratch.all([method, url, contentType, body]), true))
    expect([name, key, fingerprint]).toEqual([name, row.key, row.fingerprint])
  }
})

const REQUEST = { method: 'POST', url: 'https://api.test/a', contentType: 'application/json' }
const SCOPE = { principal: 'ada', scope: 'shop', nonce: '1', scopeKey: undefined }
const LONG = JSON.stringify({ b: 0.1 + 0.2, a: 'é'.repeat(5_000), n: 9.993600000000001 })

test('keys with and without the host are one, and the host is asked about large bodies only', async () => {
  const bodies = ['', '[1]', 'x'.repeat(511), 'x'.repeat(512), LONG, new TextEncoder().encode(LONG)]
  const plain = await bindKeys(await freshGlue(), module)
  const keysOf = (keys: Keys) =>
    bodies.map((body) => [keys.contentKey({ ...REQUEST, body }, SCOPE), keys.fingerprint({ ...REQUEST, body })])
  const expected = keysOf(plain)
  let asked = 0
  const hosted = await bindKeys(await freshGlue(), module, (bytes) => {
    asked++
    return digestOf(bytes)
  })
  expect(keysOf(hosted)).toEqual(expected)
  expect(asked).toBe(6)
})

test('a key with a secret is made in the core', async () => {
  const keys = await bindKeys(await freshGlue(), module, () => 'the host')
  const key = keys.contentKey({ ...REQUEST, body: LONG }, { ...SCOPE, scopeKey: 'sixteen letters!' })
  expect(key).toMatch(/^[0-9a-f]{64}$/)
  expect(keys.contentKey({ ...REQUEST, body: LONG }, SCOPE)).toBe('the host')
})

test('a URL that is none is refused whoever hashes', async () => {
  const keys = await bindKeys(await freshGlue(), module, () => 'the host')
  expect(() => keys.contentKey({ ...REQUEST, url: 'mailto:a', body: LONG }, SCOPE)).toThrow(TypeError)
})

test('Node has a digest that answers at once; a host without process has the same behind a promise', async () => {
  const bytes = new TextEncoder().encode('abc')
  expect(digestOfHost()?.(bytes)).toBe(digestOf(bytes))
  vi.stubGlobal('process', undefined)
  onTestFinished(() => void vi.unstubAllGlobals())
  expect(hostDigest()).toBeUndefined()
  expect(await digestOfHost()?.(bytes)).toBe(digestOf(bytes))
})
