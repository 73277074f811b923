import { expect, test } from 'vitest'
import { loadCore, type RetryPolicy } from '../../js/core.ts'
import { presets } from '../../js/options/presets.ts'
import { vectors } from './vectors.ts'

interface Row {
  readonly strategy: string
  readonly params: Readonly<Record<string, number>>
  readonly attempt: number
  readonly u32: number
  readonly prevDelayMs?: number
  readonly delayMs: number
}

interface OwnRow {
  readonly options: Partial<RetryPolicy>
  readonly attempt: number
  readonly u32: number
  readonly phase?: number
  readonly prevDelayMs?: number
  readonly delayMs: number
}

interface Step {
  readonly attempt: number
  readonly minMs: number
  readonly meanMs: number
  readonly maxMs: number
  readonly totalMeanMs: number
  readonly totalMaxMs: number
}

interface PresetRow {
  readonly name: keyof typeof presets
  readonly policy: RetryPolicy
  readonly meanTotalDays?: number
  /** null: without a limit of attempts. */
  readonly longestTotalMs: number | null
}

const core = await loadCore()
const rows = vectors<Row>('backoff')
const DAY_MS = 86_400_000

const share = (u32: number) => u32 / 2 ** 32
const previous = (ms: number | undefined) => (ms === undefined ? {} : { previousDelayMs: ms })

const JITTERS: Readonly<Record<string, RetryPolicy['jitterType']>> = {
  exponential: 'NONE',
  full: 'FULL',
  equal: 'EQUAL',
  additive: 'ADDITIVE',
  proportional: 'PROPORTIONAL',
  decorrelated: 'DECORRELATED',
  decorrelated_clamped: 'DECORRELATED_CLAMPED',
}

/** The policy a row speaks of. */
function policyOf({ strategy, params }: Row): Partial<RetryPolicy> {
  const { base = 0, mult = 2, cap = 0, step = 0, delay = 0, ratio = 0.2, exponent = 0, jitter = 0 } = params
  const jitterType = JITTERS[strategy]
  const curve = { initialDelayMs: base, multiplier: mult, maxDelayMs: cap }
  if (jitterType) return { strategy: 'exponential', ...curve, jitterType, jitterRatio: ratio }
  switch (strategy) {
    case 'fixed':
      return { strategy, initialDelayMs: delay, jitterType: 'NONE' }
    case 'linear':
      return { strategy, initialDelayMs: base, stepMs: step, maxDelayMs: cap, jitterType: 'NONE' }
    case 'zizq':
      return { strategy: 'polynomial', baseMs: base, exponent, jitterMs: jitter }
    case 'spread':
      return { strategy, ...curve }
    default:
      return { strategy: strategy as 'sidekiq' }
  }
}

test('no row of the published curves is left out', () => {
  expect(rows).toHaveLength(1_291)
})

test.each([...new Set(rows.map(({ strategy }) => strategy))])('S10 %s gives the exact delay of every row', (name) => {
  const wrong = rows
    .filter(({ strategy }) => strategy === name)
    .map((row) => {
      // a row of spread gives the phase and no fresh jitter
      const draw = name === 'spread' ? { phase: share(row.u32) } : { random: share(row.u32) }
      const context = { ...draw, ...previous(row.prevDelayMs) }
      return { row, got: core.calculateBackoffDelay(policyOf(row), row.attempt, context) }
    })
    .filter(({ row, got }) => got !== row.delayMs)
  expect(wrong).toEqual([])
})

test('S10 every jitter on every curve gives the exact delay of every row', () => {
  const wrong = vectors<OwnRow>('backoff-own')
    .map((row) => {
      const { options, attempt, u32, phase, prevDelayMs } = row
      const place = phase === undefined ? {} : { phase: share(phase) }
      const context = { random: share(u32), ...place, ...previous(prevDelayMs) }
      return { row, got: core.calculateBackoffDelay(options, attempt, context) }
    })
    .filter(({ row, got }) => got !== row.delayMs)
  expect(wrong).toEqual([])
})

/** Means are sums of fractions, whose last digits depend on the order of adding. */
const rounded = ({ meanMs, totalMeanMs, ...whole }: Step) => ({
  ...whole,
  meanMs: meanMs.toPrecision(12),
  totalMeanMs: totalMeanMs.toPrecision(12),
})

test.each(vectors<{ name: string; options: Partial<RetryPolicy>; steps: Step[] }>('schedule'))(
  'S10 backoffSchedule: $name',
  ({ options, steps }) => {
    expect(core.backoffSchedule(options).map(rounded)).toEqual(steps.map(rounded))
  },
)

const published = vectors<PresetRow>('presets')

test('the presets are the ones of the file', () => {
  expect(presets).toEqual(Object.fromEntries(published.map(({ name, policy }) => [name, policy])))
})

const bounded = published.filter((row): row is PresetRow & { longestTotalMs: number } => row.longestTotalMs !== null)

test.each(bounded)('$name lasts as long as is published, within its budget and key', (row) => {
  const last = core.backoffSchedule(presets[row.name]).at(-1)
  const { keyTtlMs = DAY_MS, totalBudgetMs = keyTtlMs } = presets[row.name]
  // the schedule's longest wait is the one of a draw just below 1, so each may be a millisecond short
  const steps = core.backoffSchedule(presets[row.name]).length
  expect(last?.totalMaxMs).toBeLessThanOrEqual(row.longestTotalMs)
  expect(last?.totalMaxMs).toBeGreaterThanOrEqual(row.longestTotalMs - steps)
  expect(last?.totalMaxMs).toBeLessThan(totalBudgetMs)
  expect(totalBudgetMs).toBeLessThanOrEqual(keyTtlMs)
  if (row.meanTotalDays !== undefined) expect((last?.totalMeanMs ?? 0) / DAY_MS).toBeCloseTo(row.meanTotalDays, 2)
})
