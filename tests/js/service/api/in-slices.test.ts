/** Work on many tasks leaves the event loop to others. */

import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { inSlices } from '../../../../js/service/api/in-slices.ts'

test('of many batches one goes on in each round of the event loop, and each has its turn', async () => {
  const batches = 5
  const done = Array.from({ length: batches }, () => 0)
  const all = done.map((_, batch) =>
    inSlices(Array.from({ length: 40 }), () => {
      done[batch] = (done[batch] ?? 0) + 1
    }),
  )
  for (let before = 0; Math.min(...done) < 40; ) {
    await setImmediate()
    const now = done.reduce((sum, count) => sum + count, 0)
    // a slice of each at once, when they begin
    if (before > 0) expect(now - before).toBeLessThanOrEqual(8)
    expect(Math.max(...done) - Math.min(...done)).toBeLessThanOrEqual(8)
    before = now
  }
  await Promise.all(all)
})
