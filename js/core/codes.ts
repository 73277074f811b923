/** The numbers that cross to the core and back, and the words the contract has for its answers. */

import type { ExhaustedReason } from '../api/task.ts'
import { ENDED, REASONS } from './generated/codes.ts'

export * from './generated/codes.ts'

/** The reason behind an action from ENDED on. */
export function reasonOf(code: number): ExhaustedReason {
  return REASONS[code - ENDED] ?? 'not_retryable'
}
