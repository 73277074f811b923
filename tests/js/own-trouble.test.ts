/** Tasks that fail whatever others do, beside healthy ones of the same origin, with the gates that nothing was said about. */

import { expect, test } from 'vitest'
import type { RetryQueue, RetryQueueOptions } from '../../js/index.ts'
import type { FakeClock } from '../../js/testing.ts'
import { opened } from './durable-setup.ts'
import { API, setup } from './setup.ts'

const GATES: RetryQueueOptions = { breaker: {}, retryBudget: {} }
const PATIENT = { initialDelayMs: 500, jitterType: 'FULL', maxAttempts: 100, totalBudgetMs: 3_600_000 } as const

const open = { 'in memory': setup, stored: opened } as const

/** A queue whose server answers 503 under /bad, and 200 elsewhere, 20 ms later. */
async function started(
  where: keyof typeof open,
  gates = GATES,
): Promise<{ readonly queue: RetryQueue; readonly clock: FakeClock }> {
  let clock: FakeClock | undefined
  const fetch = async (input: RequestInfo | URL): Promise<Response> => {
    await new Promise<void>((resolve) => clock?.after(20, resolve))
    return new Response(null, {
      status: String(input instanceof Request ? input.url : input).includes('/bad') ? 503 : 200,
    })
  }
  const parts = await open[where]({ ...gates, fetch, policy: PATIENT })
  clock = parts.clock
  return parts
}

const post = (queue: RetryQueue, path: string) => queue.enqueue(`${API}/${path}`, { method: 'POST', body: 'tea' })

async function untilOpen(queue: RetryQueue, clock: FakeClock) {
  for (let ms = 0; ms < 20_000 && queue.stats().origins[API]?.circuit !== 'OPEN'; ms += 50) await clock.advance(50)
  expect(queue.stats().origins[API]?.circuit).toBe('OPEN')
}

test.for(['in memory', 'stored'] as const)(
  'L1 a few tasks that always fail keep 121 others of their origin waiting for one opening of the breaker: %s',
  async (where) => {
    const { queue, clock } = await started(where)
    for (let i = 0; i < 5; i++) await post(queue, `bad/${i}`)
    await untilOpen(queue, clock)
    for (let i = 0; i < 121; i++) await post(queue, `good/${i}`)
    // the gates see what waits in memory, and may look sooner; of a store they know what has failed
    await clock.advance(where === 'stored' ? 30_000 : 10_000)
    expect(queue.stats()).toMatchObject({ succeeded: 121, depth: 5 })
  },
)

test('L6 a stored task that was never sent does not wait for the tokens that always-failing ones use up', async () => {
  const { queue, clock } = await started('stored', {
    breaker: false,
    retryBudget: { capacity: 1, perSuccess: 0, perSecond: 0.01 },
  })
  for (let i = 0; i < 3; i++) await post(queue, `bad/${i}`)
  await clock.advance(10_000)
  expect(queue.stats().origins[API]?.retryBudget).toBeLessThan(1)
  for (let i = 0; i < 20; i++) await post(queue, `good/${i}`)
  await clock.advance(1_000)
  expect(queue.stats()).toMatchObject({ succeeded: 20, depth: 3 })
  // a token is back after 100 s, and those that could not pay are asked for again
  const { attempts } = queue.stats()
  await clock.advance(100_000)
  expect(queue.stats().attempts).toBe(attempts + 1)
})
