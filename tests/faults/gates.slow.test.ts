/** The short form of `npm run sim:gates -- --http`: gates must not fail callers of a server that fails at random. */

import { expect, test } from 'vitest'
import { run } from './gates/random.ts'

const ROW = { seed: 1, calls: 200, callers: 10, policy: { initialDelayMs: 10, maxDelayMs: 100 } } as const

/**
 * One caller; the first call fails five times, which is enough for this breaker to open, and the second would succeed at once. Its
 * `afterMs` is longer than an attempt takes on a busy machine: a failure that takes so long is no chance.
 */
const LONE = {
  seed: 1281,
  calls: 40,
  callers: 1,
  policy: { initialDelayMs: 250, maxDelayMs: 250 },
  breaker: { afterMs: 900 },
} as const

test.each([
  ['failed callers', 300, ROW],
  ['failed callers', 600, ROW],
  ['failures of a lone caller', 300, LONE],
  ['failures of a lone caller', 600, LONE],
] as const)(
  'L6 over HTTP, no more %s than without gates, of a server that fails %d times in a thousand',
  async (_, perMille, row) => {
    const [without, gated] = await Promise.all([false, true].map((gated) => run({ ...row, perMille, gated })))
    if (row === LONE) expect(gated?.openings).toBeGreaterThan(0)
    expect(gated?.failed).toBeLessThanOrEqual((without?.failed ?? 0) + row.calls * 0.01)
  },
)
