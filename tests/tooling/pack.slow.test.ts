import { readFileSync } from 'node:fs'
import { expect, test, vi } from 'vitest'
import { unpack } from '../../js/core/unpack.ts'
import { pack } from '../../scripts/build/pack.mjs'

/** Bytes that repeat only after 2^32 of them. */
function noise(length: number): Uint8Array {
  let state = 1
  return Uint8Array.from({ length }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0
    return state >>> 24
  })
}
const generated = (file: string) => readFileSync(new URL(`../../js/core/generated/${file}`, import.meta.url))

test.each([
  ['nothing', new Uint8Array()],
  ['a header alone', Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0)],
  ['zeros', new Uint8Array(20_000)],
  ['ones', new Uint8Array(20_000).fill(255)],
  ['noise', noise(20_000)],
  ['noise where the code is', Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0, 10, 0xc0, 0x3e, 1, ...noise(8_000), 1, 2, 3)],
  ['a section that is longer than the file', Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0, 10, 255, 255, 3, 1, 11, 11)],
  ['the queue', generated('queue/queue.wasm')],
  ['the keys', generated('keys/keys.wasm')],
])('%s comes out as it was packed', async (_, bytes) => {
  expect(Buffer.from(await unpack(await pack(bytes))).equals(bytes)).toBe(true)
})

test('a host without messages, such as Jest’s jsdom, unpacks all the same', async () => {
  const bytes = noise(20_000)
  const packed = await pack(bytes)
  vi.stubGlobal('MessageChannel', undefined)
  try {
    expect(await unpack(packed)).toEqual(bytes)
  } finally {
    vi.unstubAllGlobals()
  }
})

test('texts of every short length come out as they were packed', async () => {
  for (let length = 0; length < 40; length++) {
    const bytes = noise(length)
    expect(await unpack(await pack(bytes))).toEqual(bytes)
  }
})

test('a packed module is at most four fifths of its gzip', async () => {
  const { gzipSync } = await import('node:zlib')
  for (const file of ['queue/queue.wasm', 'keys/keys.wasm']) {
    const wasm = generated(file)
    const [base64] = await pack(wasm)
    expect(Buffer.from(base64, 'base64').length).toBeLessThan(gzipSync(wasm, { level: 9 }).length * 0.8)
  }
})
