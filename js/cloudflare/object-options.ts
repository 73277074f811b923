/** What an object may be told, beside what any queue may. */

import { check, fn, int, type Rules } from '../check.ts'
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
  | 'retryBudget'
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

export interface RedriveObjectOptions extends QueueOptions {
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
  readonly queue: QueueOptions
  readonly attemptsPerRun: number
  readonly maxBodyBytes: number
  readonly onRun: (run: ObjectRun) => void
  readonly onDegraded: (report: { readonly code: DegradedCode; readonly message: string }) => void
}

export const warn = ({ code, message }: { readonly code: string; readonly message: string }): void =>
  console.warn(`redrive: ${code}: ${message}`)

/** Throws as `RetryQueue` does, naming the option. */
export function resolveObjectOptions(given: RedriveObjectOptions): ObjectSettings {
  const { attemptsPerRun = 40, onRun = () => {}, onDegraded = warn, ...queue } = given
  check('options', { attemptsPerRun, onRun, onDegraded }, RULES)
  return { queue, attemptsPerRun, onRun, onDegraded, maxBodyBytes: resolveOptions(queue).maxBodyBytes }
}
