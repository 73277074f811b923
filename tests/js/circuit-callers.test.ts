/** An open circuit with `whenOpen: 'fail'`: an awaited call fails at once, what is enqueued or deferred waits for its server. */

import axios from 'axios'
import { expect, onTestFinished, test } from 'vitest'
import { attachToAxios } from '../../js/adapters/axios.ts'
import { CircuitOpenError, type RetryQueueOptions } from '../../js/index.ts'
import { bySize } from '../size.ts'
import { opened } from './durable-setup.ts'
import { always, type Fakes, markOf, ORDERS, setup, watch } from './setup.ts'

const ORIGIN = new URL(ORDERS).origin
const ONCE = { redrive: { policy: { maxAttempts: 1 } } } as const
/** The longest that a circuit is open the first time. */
const OPEN_MS = 6_250

const POST = { method: 'POST', body: 'tea' } as const
const BREAKER = { openMs: OPEN_MS, maxOpenMs: 60_000, whenOpen: 'fail' } as const
const defaults = ({ breaker, ...options }: RetryQueueOptions = {}) =>
  setup({ retryBudget: {}, ...options, breaker: { ...BREAKER, ...breaker } })
type Queues = Pick<Fakes, 'queue' | 'server' | 'clock' | 'hitsAfter'>
const stored = (options: RetryQueueOptions) => opened({ breaker: BREAKER, retryBudget: {}, ...options })
const PLACES: readonly (readonly [string, (options: RetryQueueOptions) => Promise<Queues>])[] = [
  ['in memory,', defaults],
  ['in a store,', stored],
]
const circuit = ({ queue }: Pick<Fakes, 'queue'>) => queue.stats().origins[ORIGIN]?.circuit

/** Calls that are not tried again, until the circuit is open; the server is well again afterwards. */
async function open(fakes: Queues) {
  const { queue, server, clock } = fakes
  while (circuit(fakes) !== 'OPEN') {
    server.reply(503)
    expect((await queue.fetch(ORDERS, ONCE)).status).toBe(503)
    await clock.advance(10)
  }
  return { hits: server.hits, at: clock.now() }
}

async function untilHalfOpen(fakes: Queues) {
  for (let ms = 0; ms < OPEN_MS && circuit(fakes) === 'OPEN'; ms += 50) await fakes.clock.advance(50)
  expect(circuit(fakes)).toBe('HALF_OPEN')
}

test('S8 an awaited call fails at once, and its error says since when, until when, and what to do', async () => {
  const fakes = await defaults()
  const { hits, at } = await open(fakes)
  await fakes.clock.advance(1_000)
  const failed = await fakes.queue.fetch(`${ORDERS}/7?token=hush`).catch((error) => error)
  expect(failed).toBeInstanceOf(CircuitOpenError)
  expect(failed).toMatchObject({ code: 'CIRCUIT_OPEN', origin: ORIGIN })
  expect(at - failed.since).toBeLessThanOrEqual(10)
  expect(failed.until).toBeGreaterThan(fakes.clock.now())
  expect(failed.until).toBeLessThanOrEqual(failed.since + OPEN_MS)
  const time = '\\d\\d:\\d\\d:\\d\\d'
  const words = `^GET https://api\\.test was not sent: .* open since ${time}, and no call is sent until ${time}; `
  expect(failed.message).toMatch(new RegExp(words))
  for (const remedy of ['enqueue', "mode 'defer'", 'breaker.fallback', 'breaker: false'])
    expect(failed.message).toContain(remedy)
  expect(failed.message).not.toContain('hush')
  expect(fakes.server.hits).toBe(hits)
  expect((await fakes.queue.fetch('https://other.test/')).status).toBe(200)
})

/** As few calls that fail as open the circuit, so that it may be chance. */
async function openInDoubt(fakes: Queues) {
  for (let failed = 0; failed < 5; failed++) {
    fakes.server.reply(503)
    await fakes.queue.fetch(ORDERS, ONCE)
    await fakes.clock.advance(700)
  }
  expect(circuit(fakes)).toBe('OPEN')
  return fakes.server.hits
}

test('S8 while its failures may be chance, an awaited call is sent, is not retried, and its success closes the circuit', async () => {
  const fakes = await defaults()
  const hits = await openInDoubt(fakes)
  fakes.server.reply(503).reply(200)
  const failed = await fakes.queue.fetch(ORDERS)
  expect([failed.status, markOf(failed)?.reason, circuit(fakes)]).toEqual([503, 'circuit_open', 'OPEN'])
  expect([(await fakes.queue.fetch(ORDERS)).status, circuit(fakes)]).toEqual([200, 'CLOSED'])
  expect(fakes.server.hits).toBe(hits + 2)
})

test('Axios hears of it as fetch does', async () => {
  const fakes = await defaults()
  const instance = axios.create({ adapter: 'fetch' })
  onTestFinished(attachToAxios(instance, fakes.queue))
  await open(fakes)
  await expect(instance.get(ORDERS)).rejects.toBeInstanceOf(CircuitOpenError)
})

test.each(['OPEN', 'HALF_OPEN'] as const)(
  '%s a deferred call gets its 202 at once, and no attempt is made',
  async (state) => {
    const fakes = await defaults({ breaker: { fallback: () => new Response('kept') } })
    const { hits } = await open(fakes)
    if (state === 'HALF_OPEN') {
      await untilHalfOpen(fakes)
      fakes.server.hang()
      watch(fakes.queue.fetch(ORDERS))
      await fakes.clock.advance(0)
    }
    const response = await fakes.queue.fetch(ORDERS, { ...POST, redrive: { mode: 'defer' } })
    expect(response.status).toBe(202)
    const taskId = response.headers.get('redrive-task-id') ?? ''
    expect(await fakes.queue.get(taskId)).toMatchObject({ status: 'PENDING', attemptNumber: 0 })
    expect(fakes.server.hits).toBe(state === 'OPEN' ? hits : hits + 1)
  },
)

test.each(PLACES)('%s a deferred call, even one that may not be repeated, waits for its one attempt', async (_, at) => {
  const fakes = await at({ idempotency: false })
  const { hits } = await open(fakes)
  const response = await fakes.queue.fetch(ORDERS, { ...POST, redrive: { mode: 'defer' } })
  expect([response.status, fakes.server.hits]).toEqual([202, hits])
  await fakes.clock.advance(OPEN_MS)
  expect(fakes.server.hits).toBe(hits + 1)
})

test.each(PLACES)(
  '%s a call whose retry waits when the circuit opens has its last answer, and no more',
  async (_, at) => {
    const fakes = await at({ policy: { initialDelayMs: 20_000 } })
    fakes.server.reply(503)
    const waits = watch(fakes.queue.fetch(ORDERS, POST))
    await fakes.clock.advance(0)
    expect(waits.state).toBe('pending')
    const { hits } = await open(fakes)
    await fakes.clock.advance(0)
    expect(waits.value?.status).toBe(503)
    expect(markOf(waits.value)?.reason).toBe('circuit_open')
    await fakes.clock.advance(60_000)
    expect(fakes.server.hits).toBe(hits)
  },
)

test("with 'hold' it waits for as long as its caller does", async () => {
  const fakes = await defaults({ breaker: { whenOpen: 'hold' }, policy: { initialDelayMs: 20_000 } })
  fakes.server.reply(503)
  const waits = watch(fakes.queue.fetch(ORDERS))
  await fakes.clock.advance(0)
  await open(fakes)
  expect(waits.state).toBe('pending')
  await fakes.clock.advance(20_000 + OPEN_MS)
  expect(waits.value?.status).toBe(200)
})

test('half-open one awaited call goes to see, others fail meanwhile and say that one is under way', async () => {
  const fakes = await defaults()
  const { hits } = await open(fakes)
  await untilHalfOpen(fakes)
  const end = fakes.server.hang()
  const probe = watch(fakes.queue.fetch(ORDERS))
  await fakes.clock.advance(0)
  expect(fakes.server.hits).toBe(hits + 1)
  await expect(fakes.queue.fetch(ORDERS)).rejects.toBeInstanceOf(CircuitOpenError)
  end(200)
  await fakes.clock.advance(0)
  expect(probe.value?.status).toBe(200)
  expect((await fakes.queue.fetch(ORDERS)).status).toBe(200)
})

test('while the queue makes the probe no time is known', async () => {
  const fakes = await defaults()
  await open(fakes)
  await fakes.queue.enqueue(ORDERS, POST)
  fakes.server.hang()
  await fakes.clock.advance(OPEN_MS)
  const failed = await fakes.queue.fetch(ORDERS).catch((error) => error)
  expect(failed).toMatchObject({ code: 'CIRCUIT_OPEN', until: null })
  expect(failed.message).toContain('another call is trying it out now')
})

test('a probe that fails is the last attempt of its call', async () => {
  const fakes = await defaults()
  const { hits } = await open(fakes)
  await untilHalfOpen(fakes)
  always(fakes.server, 503)
  const probe = await fakes.queue.fetch(ORDERS)
  expect([probe.status, markOf(probe)?.reason]).toEqual([503, 'circuit_open'])
  expect(fakes.server.hits).toBe(hits + 1)
  expect(circuit(fakes)).toBe('OPEN')
})

test('a probe that its caller aborts frees its place at once', async () => {
  const fakes = await defaults()
  const { hits } = await open(fakes)
  await untilHalfOpen(fakes)
  fakes.server.hang()
  const caller = new AbortController()
  const probe = watch(fakes.queue.fetch(ORDERS, { signal: caller.signal }))
  await fakes.clock.advance(0)
  caller.abort()
  await fakes.clock.advance(0)
  expect(probe.error).toMatchObject({ name: 'AbortError' })
  expect((await fakes.queue.fetch(ORDERS)).status).toBe(200)
  expect(fakes.server.hits).toBe(hits + 2)
})

test('a probe that cannot be sent, by a mistake of its caller, frees its place at once', async () => {
  const fakes = await defaults()
  await open(fakes)
  await untilHalfOpen(fakes)
  await expect(fakes.queue.fetch(ORDERS, { mode: 'no such mode' as RequestMode })).rejects.toBeInstanceOf(TypeError)
  expect((await fakes.queue.fetch(ORDERS)).status).toBe(200)
})

test('a server is down for minutes: after 3 s each call in a row fails within 50 ms', async () => {
  const { clock, events, ...fakes } = await defaults({ fetch: async () => new Response(null, { status: 503 }) })
  const beganAt = clock.now()
  let slowest = 0
  while (clock.now() < beganAt + bySize(20_000, 300_000)) {
    const at = clock.now()
    const call = watch(fakes.queue.fetch(ORDERS, POST))
    while (call.state === 'pending') await clock.advance(10)
    if (at >= beganAt + 3_000) slowest = Math.max(slowest, clock.now() - at)
    await clock.advance(100)
  }
  expect(events.of('circuit').length).toBeGreaterThan(2)
  expect(slowest).toBeLessThanOrEqual(50)
})
