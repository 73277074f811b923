import { afterEach, expect, onTestFinished, test } from 'vitest'
import { type FetchOptions, installFetch, wrapFetch } from '../../js/adapters/fetch.ts'
import { RetryQueue } from '../../js/index.ts'
import { fakeClock, scriptedServer } from '../../js/testing.ts'
import { always, closeNow, markOf, ORDERS, setup } from './setup.ts'

const original = globalThis.fetch

afterEach(() => {
  globalThis.fetch = original
})

test('its defaults hold for every call, and a call’s own options are laid over them', async () => {
  const { queue, server, clock } = await setup()
  const fetch = wrapFetch(queue, { mode: 'defer', policy: { maxAttempts: 2 } })
  always(server, 503)
  expect((await fetch(ORDERS)).status).toBe(202)
  const init = { redrive: { mode: 'await' } } as const
  const answer = fetch(ORDERS, init)
  await clock.advance(1_000)
  expect(markOf(await answer)).toMatchObject({ reason: 'max_attempts' })
})

test('redrive: false on a call wins over the defaults', async () => {
  const { queue } = await setup({}, 503)
  const init = { redrive: false } as const
  expect((await wrapFetch(queue, { mode: 'defer' })(ORDERS, init)).status).toBe(503)
})

test('match picks the requests that are the queue’s; the others are plain fetch', async () => {
  const { queue, server, clock } = await setup()
  const fetch = wrapFetch(queue, { match: ({ method, url }) => method === 'POST' && url.endsWith('/orders') })
  always(server, 503, 2)
  expect((await fetch(ORDERS)).status).toBe(503)
  expect((await fetch(`${ORDERS}/1`, { method: 'POST' })).status).toBe(503)
  const answer = fetch(new Request(ORDERS, { method: 'POST', body: 'x' }))
  await clock.advance(1_000)
  expect((await answer).status).toBe(200)
  expect(server.requests.map(({ headers }) => headers.has('idempotency-key'))).toEqual([false, false, true])
  expect(server.requests[2]?.body).toBe('x')
})

test.each([undefined, null, 0])('a match that says %s leaves the request to plain fetch', async (said) => {
  const { queue, server } = await setup({}, ...Array(1).fill(503))
  const match = (() => said) as unknown as () => boolean
  expect((await wrapFetch(queue, { match })(ORDERS, { method: 'POST' })).status).toBe(503)
  expect(server.requests.map(({ headers }) => headers.has('idempotency-key'))).toEqual([false])
})

test.each([true, false])('match is asked about a stream without taking it (match says %s)', async (matches) => {
  const { queue, server } = await setup()
  const body = new Blob(['streamed']).stream()
  const init = { method: 'POST', body, duplex: 'half' } as RequestInit
  const answer = wrapFetch(queue, { match: () => matches })(ORDERS, init)
  if (matches) await expect(answer).rejects.toMatchObject({ code: 'BODY_NOT_REPLAYABLE' })
  else expect((await answer).status).toBe(200)
  expect(server.requests.map((request) => request.body)).toEqual(matches ? [] : ['streamed'])
})

test.each<[what: string, input: string]>([
  ['a malformed URL', 'http://'],
  ['a relative one where there is no page', '/orders'],
])('%s rejects and never throws, wrapped or installed', async (_what, input) => {
  const { queue } = await setup()
  for (const fetch of [wrapFetch(queue), wrapFetch(queue, { match: () => true })]) {
    await expect(fetch(input)).rejects.toThrow(TypeError)
  }
  const uninstall = installFetch(queue)
  const answer = globalThis.fetch(input)
  uninstall()
  await expect(answer).rejects.toThrow(TypeError)
})

test('a match that throws rejects the call', async () => {
  const { queue, server } = await setup()
  const boom = new Error('boom')
  const fetch = wrapFetch(queue, {
    match: () => {
      throw boom
    },
  })
  await expect(fetch(ORDERS)).rejects.toBe(boom)
  expect(server.hits).toBe(0)
})

/** A queue that uses the global fetch, which is the server’s. */
async function installable() {
  const clock = fakeClock()
  const server = scriptedServer({ clock })
  globalThis.fetch = server.fetch
  const queue = new RetryQueue({ clock, policy: { jitterType: 'NONE', initialDelayMs: 1_000 } })
  await queue.ready
  onTestFinished(() => closeNow(queue, clock))
  return { queue, server, clock }
}

test('installFetch replaces the global fetch until it is taken back', async () => {
  const { queue, server, clock } = await installable()
  const uninstall = installFetch(queue)
  server.reply(503)
  const answer = globalThis.fetch(ORDERS, { method: 'POST' })
  await clock.advance(1_000)
  expect((await answer).status).toBe(200)
  uninstall()
  expect(globalThis.fetch).toBe(server.fetch)
  server.reply(503)
  expect((await globalThis.fetch(ORDERS)).status).toBe(503)
})

test('what the queue itself sends does not come back to the queue', async () => {
  const { queue, server, clock } = await installable()
  installFetch(queue)
  always(server, 503, 2)
  const answer = globalThis.fetch(ORDERS)
  await clock.advance(3_000)
  expect([(await answer).status, server.hits]).toEqual([200, 3])
  expect((await queue.list()).tasks).toHaveLength(1)
})

test('installed, a stream passes through', async () => {
  const { queue, server } = await installable()
  installFetch(queue)
  server.reply(503)
  const init = { method: 'POST', body: new Blob(['streamed']).stream(), duplex: 'half' } as RequestInit
  expect((await globalThis.fetch(ORDERS, init)).status).toBe(503)
  expect(server.requests[0]?.body).toBe('streamed')
  expect(server.requests[0]?.headers.has('idempotency-key')).toBe(false)
})

test('installed, a Request as the second argument is tried again', async () => {
  const { queue, server, clock } = await installable()
  installFetch(queue)
  always(server, 503, 1)
  const answer = globalThis.fetch(ORDERS, new Request('https://elsewhere.test/', { method: 'POST', body: 'x' }))
  await expect.poll(() => queue.stats().depth).toBe(1)
  await clock.advance(1_000)
  expect((await answer).status).toBe(200)
  expect(server.requests.map(({ body }) => body)).toEqual(['x', 'x'])
})

test('installed with defaults and match, both hold', async () => {
  const { queue, server } = await installable()
  installFetch(queue, { mode: 'defer', match: ({ url }) => url === ORDERS })
  always(server, 503, 2)
  expect((await globalThis.fetch(ORDERS)).status).toBe(202)
  expect((await globalThis.fetch(`${ORDERS}/1`)).status).toBe(503)
})

test('taken back after somebody else wrapped it, theirs stays and reaches the original', async () => {
  const { queue, server } = await installable()
  const uninstall = installFetch(queue)
  const installed = globalThis.fetch
  const theirs: typeof fetch = (input, init) => installed(input, init)
  globalThis.fetch = theirs
  uninstall()
  expect(globalThis.fetch).toBe(theirs)
  server.reply(503)
  expect((await globalThis.fetch(ORDERS)).status).toBe(503)
})

test('wrong defaults are told of at once, and the global fetch stays as it was', async () => {
  const { queue } = await setup()
  const wrong = { waitMs: -1 }
  expect(() => wrapFetch(queue, wrong)).toThrow(/redrive\.waitMs.*-1/)
  expect(() => installFetch(queue, wrong)).toThrow(/redrive\.waitMs.*-1/)
  expect(() => wrapFetch(queue, { retries: 3 } as FetchOptions)).toThrow(/redrive\.retries: no such option/)
  expect(globalThis.fetch).toBe(original)
})
