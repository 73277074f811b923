/** Which numbers shape which curve, and where a slider for them begins and ends. The rules of the values are the core's; these are the handles. */

import type { BackoffStrategy } from 'redrive'
import type { RetryPolicy } from 'redrive/core'

type NumberField = Extract<
  keyof RetryPolicy,
  | 'initialDelayMs'
  | 'multiplier'
  | 'maxDelayMs'
  | 'stepMs'
  | 'baseMs'
  | 'exponent'
  | 'jitterMs'
  | 'jitterRatio'
  | 'freshJitter'
  | 'maxAttempts'
  | 'totalBudgetMs'
>

export interface Knob {
  readonly field: NumberField
  readonly label: string
  readonly help: string
  /** 'ms': text such as 12.5s, and a slider by factors. 'factor', 'share', 'count': a number. 'text': a number without a slider. */
  readonly kind: 'ms' | 'factor' | 'share' | 'count' | 'text'
  readonly from: number
  readonly to: number
  readonly step?: number
}

const SECOND = 1_000
const DAY = 86_400_000

const KNOBS: Readonly<Record<NumberField, Knob>> = {
  initialDelayMs: {
    field: 'initialDelayMs',
    label: 'Base',
    help: 'the first wait, before jitter',
    kind: 'ms',
    from: 10,
    to: DAY / 24,
  },
  multiplier: {
    field: 'multiplier',
    label: 'Multiplier',
    help: 'each wait is so many times the one before',
    kind: 'factor',
    from: 1.05,
    to: 4,
    step: 0.05,
  },
  maxDelayMs: {
    field: 'maxDelayMs',
    label: 'Cap',
    help: 'the longest wait of the curve',
    kind: 'ms',
    from: SECOND,
    to: 7 * DAY,
  },
  stepMs: { field: 'stepMs', label: 'Step', help: 'added for each further retry', kind: 'ms', from: 10, to: DAY / 24 },
  baseMs: { field: 'baseMs', label: 'Base', help: 'the constant part', kind: 'ms', from: 100, to: DAY / 24 },
  exponent: {
    field: 'exponent',
    label: 'Exponent',
    help: 'the number of the retry to this power, in seconds',
    kind: 'factor',
    from: 0,
    to: 8,
    step: 0.1,
  },
  jitterMs: {
    field: 'jitterMs',
    label: 'Jitter',
    help: 'the most that chance adds, times the number of the retry',
    kind: 'ms',
    from: 100,
    to: DAY / 24,
  },
  jitterRatio: {
    field: 'jitterRatio',
    label: 'Jitter share',
    help: 'the share of the wait that varies',
    kind: 'share',
    from: 0,
    to: 1,
    step: 0.01,
  },
  freshJitter: {
    field: 'freshJitter',
    label: 'Fresh jitter',
    help: 'the share of the wait that is drawn anew each time',
    kind: 'share',
    from: 0,
    to: 0.5,
    step: 0.01,
  },
  maxAttempts: {
    field: 'maxAttempts',
    label: 'Attempts',
    help: 'in total, the first one included',
    kind: 'count',
    from: 1,
    to: 50,
    step: 1,
  },
  totalBudgetMs: {
    field: 'totalBudgetMs',
    label: 'Budget',
    help: 'the time that a task has from its call on',
    kind: 'ms',
    from: SECOND,
    to: 30 * DAY,
  },
}

/** A strategy with what shapes it, and the numbers a reader begins with. */
export interface StrategyKnobs {
  readonly strategy: BackoffStrategy
  /** One sentence on what it does. */
  readonly says: string
  readonly fields: readonly NumberField[]
  readonly hasJitter?: true
  /** Laid over the policy when the strategy is chosen, in place of what shaped the one before. */
  readonly example: Partial<RetryPolicy>
}

export const STRATEGY_KNOBS: readonly StrategyKnobs[] = [
  {
    strategy: 'exponential',
    says: 'Each wait is a multiple of the one before, up to a cap.',
    fields: ['initialDelayMs', 'multiplier', 'maxDelayMs'],
    hasJitter: true,
    example: { initialDelayMs: 500, multiplier: 2, maxDelayMs: 30_000, jitterType: 'FULL' },
  },
  {
    strategy: 'spread',
    says: 'Each task keeps one place in every window, drawn once: the windows of successive retries abut, with neither a gap nor an overlap.',
    fields: ['initialDelayMs', 'multiplier', 'maxDelayMs', 'freshJitter'],
    example: { initialDelayMs: 500, multiplier: 2, maxDelayMs: 47_000, freshJitter: 0.1 },
  },
  {
    strategy: 'linear',
    says: 'Each wait is longer than the one before by one step.',
    fields: ['initialDelayMs', 'stepMs', 'maxDelayMs'],
    hasJitter: true,
    example: { initialDelayMs: 1_000, stepMs: 1_000, maxDelayMs: 30_000, jitterType: 'FULL' },
  },
  {
    strategy: 'fixed',
    says: 'Every wait is the same.',
    fields: ['initialDelayMs'],
    hasJitter: true,
    example: { initialDelayMs: 5_000, jitterType: 'NONE' },
  },
  {
    strategy: 'polynomial',
    says: 'A constant, the number of the retry to a power in seconds, and chance times that number.',
    fields: ['baseMs', 'exponent', 'jitterMs', 'maxDelayMs'],
    example: { baseMs: 15_000, exponent: 4, jitterMs: 30_000 },
  },
  {
    strategy: 'sidekiq',
    says: 'The curve of Sidekiq: the fourth power of the number of the retry, and some chance.',
    fields: ['maxDelayMs'],
    example: {},
  },
  {
    strategy: 'buckets',
    says: 'Windows between cubes, each drawn from anew.',
    fields: ['maxDelayMs'],
    example: {},
  },
  {
    strategy: 'padded_exponential',
    says: 'Three minutes, and a minute that doubles.',
    fields: ['maxDelayMs'],
    example: {},
  },
  {
    strategy: 'table',
    says: 'The waits of a list, the last one repeated.',
    fields: ['maxDelayMs'],
    example: { delaysMs: [5_000, 300_000, 1_800_000, 7_200_000] },
  },
]

/** All fields of a policy that shape a curve: what another strategy does not have is taken away. */
const SHAPES: readonly (keyof RetryPolicy)[] = [
  'initialDelayMs',
  'multiplier',
  'maxDelayMs',
  'jitterType',
  'jitterRatio',
  'freshJitter',
  'stepMs',
  'baseMs',
  'exponent',
  'jitterMs',
  'delaysMs',
]

export const knobsOf = (strategy: BackoffStrategy | undefined): StrategyKnobs =>
  STRATEGY_KNOBS.find((each) => each.strategy === strategy) ?? (STRATEGY_KNOBS[0] as StrategyKnobs)

/** The knobs of a policy, in the order in which they are shown. */
export function knobsFor(policy: Partial<RetryPolicy>): readonly Knob[] {
  const { fields, hasJitter } = knobsOf(policy.strategy)
  const ratio: NumberField[] = hasJitter && policy.jitterType === 'PROPORTIONAL' ? ['jitterRatio'] : []
  return [...fields, ...ratio, 'maxAttempts' as const, 'totalBudgetMs' as const].map((field) => KNOBS[field])
}

/** The policy with another strategy: its limits stay, its shape is that of the example. */
export function withStrategy(policy: Partial<RetryPolicy>, strategy: BackoffStrategy): Partial<RetryPolicy> {
  const kept = Object.fromEntries(
    Object.entries(policy).filter(([field]) => !SHAPES.includes(field as keyof RetryPolicy)),
  )
  return { ...kept, strategy, ...knobsOf(strategy).example }
}
