/** What servers say in headers, every row through the wasm. */

import { expect, test } from 'vitest'
import { instantiate } from '../../js/core/file.ts'
import { loadCore } from '../../js/core.ts'
import { vectors } from './vectors.ts'

interface RetryAfterRow {
  readonly header: string
  readonly date: string | null
  readonly now: number
  readonly ms: number | null
}

interface DelayRow {
  readonly retryAfter: string | null
  readonly retryAfterMs: string | null
  readonly date: string | null
  readonly now: number
  readonly asked: 'nothing' | 'unusable' | 'wait'
  readonly ms?: number
}

const core = await loadCore()
const { glue, scratch } = await instantiate()

type Line = readonly [name: string, value: string | null]

/** As js/core/server-delay.ts hands the headers over; no client hands on a line feed. */
function said(lines: readonly Line[], now: number, status = 503): Float64Array {
  const present = lines.flatMap(([name, value]) => (value === null ? [] : `${name}:${value.replaceAll('\n', '\0')}\n`))
  return glue.said(scratch.text(present.join('')), status, status >= 400, now)
}

const asked = (ms = Number.NaN) => (Number.isNaN(ms) ? 'nothing' : ms < 0 ? 'unusable' : 'wait')

/** Later than any Date, which is where `parseRetryAfter` stops and the core goes on. */
const isInstant = ({ now }: RetryAfterRow) => Math.abs(now) <= 8.64e15

test('S9 Retry-After is read to the letter', () => {
  const rows = vectors<RetryAfterRow>('retry-after')
  expect(rows.length).toBeGreaterThanOrEqual(335)
  const wrong = rows
    .map((row) => ({
      row,
      got: said(
        [
          ['retry-after', row.header],
          ['date', row.date],
        ],
        row.now,
      )[0],
    }))
    .filter(({ row, got }) => got !== (row.ms ?? -1))
  expect(wrong).toEqual([])
  const wrongly = rows
    .filter((row) => row.date === null && isInstant(row))
    .map((row) => ({ row, got: core.parseRetryAfter(row.header, row.now) }))
    .filter(({ row, got }) => got !== row.ms)
  expect(wrongly).toEqual([])
})

test('S9 of two headers the finer counts where it can be used', () => {
  const wrong = vectors<DelayRow>('server-delay')
    .map((row) => {
      const { retryAfter, retryAfterMs, date, now } = row
      const lines: Line[] = [
        ['retry-after', retryAfter],
        ['retry-after-ms', retryAfterMs],
        ['date', date],
      ]
      return { row, got: said(lines, now)[0] }
    })
    .filter(({ row, got }) => asked(got) !== row.asked || (row.asked === 'wait' && got !== row.ms))
  expect(wrong).toEqual([])
})

test('S9 a reset is read as a delay or a time where the quota is used up, and gives way to Retry-After', () => {
  interface Row {
    readonly reset: string
    readonly remaining: string | null
    readonly status: number
    readonly date: string | null
    readonly now: number
    readonly ms: number | null
  }
  const rows = vectors<Row>('rate-limit-reset')
  expect(rows.length).toBeGreaterThanOrEqual(40)
  const wrong = rows
    .map((row) => {
      const { reset, remaining, date, status, now } = row
      const got = [null, '7', 'x'].map((after) => {
        const quota: Line[] = [
          ['ratelimit-reset', reset],
          ['ratelimit-remaining', remaining],
        ]
        return said([['date', date], ['retry-after', after], ...quota], now, status)[0]
      })
      return { row, got }
    })
    // of a success, nothing is read of it
    .filter(({ row: { ms, status }, got }) => {
      const expected = status < 400 ? Array(3).fill(Number.NaN) : [ms ?? Number.NaN, 7_000, ms ?? -1]
      return `${got}` !== `${expected}`
    })
  expect(wrong).toEqual([])
})

test('S9 of all that servers send one wait is read', () => {
  interface Row {
    readonly lines: readonly Line[]
    readonly status: number
    readonly now: number
    readonly asked: DelayRow['asked']
    readonly ms?: number
    readonly limitMs: number | null
    readonly asks?: boolean
  }
  const wrong = vectors<Row>('asked')
    .map((row) => ({ row, got: said(row.lines, row.now, row.status) }))
    .filter(({ row, got: [delay, limit = Number.NaN, , asks] }) => {
      const byDefault = row.status >= 400 && row.lines.some(([name]) => name === 'retry-after')
      const isWait = asked(delay) === row.asked && (row.asked !== 'wait' || delay === row.ms)
      const isSame = isWait && (asks === 1) === (row.asks ?? byDefault)
      return !isSame || (Number.isNaN(limit) ? null : limit) !== row.limitMs
    })
  expect(wrong).toEqual([])
})

test('S9 RateLimit is read whole or not at all', () => {
  const wrong = vectors<{ header: string; remaining: number | null; resetMs: number | null; partitioned?: true }>(
    'ratelimit',
  )
    .map((row) => ({ row, got: core.parseRateLimit(row.header, 0) }))
    .filter(({ row, got }) => {
      if (row.remaining === null) return got !== null
      // the minus of a zero is of no meaning to anybody
      const isSame = got?.resetMs === row.resetMs && got.partitioned === (row.partitioned ?? false)
      return !isSame || got.remaining + 0 !== row.remaining
    })
  expect(wrong).toEqual([])
})

test('durations are whole milliseconds, or refused by name', () => {
  for (const { text, ms } of vectors<{ text: string; ms: number | null }>('durations')) {
    if (ms !== null) expect([text, core.parseDuration(text)]).toEqual([text, ms])
    else expect(() => core.parseDuration(text), text).toThrow(/^text: expected a duration such as /)
    if (ms === null) expect(() => core.parseDuration(text), text).toThrow(RangeError)
  }
})
