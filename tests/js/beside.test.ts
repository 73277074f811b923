import { expect, onTestFinished, test, vi } from 'vitest'
import { readBeside } from '../../js/core/beside.ts'
import packed from '../../js/core/generated/keys/packed.js'

const base = new URL('../../js/core/keys-file.ts', import.meta.url).href
const file = 'generated/keys/keys.wasm'
const length = packed[1]

test('a module is read from the file beside the code', () => {
  expect(readBeside(file, base, length)).toBeInstanceOf(WebAssembly.Module)
})

test.each([
  ['no such file', 'generated/keys/other.wasm', base, length],
  ['the file of another build', file, base, length + 1],
  ['a file that is no module', 'generated/codes.ts', base, length],
  ['code without an address, as CommonJS has it', file, undefined as unknown as string, length],
  ['code that was fetched', file, 'https://cdn.test/redrive.js', length],
])('%s: there is none', (_, name, from, bytes) => {
  expect(readBeside(name, from, bytes)).toBeUndefined()
})

test.each([
  ['without a file system', () => vi.stubGlobal('process', undefined)],
  ['in Deno, which would ask its user for the file', () => vi.stubGlobal('Deno', {})],
])('%s there is none', (_, stub) => {
  onTestFinished(() => void vi.unstubAllGlobals())
  stub()

  const found = readBeside(file, base, length)

  expect(found).toBeUndefined()
})
