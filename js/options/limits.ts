/** Limits of what a queue may hold, run and keep, with their defaults. A page that never has a task to keep does not load them. */

import type { Report } from '../api/emitter.ts'
import type { Trimmed } from '../api/turn.ts'
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

/** Reports dead letters that were purged and were not asked to be, those of each principal by themselves. */
export function reportTrimmed(
  trimmed: readonly Trimmed[],
  { maxDeadLetters, deadLetterMs }: Required<RetentionOptions>,
  degraded: Report,
  why?: string,
): void {
  const many = maxDeadLetters === FOREVER ? '' : `more than maxDeadLetters ${maxDeadLetters}, or `
  const reason = why ?? `${many}older than deadLetterMs ${deadLetterMs}`
  const owned = new Map<string | null, string[]>()
  for (const { principal, taskId } of trimmed) owned.set(principal, [...(owned.get(principal) ?? []), taskId])
  for (const [principal, taskIds] of owned) {
    const message = `${taskIds.length} dead letter(s) were purged: ${reason}`
    degraded('dead_letters_trimmed', message, undefined, { principal, taskIds })
  }
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
