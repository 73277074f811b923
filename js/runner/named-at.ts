/** Says on the wall clock, which all processes share, when a principal was named: that clock may have been set back since. */

import type { NamedAt } from '../api/store.ts'
import { type Clock, type Instant, instantOf } from '../platform/clock.ts'

/** Two clocks are not read at once, and the wall's is put right little by little: by less than this it was not set back. */
const JITTER_MS = 1_000

/** When a principal was named, on the wall clock as it is now. */
export function namedAtOf({ wall, monotonic }: Instant, clock: Clock): NamedAt {
  const now = instantOf(clock)
  const behindMs = now.monotonic - monotonic - (now.wall - wall)
  const setBackMs = behindMs > JITTER_MS ? behindMs : 0
  return { since: wall - setBackMs, now: now.wall + setBackMs }
}
