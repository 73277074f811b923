import { expect, test, vi } from 'vitest'
import { ORDERS, setup } from './setup.ts'

const WITH_KEEPALIVE = new Request(ORDERS, { method: 'POST', keepalive: true })

test.each<[what: string, input: RequestInfo | URL, init: object | undefined]>([
  ['redrive: false', ORDERS, { method: 'POST', redrive: false }],
  ['no-cors', ORDERS, { method: 'POST', mode: 'no-cors' }],
  ['navigate', ORDERS, { mode: 'navigate' }],
  ['keepalive', ORDERS, { method: 'POST', keepalive: true }],
  ['a Request with keepalive', WITH_KEEPALIVE, undefined],
  ['a Request with no-cors', new Request(ORDERS, { mode: 'no-cors' }), undefined],
  ['a data: URL', 'data:,hello', undefined],
  ['a blob: URL', new URL('blob:nodedata:x'), undefined],
])('%s reaches fetch as it is, once, and leaves no task', async (what, input, init) => {
  const fetch = vi.fn(async () => new Response(null, { status: 503 }))
  const { queue, events } = await setup({ fetch })
  const response = await queue.fetch(input, init)
  expect(response.status).toBe(503)
  expect(fetch.mock.calls).toEqual([[input, init]])
  expect(fetch.mock.calls[0]?.[0 as never]).toBe(input)
  // `redrive: false` is asked for, and other schemes are no requests to a server
  const isTold = /no-cors|keepalive/.test(what)
  expect(events.names()).toEqual(isTold ? ['degraded'] : [])
  expect(queue.stats()).toMatchObject({ attempts: 0, firstAttemptSucceeded: 0 })
})

test('init may take keepalive back from a Request', async () => {
  const { queue, server } = await setup()
  await queue.fetch(new Request(ORDERS, { method: 'POST', keepalive: true }), { keepalive: false })
  expect(server.requests[0]?.headers.has('idempotency-key')).toBe(true)
})

test('what passes through fails as fetch fails', async () => {
  const lost = new TypeError('fetch failed')
  const { queue } = await setup({ fetch: () => Promise.reject(lost) })
  await expect(queue.fetch(ORDERS, { redrive: false })).rejects.toBe(lost)
})

test('an opaque response counts as delivered', async () => {
  const opaque = Object.defineProperty(Response.error(), 'type', { value: 'opaque' })
  const { queue, events } = await setup({ fetch: async () => opaque })
  expect(await queue.fetch(ORDERS)).toBe(opaque)
  expect(events.names()).toEqual([])
})
