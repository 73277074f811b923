/** What servers say in headers, every row through the wasm. */

import { expect, test } from 'vitest'
import { NONE } from '../../js/core/codes.ts'
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

/** As js/core/server-delay.ts hands the headers over. */
function serverDelay(headers: readonly (string | null)[], now: number, status = 503): number {
  const lengths = scratch.all(headers.map((header) => header ?? ''))
  const [after = NONE, afterMs = NONE, date = NONE, reset = NONE, remaining = NONE] = headers.map((header, i) =>
    header === null ? NONE : lengths[i],
  )
  return glue.server_delay(after, afterMs, date, reset, remaining, status, now)
}

/** Later than any Date, which is where `parseRetryAfter` stops and the core goes on. */
const isInstant = ({ now }: RetryAfterRow) => Math.abs(now) <= 8.64e15

test('S9 Retry-After is read to the letter', () => {
  const rows = vectors<RetryAfterRow>('retry-after')
  expect(rows.length).toBeGreaterThanOrEqual(335)
  const wrong = rows
    .map((row) => ({ row, got: serverDelay([row.header, null, row.date], row.now) }))
    .filter(({ row, got }) => got !== (row.ms ?? -1))
  expect(wrong).toEqual([])
  const wrongly = rows
    .filter((row) => row.date === null && isInstant(row))
    .map((row) => ({ row, got: core.parseRetryAfter(row.header, row.now) }))
    .filter(({ row, got }) => got !== row.ms)
  expect(wrongly).toEqual([])
})

test('S9 of two headers the finer counts where it can be used', () => {
  const asked = (ms: number) => (Number.isNaN(ms) ? 'nothing' : ms < 0 ? 'unusable' : 'wait')
  const wrong = vectors<DelayRow>('server-delay')
    .map((row) => ({ row, got: serverDelay([row.retryAfter, row.retryAfterMs, row.date], row.now) }))
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
      const got = serverDelay([null, null, date, reset, remaining], now, status)
      const after = serverDelay(['7', null, date, reset, remaining], now, status)
      const unusable = serverDelay(['x', null, date, reset, remaining], now, status)
      return { row, got: [got, after, unusable] }
    })
    .filter(({ row: { ms }, got }) => `${got}` !== `${[ms ?? Number.NaN, 7_000, ms ?? -1]}`)
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
