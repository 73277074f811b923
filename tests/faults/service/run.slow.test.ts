/** Short runs with real processes on both stores, and runs that are wrong on purpose, which must be found out. */

import { describe, expect, test } from 'vitest'
import { finish as finished } from '../samples.ts'

/** Twice what a run takes on two busy cores. */
const TIMEOUT_MS = 120_000

const finish = (...args: string[]) => finished('faults/service/run.ts', args)

describe('nothing is lost, and no effect comes twice, while processes are killed, stopped and told to end', () => {
  const short = '--processes 2 --tasks 80 --kills 2 --stops 1 --drains 1 --farewells 0'.split(' ')

  test.each(['sqlite', 'redis'])('on %s', { timeout: TIMEOUT_MS }, async (store) => {
    const { code, output } = await finish('--store', store, ...short)
    // a summary has room for the laws that were broken, and not for all that was said
    expect(output.match(/✗.*(?:\n {4}.*)*/g) ?? []).toEqual([])
    expect(output).toMatch(/All of it holds/)
    expect(code).toBe(0)
  })
})

describe('a run that is wrong on purpose is found out', () => {
  const small = ['--processes', '2', '--stops', '0', '--drains', '0']

  test.each([
    ['sqlite', 'forgets-posts', /✗ lost/, { tasks: 60, kills: 1 }],
    ['sqlite', 'new-keys', /✗ H6 another key than its client gave/, { tasks: 60, kills: 1 }],
    ['sqlite', 'ignores-pauses', /✗ H9 sent while its origin was paused/, { tasks: 60, kills: 1 }],
    // a kill has to fall between two steps
    ['sqlite', 'tells-first', /✗ H13 ends that were not told/, { tasks: 80, kills: 3 }],
    ['redis', 'no-file', /✗ lost/, { tasks: 60, kills: 1 }],
  ])('on %s: %s', { timeout: TIMEOUT_MS }, async (store, name, said, { tasks, kills }) => {
    const size = ['--tasks', `${tasks}`, '--kills', `${kills}`]
    const { code, output } = await finish('--store', store, ...small, ...size, '--break', name)
    expect(output).toMatch(said)
    expect(code).toBe(1)
  })
})

test.each([
  ['--kills', 'many', "--kills: expected a whole number from 0 to 10000, got 'many'"],
  ['--store', 'memory', "--store: expected sqlite, redis, got 'memory'"],
  ['--redis-kills', '1', '--redis-kills: expected 0 without --store redis'],
  ['--break', 'nothing', '--break: expected no-key, no-file'],
])('%s %s is refused, with what was expected', async (name, value, said) => {
  const { code, output } = await finish(name, value)
  expect({ code, output }).toMatchObject({ code: 1, output: expect.stringContaining(said) })
})
