// What bounds the retries of all requests of an isolate, where they call more origins than it keeps in mind.
import { expect, test, vi } from 'vitest'
import { SharedGates } from '../../../js/cloudflare/shared-gates.ts'
import { setup } from '../setup.ts'

vi.mock('../../../js/core/static.ts', () => import('../../../js/core/file.ts'))

const MOST_ORIGINS = 1_000
const DAY_MS = 86_400_000
const originOf = (i: number): string => `https://${i}.test`

test('S9 L4 past 1,000 origins that have failed a retry to a new one is not made here, until others have nothing to remember', async () => {
  const { queue, server, clock } = await setup({ policy: { maxAttempts: 1 } })
  const gates = new SharedGates(queue, { breaker: {}, retryBudget: {} })
  const failsAt = async (origin: string): Promise<boolean> => {
    server.reply(503)
    expect((await queue.fetch(`${origin}/orders`)).status).toBe(503)
    return gates.mayRetry(origin, clock.now())
  }
  for (let i = 0; i < MOST_ORIGINS; i++) expect(await failsAt(originOf(i)), originOf(i)).toBe(true)
  expect(await failsAt(originOf(MOST_ORIGINS))).toBe(false)
  expect(await failsAt(originOf(0)), 'one that is known has its own').toBe(true)

  await clock.advance(DAY_MS)
  expect(await failsAt(originOf(MOST_ORIGINS))).toBe(true)
})
