import { describe, expect, test } from 'vitest'
import { readOptions } from './options.ts'

const runs = (...args: string[]) => {
  const { killing, tabbing, takeovers } = readOptions(args) ?? {}
  return { killing, tabbing, takeovers }
}

describe('which runs are made', () => {
  test('all, and smaller in Firefox, where nothing is asked for', () => {
    expect(runs()).toEqual({ killing: { kills: 12, tasks: 400 }, tabbing: { tabs: 4, seconds: 40 }, takeovers: 6 })
    expect(runs('--browser', 'firefox')).toMatchObject({ killing: { kills: 3, tasks: 100 }, takeovers: 0 })
  })

  test('only the one whose options are given', () => {
    expect(runs('--kills', '100', '--tasks', '5000')).toEqual({
      killing: { kills: 100, tasks: 5_000 },
      tabbing: undefined,
      takeovers: 0,
    })
    expect(runs('--tabs', '10', '--minutes', '5')).toEqual({
      killing: undefined,
      tabbing: { tabs: 10, seconds: 300 },
      takeovers: 0,
    })
    expect(runs('--takeovers', '50')).toEqual({ killing: undefined, tabbing: undefined, takeovers: 50 })
  })
})

test.each([
  [['--kills', 'many'], "--kills: expected a whole number from 0 to 100000, got 'many'"],
  [['--minutes', '0'], "--minutes: expected a number above 0, got '0'"],
  [['--browser', 'firefox', '--takeovers', '1'], "--takeovers: expected a whole number from 0 to 0, got '1'"],
  [['--browser', 'lynx'], "--browser: expected chromium, firefox, got 'lynx'"],
  [['--break', 'it'], "--break: expected no-store, no-limit, no-key, got 'it'"],
])('a wrong option is named, with what was expected: %j', (args, message) => {
  expect(() => readOptions(args)).toThrow(message)
})
