/** Limits of what a queue may hold, run and keep, with their defaults. A page that never has a task to keep does not load them. */

import { DAY_MS, FOREVER } from '../platform/clock.ts'
import { defined, type Settings } from './queue-options.ts'
import type { RetentionOptions } from './retention.ts'

const RETENTION: Required<RetentionOptions> = {
  terminalMs: DAY_MS,
  maxTerminal: 10_000,
  deadLetterMs: 30 * DAY_MS,
  // what was accepted goes when its time is up; until then it is new tasks that are refused (S17)
  maxDeadLetters: FOREVER,
}

/** Says why so many dead letters were purged that were not asked to be. */
export function trimmedText(count: number, { maxDeadLetters, deadLetterMs }: Required<RetentionOptions>): string {
  const many = maxDeadLetters === FOREVER ? '' : `more than maxDeadLetters ${maxDeadLetters}, or `
  return `${count} dead letter(s) were purged: ${many}older than deadLetterMs ${deadLetterMs}`
}

export interface Limits {
  readonly concurrency: number
  readonly concurrencyPerOrigin: number
  readonly capacityBytes: number
  readonly maxLaneHoldMs: number
  readonly retention: Required<RetentionOptions>
}

export function limitsOf(settings: Settings): Limits {
  const { concurrency, concurrencyPerOrigin, capacityBytes, maxLaneHoldMs, retention = {} } = settings
  return {
    concurrency,
    concurrencyPerOrigin: concurrencyPerOrigin ?? concurrency,
    capacityBytes: capacityBytes ?? 50 * 2 ** 20,
    maxLaneHoldMs: maxLaneHoldMs ?? 60_000,
    retention: { ...RETENTION, ...defined(retention) },
  }
}
