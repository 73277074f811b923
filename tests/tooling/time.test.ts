import { expect, test } from 'vitest'
import { timeUses } from '../../scripts/check/time.mjs'

const usesOf = (code: string) => timeUses('js/a.ts', code)

test.for<readonly [string, string]>([
  ['setTimeout(wake, 10)', 'setTimeout'],
  ['globalThis.setInterval(wake, 10)', 'setInterval'],
  ['const { setTimeout } = globalThis', 'setTimeout'],
  ["import { setTimeout as pause } from 'node:timers/promises'", 'setTimeout'],
  ['const at: number = Date.now()', 'Date.now'],
  ['const read = globalThis.performance.now', 'performance.now'],
  ['fetch(url, { signal: AbortSignal.timeout(5_000) })', 'AbortSignal.timeout'],
  ['const at = new Date()', 'the Date of now'],
  ['const text = Date()', 'the Date of now'],
])('%s is a use of the time of the host', ([code, what]) => {
  expect(usesOf(`// one line\n${code}`)).toContain(`js/a.ts:2: ${what}`)
})

test.for([
  'clock.now() + systemClock.monotonic()',
  'new Date(endedAt).toISOString()',
  'Date.parse(text)',
  'socket.setTimeout(1_000)',
  'const options = { setTimeout: false }',
  '// Date.now() goes back at times',
  "const word = 'setTimeout'",
])('%s is not', (code) => {
  expect(usesOf(code)).toEqual([])
})
