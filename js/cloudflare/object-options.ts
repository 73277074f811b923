/** What an object may be told, beside what any queue may. */

import { check, fn, int, type Rules } from '../check.ts'
import type { RetryBudgetOptions } from '../gate-options.ts'
import { type RetryQueueOptions, resolveOptions } from '../options.ts'
import type { DegradedCode } from '../types.ts'

type QueueOptions = Pick<
  RetryQueueOptions,
  | 'credentials'
  | 'beforeAttempt'
  | 'policy'
  | 'policies'
  | 'concurrency'
  | 'concurrencyPerOrigin'
  | 'capacity'
  | 'capacityBytes'
  | 'maxBodyBytes'
  | 'retention'
  | 'breaker'
  | 'sanitize'
  | 'idempotency'
  | 'fetch'
  | 'clock'
  | 'seed'
>

/** One alarm, and what came of it. */
export interface ObjectRun {
  readonly attempts: number
  /** Tasks that ended. */
  readonly ended: number
  /** When the next alarm rings, in epoch ms; null: there is nothing to do. */
  readonly nextRunAt: number | null
  /** What kept it from doing more. */
  readonly error?: unknown
}

/**
 * All that an object sends are retries, whose first attempts it has not seen: what succeeds pays for itself. Breaker and
 * ramp keep it from a server that fails.
 */
const BUDGET = { capacity: 1_000, perSuccess: 1 }

export interface RedriveObjectOptions extends QueueOptions {
  /** See `RetryQueueOptions`. @default `{ capacity: 1_000, perSuccess: 1 }`, since all that an object sends are retries */
  readonly retryBudget?: RetryBudgetOptions | false
  /**
   * Attempts of one alarm; what is left is the next one's. Each is a subrequest, of which a request has 50 on the free
   * plan, and redirects within the origin are more. 1..=900. @default 40
   */
  readonly attemptsPerRun?: number
  /** Hears of each alarm. */
  readonly onRun?: (run: ObjectRun) => void
  /** Hears what works less well than asked. @default console.warn */
  readonly onDegraded?: (report: { readonly code: DegradedCode; readonly message: string }) => void
}

const RULES: Rules<Required<Pick<RedriveObjectOptions, 'attemptsPerRun' | 'onRun' | 'onDegraded'>>> = {
  attemptsPerRun: int(1, 900),
  onRun: fn,
  onDegraded: fn,
}

export interface ObjectSettings {
  readonly queue: QueueOptions & Pick<RetryQueueOptions, 'retryBudget'>
  readonly attemptsPerRun: number
  readonly maxBodyBytes: number
  readonly onRun: (run: ObjectRun) => void
  readonly onDegraded: (report: { readonly code: DegradedCode; readonly message: string }) => void
}

export const warn = ({ code, message }: { readonly code: string; readonly message: string }): void =>
  console.warn(`redrive: ${code}: ${message}`)

/** Throws as `RetryQueue` does, naming the option. */
export function resolveObjectOptions(given: RedriveObjectOptions): ObjectSettings {
  const { attemptsPerRun = 40, onRun = () => {}, onDegraded = warn, ...rest } = given
  const retryBudget = rest.retryBudget === false ? (false as const) : { ...BUDGET, ...rest.retryBudget }
  const queue = { ...rest, retryBudget }
  check('options', { attemptsPerRun, onRun, onDegraded }, RULES)
  return { queue, attemptsPerRun, onRun, onDegraded, maxBodyBytes: resolveOptions(queue).maxBodyBytes }
}
