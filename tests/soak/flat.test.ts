/** What a soak calls flat. */

import { describe, expect, test } from 'vitest'
import { areFlat, type Window } from './flat.ts'

const STEADY: Window = {
  at: 0,
  rss: 400,
  file: 12,
  log: 4,
  perSecond: 200,
  begun: 40,
  late50: 10,
  late99: 45,
  lateMost: 90,
}

/** Thirty windows, of which `change` says how each differs. */
const run = (change: (n: number) => Partial<Window>) =>
  Array.from({ length: 30 }, (_, n): Window => ({ ...STEADY, ...change(n) }))

const grown = (windows: readonly Window[]) =>
  areFlat(windows)
    .filter(({ ok }) => !ok)
    .map(({ label }) => label.split(',')[0])

describe('flat', () => {
  test('is what stays as it is, and what has grown at the beginning only', () => {
    expect(grown(run(() => ({})))).toEqual([])
    expect(grown(run((n) => ({ rss: n < 6 ? 200 : 400, file: Math.min(12, 2 * n) })))).toEqual([])
  })

  test('is not disturbed by a moment', () => {
    expect(grown(run((n) => (n === 20 ? { begun: 9_000, late99: 9_000, rss: 900, log: 100 } : {})))).toEqual([])
  })

  test.each([
    ['RSS', { rss: 8 }],
    ['file', { file: 0.5 }],
    ['log of the file', { log: 1 }],
    ['first attempts after their enqueue', { begun: 20 }],
    ['retries after they were due', { late99: 20 }],
  ] as const)('%s that grows from window to window is not', (label, by) => {
    const [[name, step]] = Object.entries(by) as [[keyof Window, number]]
    expect(grown(run((n) => ({ [name]: STEADY[name] + n * step })))).toEqual([label])
  })

  test('is nothing that was not measured', () => {
    expect(grown([])).toHaveLength(5)
  })
})
