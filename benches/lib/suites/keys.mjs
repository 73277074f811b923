// The key of a request, made by the core and by what else computes SHA-256. All hash the same fields, each behind its
// length in 64 bits, and give 64 hexadecimal digits. The others are handed what the core works out by itself (normalized
// URL, class of the content type) and encode into a buffer that is kept, as the core's side does.

import { instantiate } from '../../../js/core/file.ts'
import { makeCore } from '../../../js/core/functions.ts'
import { instantiateKeys } from '../../../js/core/keys-file.ts'
import { Framing } from '../framing.mjs'
import { hashers } from '../hashers.mjs'

export const sizes = [100, 1_000, 10_000, 100_000, 1_000_000]
export const sizeNames = { 100: '100 B', 1000: '1 KB', 10000: '10 KB', 100000: '100 KB', 1000000: '1 MB' }

const encoder = new TextEncoder()

const METHOD = 'POST'
const URL = 'https://api.example.test/v1/orders?expand=lines'
const SCOPE = 'tenant-17'
const NONCE = '29833'
const TYPES = { text: 'text/plain', bytes: 'application/octet-stream' }

/** Prose with a character of two bytes now and then, cut at a number of bytes. */
function textOf(size) {
  const line = 'Order 4711 is to be delivered to the back door, please ring twice; 12.50 € are paid. '
  const bytes = encoder.encode(line.repeat(Math.ceil(size / line.length) + 1)).subarray(0, size)
  // a character cut in two would not survive as text
  return new TextDecoder().decode(bytes).replaceAll('\ufffd', '.')
}

/** What a careful caller does about the URL, which the other rows are spared. */
const normalized = (fields) => fields.with(2, new globalThis.URL(fields[2]).href)

export async function groups(env) {
  const [engine, keys, others] = await Promise.all([instantiate(), instantiateKeys(), hashers(env)])
  const core = makeCore(engine, keys)
  const framing = new Framing()
  const all = []
  for (const kind of ['text', 'bytes']) {
    for (const size of sizes) {
      const body = kind === 'text' ? textOf(size) : encoder.encode(textOf(size))
      const contentType = TYPES[kind]
      const material = { method: METHOD, url: URL, contentType, body }
      const request = { ...material, scope: SCOPE, nonce: NONCE }
      const fields = ['redrive key 1', METHOD, URL, contentType, 'raw', body, '', SCOPE, NONCE]
      all.push({
        name: `${kind} ${size}`,
        same: true,
        rounds: size < 1_000_000 ? 15 : 7,
        contestants: {
          'redrive, contentKey': () => keys.contentKey(material, { principal: null, scope: SCOPE, nonce: NONCE }),
          'redrive, generateIdempotencyKey': () => core.generateIdempotencyKey(request),
          ...Object.fromEntries(Object.entries(others).map(([name, hash]) => [name, () => hash(framing.of(fields))])),
          'hash-wasm, reused, with new URL': () => others['hash-wasm, reused'](framing.of(normalized(fields))),
          'redrive, SHA-256 alone': () => keys.sha256(framing.of(fields)),
        },
      })
    }
  }
  return all
}
