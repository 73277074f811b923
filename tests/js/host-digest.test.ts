/** Keys by the host's SHA-256 are the keys of the core. */

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { expect, test, vi } from 'vitest'
import { bindGlue } from '../../js/core/instance.ts'
import { bindKeys, type Keys } from '../../js/core/keys.ts'
import { Scratch } from '../../js/core/scratch.ts'
import { hostDigest } from '../../js/platform/host-digest.ts'
import { vectors } from './vectors.ts'

interface KeyRow {
  readonly name: string
  readonly method: string
  readonly url: string
  readonly contentType?: string
  readonly body?: string
  readonly bodyHex?: string
  readonly principal?: string | null
  readonly scope?: string
  readonly nonce?: string
  readonly scopeKey?: string
  readonly key?: string
  readonly fingerprint?: string
}

const module = await WebAssembly.compile(readFileSync('js/core/generated/keys/keys.wasm'))
/** Glue of its own for each instance: it keeps views of one memory. */
const freshGlue = () => {
  vi.resetModules()
  return import('../../js/core/generated/keys/glue.js')
}
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

test('what the host is given has the digest that each row asks for', async () => {
  const glue = await freshGlue()
  const { memory } = (await bindGlue(glue, module, 'keys')) as { readonly memory: WebAssembly.Memory }
  const scratch = new Scratch(memory, glue.scratch)
  const digest = (length: number) => sha256(new Uint8Array(memory.buffer, glue.answer_at(), length))
  const rows = vectors<KeyRow>('keys').filter(({ key, scopeKey }) => key !== undefined && !scopeKey)
  expect(rows.length).toBeGreaterThan(50)
  for (const { name, method, url, contentType = '', principal = null, scope = '', nonce = '', ...row } of rows) {
    const body = row.body ?? new Uint8Array(Buffer.from(row.bodyHex ?? '', 'hex'))
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
    return sha256(bytes)
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

test('Node has a digest that answers at once; a host without process has none', () => {
  expect(hostDigest()?.(new TextEncoder().encode('abc'))).toBe(sha256(new TextEncoder().encode('abc')))
  vi.stubGlobal('process', undefined)
  expect(hostDigest()).toBeUndefined()
  vi.unstubAllGlobals()
})
