/** Runs with real processes that are wrong on purpose: their judges find it. And a soak from beginning to end. */

import { expect, test } from 'vitest'
import { finish } from './samples.ts'

const FILE = ['faults/run.ts', '--tasks', '40', '--kills', '1']
const REDIS = ['faults/redis/run.ts', '--tasks', '60', '--kills', '1', '--redis-kills', '0', '--only', 'none']
const KILLED = ['faults/redis/run.ts', '--tasks', '200', '--kills', '4', '--redis-kills', '5', '--only', 'none']

test.for<readonly [wrong: string, said: RegExp, words: readonly string[]]>([
  ['no-lease', /✗ tasks leased to two at once/, FILE],
  ['no-key', /✗ effects per intent/, FILE],
  ['no-lease', /✗ H4 tasks leased to two at once/, REDIS],
  ['no-key', /✗ effects per intent/, REDIS],
  ['no-limit', /✗ H8 leases at once/, REDIS],
  ['no-wait', /✗ H10 leased before its wait was over/, REDIS],
  ['no-file', /✗ lost/, KILLED],
])('--break %s is found out: %s', { timeout: 90_000 }, async ([wrong, said, [program = '', ...words]]) => {
  const { code, output } = await finish(program, [...words, '--break', wrong])
  expect(output).toMatch(said)
  expect(code).toBe(1)
})

test('a wrong option is named without a stack', async () => {
  expect(await finish('faults/run.ts', ['--kills', 'many'])).toEqual({
    code: 1,
    output: "faults: --kills: expected a whole number from 0 to 100000, got 'many'\n",
  })
})

test('in a soak four processes deliver all once, and say over time what they need', { timeout: 60_000 }, async () => {
  const { code, output } = await finish('soak/run.ts', ['--seconds', '3', '--per-second', '40'])
  expect(output).toMatch(/RSS MiB .*late p99/)
  expect(output.split('\n').filter((line) => /^ +[123]\.0 +\d/.test(line))).toHaveLength(3)
  expect(output).toMatch(/✓ lost +0/)
  expect(code).toBe(0)
})
