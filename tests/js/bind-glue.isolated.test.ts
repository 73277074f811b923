/** Glue serves one instance at a time: a second one would answer the first one's questions from its own memory. */

import { readFileSync } from 'node:fs'
import { expect, test, vi } from 'vitest'
import { bind } from '../../js/core/engine.ts'
import { bindKeys } from '../../js/core/keys.ts'

const moduleOf = (name: string) => WebAssembly.compile(readFileSync(`js/core/generated/${name}/${name}.wasm`))
const REQUEST = { method: 'POST', url: 'https://api.test/a', contentType: '', body: 'a' }
const IN_USE = /^glue in use: import it again$/

test('keys refuse glue that other keys use, which go on', async () => {
  vi.resetModules()
  const glue = await import('../../js/core/generated/keys/glue.js')
  const module = await moduleOf('keys')
  const keys = await bindKeys(glue, module)
  const before = keys.fingerprint(REQUEST)
  const second = bindKeys(glue, module)
  await expect(second).rejects.toThrow(TypeError)
  await expect(second).rejects.toThrow(IN_USE)
  expect(keys.fingerprint(REQUEST)).toBe(before)
})

test('of two that bind one glue at once, one is refused', async () => {
  vi.resetModules()
  const glue = await import('../../js/core/generated/keys/glue.js')
  const module = await moduleOf('keys')
  const both = await Promise.allSettled([bindKeys(glue, module), bindKeys(glue, module)])
  expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
})

test('the core refuses glue that a core uses, which goes on', async () => {
  vi.resetModules()
  const glue = await import('../../js/core/generated/queue/glue.js')
  const module = await moduleOf('queue')
  const { scratch } = await bind(glue, module)
  await expect(bind(glue, module)).rejects.toThrow(IN_USE)
  expect(scratch.text('a text')).toBe(6)
  expect(new TextDecoder().decode(scratch.answer(6))).toBe('a text')
})
