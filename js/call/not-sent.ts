/** Attempts that never left: nothing of them reached the server, and most are given back. Only tasks have them: this comes with the core. */

import type { Finished } from './attempt.ts'
import type { Call } from './call.ts'

/** An attempt that ended, with one of the core's outcomes, before it was sent. */
export function notSent(outcome: number, now: number): Finished<never> {
  return { outcome, status: 0, answer: null, error: undefined, startedAt: now, durationMs: 0 }
}

/** Throws where the caller of a call has left. No one hears the error. */
export function assertThere({ isLeft }: Call): void {
  if (isLeft) throw new DOMException('its caller has left', 'AbortError')
}
