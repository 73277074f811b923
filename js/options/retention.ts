/** How long ended tasks are kept. */

import { int, ms, type Rules } from './check.ts'

export interface RetentionOptions {
  /** How long a task that succeeded or was cancelled is kept, in milliseconds. @default 86_400_000 (1 day) */
  readonly terminalMs?: number
  /** The most such tasks; beyond that, the oldest are forgotten. The queue knows a key for as long as its task. @default 10_000 */
  readonly maxTerminal?: number
  /** How long a dead letter is kept, in milliseconds; then it is purged, and `degraded` 'dead_letters_trimmed' says so. @default 2_592_000_000 (30 days) */
  readonly deadLetterMs?: number
  /**
   * The most dead letters. Beyond that the oldest of the principal that has most is purged, which may be work that was accepted and not done; `degraded`
   * 'dead_letters_trimmed' says so.
   * @default none: dead letters take room, and `capacity` refuses what is new instead
   */
  readonly maxDeadLetters?: number
}

export const RETENTION_RULES: Rules<RetentionOptions> = {
  terminalMs: ms(),
  maxTerminal: int(0, 1e6),
  deadLetterMs: ms(),
  maxDeadLetters: int(0, 1e6),
}
