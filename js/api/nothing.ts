/** The stats of a queue that never had to keep a call: kept apart, since every page loads it. */

import type { Held, RunnerStats } from '../runner/stats.ts'

/** Without a core. */
export const nothingHeld: Held = { depth: 0, inFlight: 0, nextAttemptAt: null, unusableRetryAfter: 0, origins: {} }

/** Before there is a runner. */
export const nothingYet: RunnerStats = { ...nothingHeld, deadLetters: 0, succeeded: 0, exhausted: 0, cancelled: 0 }
