/** The short form of `npm run sim:gates -- --http`: gates must not fail callers of a server that fails at random. */

import { expect, test } from 'vitest'
import { run } from './gates/random.ts'

const ROW = { seed: 1, calls: 200, callers: 10, policy: { initialDelayMs: 10, maxDelayMs: 100 } } as const

test.each([300, 600])(
  'L6 over HTTP, of a server that fails %d times in a thousand no more callers fail than without gates',
  async (perMille) => {
    const [without, gated] = await Promise.all([
      run({ ...ROW, perMille, gated: false }),
      run({ ...ROW, perMille, gated: true }),
    ])
    expect(gated.failed).toBeLessThanOrEqual(without.failed + ROW.calls * 0.01)
  },
)

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

test.each([300, 600])(
  'L6 over HTTP, of a server that fails %d times in a thousand a lone caller gets no more failures than without gates',
  async (perMille) => {
    const [without, gated] = await Promise.all([
      run({ ...LONE, perMille, gated: false }),
      run({ ...LONE, perMille, gated: true }),
    ])
    expect(gated.openings).toBeGreaterThan(0)
    expect(gated.failed).toBeLessThanOrEqual(without.failed + LONE.calls * 0.01)
  },
)
