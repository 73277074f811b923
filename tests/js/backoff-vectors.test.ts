import { expect, test } from 'vitest'
import { loadCore, type RetryPolicy } from '../../js/core.ts'
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
  readonly delayMs: number
}

const core = await loadCore()
const rows = vectors<Row>('backoff')

/** The policy a row speaks of; undefined: this version does not have it. */
function policyOf({ strategy, params }: Row): Partial<RetryPolicy> | undefined {
  const { base = 0, mult = 2, cap = 0, step = 0, delay = 0 } = params
  const curve = { strategy: 'exponential', initialDelayMs: base, multiplier: mult, maxDelayMs: cap } as const
  switch (strategy) {
    case 'fixed':
      return { strategy: 'fixed', initialDelayMs: delay, jitterType: 'NONE' }
    case 'linear':
      return { strategy: 'linear', initialDelayMs: base, stepMs: step, maxDelayMs: cap, jitterType: 'NONE' }
    case 'exponential':
      return { ...curve, jitterType: 'NONE' }
    case 'full':
      return { ...curve, jitterType: 'FULL' }
    case 'equal':
      return { ...curve, jitterType: 'EQUAL' }
    case 'decorrelated':
      return { ...curve, jitterType: 'DECORRELATED' }
    default:
      return undefined
  }
}

const names = [...new Set(rows.map(({ strategy }) => strategy))]
const built = names.filter((name) => rows.some((row) => row.strategy === name && policyOf(row)))

test.each(built)('S10 %s gives the exact delay of every row', (strategy) => {
  const wrong = rows
    .filter((row) => row.strategy === strategy)
    .map((row) => {
      const { attempt, u32, prevDelayMs } = row
      const context = { random: u32 / 2 ** 32, ...(prevDelayMs === undefined ? {} : { previousDelayMs: prevDelayMs }) }
      return { row, got: core.calculateBackoffDelay(policyOf(row) ?? {}, attempt, context) }
    })
    .filter(({ row, got }) => got !== row.delayMs)
  expect(wrong).toEqual([])
})

/** What the rows of later versions ask for. */
const later: Readonly<Record<string, Partial<RetryPolicy>>> = {
  additive: { jitterType: 'ADDITIVE' },
  proportional: { jitterType: 'PROPORTIONAL' },
  decorrelated_clamped: { jitterType: 'DECORRELATED_CLAMPED' },
  padded_exponential: { strategy: 'padded_exponential' },
  sidekiq: { strategy: 'sidekiq' },
  zizq: { strategy: 'polynomial' },
  buckets: { strategy: 'buckets' },
  spread: { strategy: 'spread' },
}

test('the rows are of curves that this version has or refuses', () => {
  expect([...built, ...Object.keys(later)].sort()).toEqual([...names].sort())
})

test.each(Object.entries(later))('%s is refused, naming what this version has', (_name, policy) => {
  expect(() => core.calculateBackoffDelay(policy, 1)).toThrow(/^policy\.(strategy|jitterType): expected '.*, got '/)
})

test('S10 other multipliers, and jitter on linear and fixed, give the exact delay of every row', () => {
  const wrong = vectors<OwnRow>('backoff-own')
    .map((row) => ({ row, got: core.calculateBackoffDelay(row.options, row.attempt, { random: row.u32 / 2 ** 32 }) }))
    .filter(({ row, got }) => got !== row.delayMs)
  expect(wrong).toEqual([])
})
