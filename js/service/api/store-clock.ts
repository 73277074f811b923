/** The clock of the store, which may be another machine's: an instant that a caller names is one of that clock. */

import type { ApiContext } from './context.ts'

/** So long an answer of the store stays good: clocks drift by less than a millisecond in that time. */
const GOOD_MS = 1_000

/** The instant on the clock of the store, which is asked at most once in a second. Rejects where it does not answer. */
export function storeClock({ store, clock }: Pick<ApiContext, 'store' | 'clock'>): () => Promise<number> {
  let askedAt = Number.NEGATIVE_INFINITY
  let aheadMs: Promise<number> = Promise.resolve(0)
  const ask = async (): Promise<number> => {
    const theirs = (await store.now?.()) ?? clock.now()
    return theirs - clock.monotonic()
  }
  return async () => {
    if (!store.now) return clock.now()
    if (clock.monotonic() - askedAt >= GOOD_MS) {
      askedAt = clock.monotonic()
      aheadMs = ask()
      aheadMs.catch(() => {
        askedAt = Number.NEGATIVE_INFINITY
      })
    }
    return Math.round((await aheadMs) + clock.monotonic())
  }
}
