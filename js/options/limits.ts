/** Limits of what a queue may hold, run and keep, with their defaults. A page that never has a task to keep does not load them. */

import { DAY_MS } from '../platform/clock.ts'
import { defined, type RetentionOptions, type Settings } from './queue-options.ts'

const RETENTION: Required<RetentionOptions> = {
  terminalMs: DAY_MS,
  maxTerminal: 10_000,
  deadLetterMs: 30 * DAY_MS,
  maxDeadLetters: 1_000,
}

export interface Limits {
  readonly concurrency: number
  readonly concurrencyPerOrigin: number
  readonly capacityBytes: number
  readonly maxLaneHoldMs: number
  readonly retention: Required<RetentionOptions>
}

export function limitsOf(settings: Settings): Limits {
  const { concurrency = 3, concurrencyPerOrigin, capacityBytes, maxLaneHoldMs, retention = {} } = settings
  return {
    concurrency,
    concurrencyPerOrigin: concurrencyPerOrigin ?? concurrency,
    capacityBytes: capacityBytes ?? 50 * 2 ** 20,
    maxLaneHoldMs: maxLaneHoldMs ?? 60_000,
    retention: { ...RETENTION, ...defined(retention) },
  }
}
