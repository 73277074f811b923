/** Every attempt of a caller is evidence about its server, whether it may be tried again or not. */

import { expect, test } from 'vitest'
import type { RetryQueueOptions } from '../../js/index.ts'
import { bySize } from '../size.ts'
import { bare, type Fakes, ORDERS, setup, stub, watch } from './setup.ts'

const ORIGIN = new URL(ORDERS).origin
const POST = { method: 'POST', body: 'tea' } as const
const ENOUGH = 1_000

/** Sends until the circuit is so; the first call starts the core. */
async function until(state: string, { queue, clock }: Fakes, send: () => Promise<unknown>) {
  const circuit = () => queue.stats().origins[ORIGIN]?.circuit
  for (let i = 0; i < ENOUGH && circuit() !== state; i++) {
    await send()
    if (i === 0) await queue.ready
    await clock.advance(10)
  }
  expect(circuit()).toBe(state)
}

const KINDS: [string, RetryQueueOptions, RequestInit & { redrive?: object }][] = [
  ['without a key', { idempotency: false }, POST],
  ['too large to be kept', { maxBodyBytes: 1 }, POST],
  ['of one attempt', {}, { redrive: { policy: { maxAttempts: 1 } } }],
]

test.each(KINDS)(
  'failures of calls %s open the circuit, though the core was not there for the first',
  async (_, options, init) => {
    const it = bare(options)
    await until('OPEN', it, async () => {
      it.server.reply(503)
      expect((await it.queue.fetch(ORDERS, init)).status).toBe(503)
    })
  },
)

test.each(KINDS)('and successes of calls %s close it', async (_, options, init) => {
  const it = bare({ ...options, breaker: { whenOpen: 'hold' } })
  await until('OPEN', it, () => {
    it.server.fail()
    return it.queue.fetch(ORDERS, init).catch(() => {})
  })
  await it.clock.advance(6_250)
  await until('CLOSED', it, () => it.queue.fetch(ORDERS, init))
})

test.each(KINDS)('limits that calls %s meet, each with its end, are no outage', async (_, options, init) => {
  const { queue, server, clock } = bare(options)
  for (let i = 0; i < ENOUGH; i++) {
    server.reply(429, { 'retry-after': '1' })
    expect((await queue.fetch(ORDERS, init)).status).toBe(429)
    if (i === 0) await queue.ready
    await clock.advance(10)
  }
  expect(queue.stats().origins[ORIGIN]?.circuit).toBe('CLOSED')
})

test('a server that limits each task once, for a second, answers its caller and all that is handed over', async () => {
  const met = new Set<string>()
  const send: typeof fetch = async (input, init) => {
    const body = await new Request(input, init).text()
    if (met.has(body)) return new Response('done')
    met.add(body)
    return new Response(null, { status: 429, headers: { 'retry-after': '1' } })
  }
  for (let seed = 1n; seed <= bySize(5, 20); seed++) {
    met.clear()
    const { queue, clock } = bare({ fetch: send, concurrency: 2, seed })
    const call = watch(queue.fetch(ORDERS, POST))
    const handedOver = Array.from({ length: 4 }, (_, i) => queue.enqueue(ORDERS, { ...POST, body: `tea ${i}` }))
    await clock.advance(15_000)
    expect(call.value?.status, `seed ${seed}`).toBe(200)
    for (const { taskId } of await Promise.all(handedOver)) {
      expect(await queue.get(taskId), `seed ${seed}`).toMatchObject({ status: 'SUCCEEDED' })
    }
  }
})

test('a success, and a failure that no retry mends, start no core', async () => {
  const { queue, server } = bare()
  server.reply(200).reply(404)
  await queue.fetch(ORDERS, POST)
  await queue.fetch(ORDERS, POST)
  expect(queue.stats().origins).toEqual({})
})

test('mistakes of callers, aborts and calls with redrive: false say nothing of a server', async () => {
  const { queue, server, clock } = await setup({ breaker: {}, retryBudget: {}, idempotency: false })
  for (let i = 0; i < 200; i++) {
    await queue.fetch(ORDERS, { ...POST, mode: 'no such mode' as RequestMode }).catch(() => {})
    server.hang()
    const caller = new AbortController()
    const left = queue.fetch(ORDERS, { ...POST, signal: caller.signal }).catch(() => {})
    await clock.advance(0)
    caller.abort()
    await left
    server.reply(503)
    await queue.fetch(ORDERS, { ...POST, redrive: false })
  }
  await clock.advance(0)
  expect(queue.stats().origins).toEqual({})
})

test('S8 the breaker is there without being asked for, in a page as on a server', async () => {
  stub({ location: new URL('https://app.test/') })
  const it = bare({ principal: null, idempotency: { origins: [ORIGIN] } })
  await until('OPEN', it, () => {
    it.server.reply(503)
    return it.queue.fetch(ORDERS, { redrive: { policy: { maxAttempts: 1 } } })
  })
})
