/** A body that never ends costs a call of Axios its time limit at most: the call settles, with the status that is known. */
import { describe, expect, test } from 'vitest'
import { ADAPTERS, eventually, failure, setup } from './axios-setup.ts'

/** So long that the headers of an answer come within it on a busy machine, too: without them there is no status. */
const LIMIT_MS = 3_000

describe.each(ADAPTERS)('an error whose body never ends, with the %s adapter', (adapter) => {
  test('L5 the call settles with the last answer, and its connection is let go', async () => {
    const { server, api, queue } = await setup(adapter, { policy: { attemptTimeoutMs: LIMIT_MS, maxAttempts: 2 } })
    server.dribble(503).dribble(503)
    const begun = Date.now()
    const error = await failure(api.post('/orders', 'A-1'))
    expect(error.response?.status).toBe(503)
    expect(error.response?.data).toMatch(/^x*$/)
    expect(Date.now() - begun).toBeLessThan(5 * LIMIT_MS)
    await eventually(() => server.inFlight).toBe(0)
    expect(queue.stats()).toMatchObject({ depth: 0, inFlight: 0 })
  })

  test('a permanent failure on a retry settles likewise', async () => {
    const { server, api } = await setup(adapter, { policy: { attemptTimeoutMs: LIMIT_MS } })
    server.reply(503).dribble(404)
    const error = await failure(api.post('/orders', 'A-1'))
    expect(error.response?.status).toBe(404)
    await eventually(() => server.inFlight).toBe(0)
  })
})
