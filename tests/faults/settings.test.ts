/** What each kind of run can be asked for. */

import { describe, expect, test } from 'vitest'
import { readOptions as soak } from '../soak/options.ts'
import { readOptions as browsers } from './browser/options.ts'
import { help, readOptions as processes } from './options.ts'
import { readOptions as redis } from './redis/options.ts'
import { readOptions as workers } from './workers/options.ts'

describe('which runs of browsers are made', () => {
  const NONE = { killing: undefined, tabbing: undefined, takeovers: 0 }
  test.for<readonly [args: string, runs: object]>([
    ['', { killing: { kills: 12, tasks: 400 }, tabbing: { tabs: 4, seconds: 40 }, takeovers: 6 }],
    ['--browser firefox', { killing: { kills: 3, tasks: 100 }, tabbing: { tabs: 3, seconds: 20 }, takeovers: 0 }],
    ['--kills 100 --tasks 5000', { ...NONE, killing: { kills: 100, tasks: 5_000 } }],
    ['--tabs 10 --minutes 5', { ...NONE, tabbing: { tabs: 10, seconds: 300 } }],
    ['--takeovers 50', { ...NONE, takeovers: 50 }],
  ])('all, or only those whose options are given: %s', ([args, runs]) => {
    expect(browsers(args.split(' ').filter((word) => word !== ''))).toMatchObject(runs)
  })
})

test('where nothing is asked for, a run is short, and a soak lasts for 15 minutes', () => {
  expect(processes([])).toEqual({ tasks: 400, kills: 24, takeovers: 8, seed: 1, breaks: undefined })
  expect(workers([])).toEqual({ tasks: 240, kills: 5, seed: 1, break: undefined })
  expect(redis([])).toMatchObject({
    tasks: 400,
    kills: 24,
    'redis-kills': 3,
    failovers: 0,
    minutes: 0,
    fsync: 'always',
  })
  expect(soak([])).toEqual({ seconds: 900, perSecond: 200, failing: 20, processes: 4, seed: 1 })
})

test('a run that is wrong on purpose measures no takeovers', () => {
  expect(processes(['--break', 'no-key'])).toMatchObject({ takeovers: 0, breaks: 'no-key' })
})

test('with --help nothing is run, and each option has a line', () => {
  expect(processes(['--help'])).toBeUndefined()
  expect(help.match(/^ {2}--\w+/gm)).toEqual(
    ['tasks', 'kills', 'takeovers', 'seed', 'break', 'help'].map((name) => `  --${name}`),
  )
})

test.for<readonly [read: (args: readonly string[]) => unknown, args: readonly string[], message: string | RegExp]>([
  [processes, ['--kills', 'many'], "--kills: expected a whole number from 0 to 100000, got 'many'"],
  [soak, ['--failing', 'all'], "--failing: expected a whole number from 0 to 90, got 'all'"],
  [browsers, ['--minutes', '0'], "--minutes: expected a number above 0, got '0'"],
  [browsers, ['--browser', 'firefox', '--takeovers', '1'], /takeovers: expected a whole number from 0 to 0, got '1'/],
  [browsers, ['--browser', 'lynx'], "--browser: expected chromium, firefox, got 'lynx'"],
  [browsers, ['--break', 'it'], "--break: expected no-store, no-limit, no-key, got 'it'"],
  [redis, ['--fsync', 'no'], "--fsync: expected everysec, always, got 'no'"],
  [redis, ['--only', 'cut,fire'], /^--only: expected flush-scripts, .*, got 'fire'$/],
  [redis, ['--break', 'it'], "--break: expected no-lease, no-key, no-limit, no-wait, no-file, got 'it'"],
])('a wrong option is named, with what was expected', ([read, args, message]) => {
  expect(() => read(args)).toThrow(message)
})
