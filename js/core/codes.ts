/** The core's answers, by number, and the words the contract has for them. */

import type { ExhaustedReason } from '../api/task.ts'

export const VERDICT = { succeeded: 0, retry: 1, cancelled: 2, parked: 3, stale: 4 } as const
/** `classify`: 2 and above is a failure that is final. */
export const CLASS = { success: 0, retry: 1 } as const
/** Admit's and settle's flags. */
export const FLAG = { replayable: 1, hasKey: 2, hasResolver: 4 } as const

/** A verdict or action from here on ends the task, with the reason of that number. */
export const ENDED = 16
/** An action from here on tells of a retry storm; the rest of it is how many tasks failed at first for each success. */
export const STORM: number = 2 ** 31

const REASONS: readonly ExhaustedReason[] = [
  'max_attempts',
  'total_budget',
  'wait_exceeded',
  'not_retryable',
  'key_expired',
  'key_conflict',
  'expired',
  'retry_after_too_long',
  'outcome_unknown',
  'vetoed',
  'body_missing',
]

export function reasonOf(code: number): ExhaustedReason {
  return REASONS[code - ENDED] ?? 'not_retryable'
}
