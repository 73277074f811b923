/** Attempts that never left: nothing of them reached the server, and most are given back. */

import type { Finished } from './attempt.ts'

/** More of the core's numbering of how an attempt can end. */
export const UNSENT = { credentials: 4, vetoed: 5, released: 6 } as const

export function notSent(outcome: number, now: number): Finished<never> {
  return { outcome, status: 0, answer: null, error: undefined, startedAt: now, durationMs: 0 }
}
