/** `sign` is asked before each attempt, so that a signature is never older than its request; here as Standard Webhooks defines it. */

import { createHmac } from 'node:crypto'
import { expect, test, vi } from 'vitest'
import type { SignRequest } from '../../js/index.ts'
import { setup as axiosSetup } from './axios-setup.ts'
import { withMethods, world } from './durable-setup.ts'
import { closeNow, ORDERS, setup, watch } from './setup.ts'

const SECRET = Buffer.from('a secret of the two of them')
const POST = { method: 'POST', body: '{"type":"order.paid"}', headers: { 'webhook-id': 'msg_1' } } as const
const KEPT = { sanitize: { persistHeaders: ['webhook-id'] } }

/** https://www.standardwebhooks.com, version 1: what is signed is id, time and body. */
function signatureOf(id: string, timestamp: string, body: Uint8Array): string {
  return `v1,${createHmac('sha256', SECRET).update(`${id}.${timestamp}.`).update(body).digest('base64')}`
}

const signer = (now: () => number) =>
  vi.fn(({ headers, body }: SignRequest) => {
    const timestamp = String(Math.floor(now() / 1_000))
    const signature = signatureOf(headers.get('webhook-id') ?? '', timestamp, body)
    return { 'webhook-timestamp': timestamp, 'webhook-signature': signature }
  })

function expectSigned(headers: Headers, body: string, at: number): void {
  const timestamp = headers.get('webhook-timestamp') ?? ''
  expect(timestamp).toBe(String(Math.floor(at / 1_000)))
  const signature = signatureOf(headers.get('webhook-id') ?? '', timestamp, Buffer.from(body))
  expect(headers.get('webhook-signature')).toBe(signature)
}

test('each attempt of a call is signed anew, the first included', async () => {
  const sign = vi.fn<(request: SignRequest) => HeadersInit>()
  const { queue, server, clock } = await setup({ sign })
  sign.mockImplementation(signer(() => clock.now()))
  server.reply(503).reply(503)
  const answer = watch(queue.fetch(ORDERS, POST))
  await clock.advance(10_000)
  expect([answer.value?.status, server.hits]).toEqual([200, 3])
  for (const { headers, at } of server.requests) expectSigned(headers, POST.body, at)
  expect(sign.mock.calls[0]?.[0]).toMatchObject({ method: 'POST', url: ORDERS })
})

test('S12 a signature is not stored, and a task of an earlier process is signed by the one that sends it', async () => {
  const it = world((store) => withMethods(store, { durability: 'strict' }))
  const sign = signer(() => it.clock.now())
  const first = await it.open({ sign, ...KEPT })
  first.queue.pause()
  const { taskId } = await first.queue.enqueue(ORDERS, POST)
  const kept = await it.store.get(taskId)
  expect(Object.keys(kept?.headers ?? {}).sort()).toEqual(['content-type', 'webhook-id'])
  expect([sign.mock.calls.length, JSON.stringify(kept)]).toEqual([0, expect.not.stringContaining('v1,')])
  await closeNow(first.queue, it.clock)
  await it.clock.advance(3_600_000)
  await it.open({ sign, ...KEPT })
  expect(await it.hitsAfter()).toBe(1)
  for (const { headers, at } of it.server.requests) expectSigned(headers, POST.body, at)
})

test('what sign throws on a first attempt is its caller’s, and nothing is sent', async () => {
  const { queue, server } = await setup({ sign: () => Promise.reject(new Error('no key')) })
  await expect(queue.fetch(ORDERS, POST)).rejects.toThrow('no key')
  expect(server.hits).toBe(0)
})

test.each([undefined, null])(
  'S12 where sign returns %s, nothing is sent unsigned, and the text says what to return',
  async (nothing) => {
    const { queue, events, hitsAfter } = await setup({ sign: () => nothing as unknown as HeadersInit })
    const what = 'sign() returned nothing: return headers, or {} to send this unsigned'
    await expect(queue.fetch(ORDERS, POST)).rejects.toThrow(what)
    const { taskId } = await queue.enqueue(ORDERS, POST)
    expect(await hitsAfter(1_000)).toBe(0)
    expect(events.of('degraded')).toEqual([{ code: 'sign_failed', message: expect.stringContaining(what) }])
    expect(await queue.get(taskId)).toMatchObject({ attemptNumber: 0, status: 'PENDING' })
  },
)

test('a first attempt waits 5 s for a signature', async () => {
  const { queue, clock, server } = await setup({ sign: () => new Promise<HeadersInit>(() => {}) })
  const answer = watch(queue.fetch(ORDERS, POST))
  await clock.advance(5_000)
  expect([answer.state, server.hits]).toEqual(['rejected', 0])
})

test('S12 where sign throws, a task’s attempt is given back, uncounted, and tried again; its words are not repeated', async () => {
  let isBroken = true
  const { queue, clock, events, hitsAfter } = await setup({
    sign: () => {
      if (isBroken) throw new Error('the key whsec_1234 is wrong')
      return { 'webhook-signature': 'v1,x' }
    },
  })
  const { taskId } = await queue.enqueue(ORDERS, POST)
  expect(await hitsAfter(1_000)).toBe(0)
  expect(events.of('degraded')).toEqual([
    { code: 'sign_failed', message: expect.stringMatching(/^(?!.*whsec).*catch it in sign\(\) to log it/) },
  ])
  expect(await queue.get(taskId)).toMatchObject({ attemptNumber: 0, status: 'PENDING' })
  const [, released] = await queue.explain(taskId)
  expect(released).toMatchObject({
    data: { cause: 'sign_failed' },
    text: expect.stringContaining('not sent, sign() failed'),
  })
  isBroken = false
  await clock.advance(120_000)
  expect(await queue.get(taskId)).toMatchObject({ status: 'SUCCEEDED' })
})

test('the hook has a copy: what it does to headers and body changes nothing', async () => {
  const { queue, server } = await setup({
    sign: ({ headers, body }) => {
      headers.set('x-own', 'yes')
      body.fill(0)
      return {}
    },
  })
  await queue.fetch(ORDERS, { method: 'POST', body: new Uint8Array([1, 2]) })
  expect(server.requests[0]?.headers.has('x-own')).toBe(false)
})

test.each([
  ['a Blob', new Blob(['x'.repeat(500)])],
  ['a form', new FormData()],
  ['a Request', new Request(ORDERS, { method: 'POST', body: 'x'.repeat(500) })],
])('%s above maxBodyBytes is signed as it is sent', async (_, body) => {
  const signed: string[] = []
  const sign = (given: SignRequest) => {
    signed.push(new TextDecoder().decode(given.body))
    return {}
  }
  const { queue, server } = await setup({ sign, maxBodyBytes: 100 })
  if (body instanceof FormData) body.set('sku', 'x'.repeat(500))
  await (body instanceof Request ? queue.fetch(body) : queue.fetch(ORDERS, { method: 'POST', body }))
  expect(signed).toEqual([server.requests[0]?.body])
  expect(signed[0]).toContain('x'.repeat(500))
})

test.each(['http', 'fetch'] as const)('Axios calls are signed too, with its %s adapter', async (adapter) => {
  const bodies: string[] = []
  const sign = ({ body }: SignRequest) => {
    bodies.push(new TextDecoder().decode(body))
    return { 'webhook-signature': `v1,${bodies.length}` }
  }
  const { server, api } = await axiosSetup(adapter, { sign, answers: [503, 200] })
  await api.post('/orders', { sku: 'A-1' })
  expect(bodies).toEqual(['{"sku":"A-1"}', '{"sku":"A-1"}'])
  expect(server.requests.map(({ headers }) => headers['webhook-signature'])).toEqual(['v1,1', 'v1,2'])
})
