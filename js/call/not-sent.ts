/** Attempts that never left: nothing of them reached the server, and most are given back. */

import type { Finished } from './attempt.ts'

export function notSent(outcome: number, now: number): Finished<never> {
  return { outcome, status: 0, answer: null, error: undefined, startedAt: now, durationMs: 0 }
}
