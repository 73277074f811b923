/** A file of its own: the timer is the core's only where clock and runner come from one load of the modules. */

import { expect, test, vi } from 'vitest'
import { RetryQueue } from '../../js/queue/queue.ts'
import { scriptedServer } from '../../js/testing.ts'
import { always } from './setup.ts'
import { trappingAt } from './trapping.ts'

test('S18 L5 in a page, whose timer is the core’s, a trap ends what waits and close still closes', async () => {
  vi.stubGlobal('location', new URL('https://page.test/'))
  try {
    const { load, trap } = trappingAt('poll')
    const server = scriptedServer()
    const queue = new RetryQueue({ fetch: server.fetch, policy: { initialDelayMs: 20, jitterType: 'NONE' } }, load)
    await queue.ready
    always(server, 503, 2)
    const waiting = queue.fetch('https://page.test/orders')
    trap()
    expect((await waiting).status).toBe(503)
    await queue.close()
  } finally {
    vi.unstubAllGlobals()
  }
})
