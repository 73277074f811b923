/** An open circuit by default: an awaited call waits, unsent, until its server is back, and fails only where that would be too late for it. */

import axios, { type AxiosAdapter } from 'axios'
import { expect, onTestFinished, test } from 'vitest'
import { attachToAxios } from '../../js/adapters/axios.ts'
import { CircuitOpenError, QueueClosedError, type RetryQueueOptions } from '../../js/index.ts'
import { opened } from './durable-setup.ts'
import { always, type Fakes, markOf, ORDERS, setup } from './setup.ts'

const ORIGIN = new URL(ORDERS).origin
const ONCE = { redrive: { policy: { maxAttempts: 1 } } } as const
const POST = { method: 'POST', body: 'tea' } as const
type Queues = Pick<Fakes, 'queue' | 'server' | 'clock' | 'hitsAfter'>
const inMemory = (options: RetryQueueOptions = {}) => setup({ breaker: {}, retryBudget: {}, ...options })
const stored = (options: RetryQueueOptions = {}) => opened({ breaker: {}, retryBudget: {}, ...options })
const PLACES: readonly (readonly [string, (options?: RetryQueueOptions) => Promise<Queues>])[] = [
  ['in memory', inMemory],
  ['with a store', stored],
]
const circuit = ({ queue }: Pick<Fakes, 'queue'>) => queue.stats().origins[ORIGIN]?.circuit

/** Failures until the circuit is open, so many in a row that chance does not make them. */
async function open(fakes: Queues) {
  const { queue, server, clock } = fakes
  for (let failed = 0; failed < 40; failed++) {
    server.reply(503)
    if (failed === 39) await clock.advance(2_500)
    await queue.fetch(ORDERS, ONCE)
  }
  expect(circuit(fakes)).toBe('OPEN')
  return fakes.server.hits
}

const statusOf = (call: Promise<Response>): Promise<number | string> =>
  call.then(
    (response) => (response.status === 200 ? 200 : `${response.status} ${markOf(response)?.reason}`),
    (error) => error.code ?? error.name,
  )

test.each(PLACES)(
  '%s, 200 calls of an outage that ends are all answered, and few of them were sent in vain',
  async (_, make) => {
    const fakes = await make()
    const before = await open(fakes)
    always(fakes.server, 503, 3)
    const calls = Array.from({ length: 200 }, (_, i) =>
      statusOf(fakes.queue.fetch(`${ORDERS}/${i}`, i % 2 ? POST : {})),
    )
    expect(await fakes.hitsAfter(0)).toBe(before)
    for (let ms = 0; ms < 12_000; ms += 50) await fakes.clock.advance(50)
    const answers = await Promise.all(calls)
    expect(answers.filter((answer) => answer === 200)).toHaveLength(200)
    expect(fakes.server.hits - before).toBe(203)
  },
)

test('it waits as long as its waitMs, is told so once the opening would last longer, and is not sent later', async () => {
  const fakes = await inMemory()
  const before = await open(fakes)
  const impatient = fakes.queue.fetch(ORDERS, { redrive: { waitMs: 20 } }).catch((error) => error)
  expect(await impatient).toBeInstanceOf(CircuitOpenError)
  always(fakes.server, 503, 1_000)
  const calls = [1_500, 6_000, 30_000].map(async (waitMs) => {
    const at = fakes.clock.now()
    const told = await statusOf(fakes.queue.fetch(ORDERS, { redrive: { waitMs } }))
    return { waitMs, told, after: fakes.clock.now() - at }
  })
  for (let ms = 0; ms < 31_000; ms += 50) await fakes.clock.advance(50)
  for (const { waitMs, told, after } of await Promise.all(calls)) {
    expect(['CIRCUIT_OPEN', '503 circuit_open', '503 wait_exceeded', '503 max_attempts']).toContain(told)
    expect(after).toBeLessThanOrEqual(waitMs + 50)
  }
  const { hits } = fakes.server
  expect(hits - before).toBeLessThan(40)
  await fakes.clock.advance(60_000)
  expect(fakes.server.hits).toBe(hits)
})

test('one that aborts at the door is told so at once, with the reason of its signal, and leaves its place', async () => {
  const fakes = await inMemory({ capacity: 2 })
  await open(fakes)
  const controller = new AbortController()
  const first = fakes.queue.fetch(ORDERS, { signal: controller.signal }).catch((error) => error)
  const second = statusOf(fakes.queue.fetch(ORDERS))
  // no room for more
  expect(await statusOf(fakes.queue.fetch(ORDERS))).toBe('CIRCUIT_OPEN')
  controller.abort(new TypeError('the user has left'))
  expect(await first).toEqual(new TypeError('the user has left'))
  const third = statusOf(fakes.queue.fetch(ORDERS))
  for (let ms = 0; ms < 5_000; ms += 50) await fakes.clock.advance(50)
  expect([await second, await third]).toEqual([200, 200])
})

test('one that is let in leaves no listener on its signal', async () => {
  const fakes = await inMemory()
  await open(fakes)
  const { signal } = new AbortController()
  const listening = new Set<unknown>()
  const { addEventListener, removeEventListener } = signal
  signal.addEventListener = (name: string, ...rest: [never]) => {
    listening.add(rest[0])
    addEventListener.call(signal, name, ...rest)
  }
  signal.removeEventListener = (name: string, ...rest: [never]) => {
    listening.delete(rest[0])
    removeEventListener.call(signal, name, ...rest)
  }
  const call = statusOf(fakes.queue.fetch(ORDERS, { signal }))
  for (let ms = 0; ms < 5_000; ms += 50) await fakes.clock.advance(50)
  expect([await call, listening.size]).toEqual([200, 0])
})

test('a queue that closes tells those at the door', async () => {
  const fakes = await inMemory()
  const before = await open(fakes)
  const waiting = fakes.queue.fetch(ORDERS).catch((error) => error)
  await fakes.clock.advance(0)
  await fakes.queue.close()
  expect(await waiting).toBeInstanceOf(QueueClosedError)
  expect(fakes.server.hits).toBe(before)
})

test('with a fallback, and without whenOpen, it gets that at once', async () => {
  const fakes = await inMemory({ breaker: { fallback: () => new Response('kept') } })
  await open(fakes)
  expect(await (await fakes.queue.fetch(ORDERS)).text()).toBe('kept')
})

test('Axios waits as fetch does', async () => {
  const fakes = await inMemory()
  const data = 'tea'
  const adapter: AxiosAdapter = async (config) => ({ status: 200, statusText: 'OK', headers: {}, config, data })
  const instance = axios.create({ adapter })
  onTestFinished(attachToAxios(instance, fakes.queue))
  await open(fakes)
  const waiting = instance.get(ORDERS)
  for (let ms = 0; ms < 5_000; ms += 50) await fakes.clock.advance(50)
  expect((await waiting).status).toBe(200)
})

test.each(PLACES)(
  '%s, a call whose retry waits when the circuit opens is answered once the server is back',
  async (_, make) => {
    const fakes = await make()
    const { queue, server, clock } = fakes
    always(server, 503, 30)
    const waiting = statusOf(queue.fetch(ORDERS, { ...POST, redrive: { policy: { maxAttempts: 10 } } }))
    for (let ms = 0; circuit(fakes) !== 'OPEN' && ms < 10_000; ms += 100) {
      await queue.fetch(`${ORDERS}/other`, ONCE)
      await clock.advance(100)
    }
    expect(circuit(fakes)).toBe('OPEN')
    for (let ms = 0; ms < 20_000; ms += 50) await clock.advance(50)
    expect(await waiting).toBe(200)
  },
)

test.each(PLACES)(
  '%s, of calls that meet a server that hangs each is sent once, and then they wait for its return',
  async (_, make) => {
    const calls = 100
    let [hits, isBack] = [0, false]
    const fetch: typeof globalThis.fetch = (_input, init) => {
      hits++
      if (isBack) return Promise.resolve(new Response())
      return new Promise((_, reject) => init?.signal?.addEventListener('abort', () => reject(init.signal?.reason)))
    }
    const { queue, clock } = await make({ fetch, policy: { attemptTimeoutMs: 5_000 } })
    const answers: Promise<number | string>[] = []
    for (let i = 0; i < calls; i++) {
      answers.push(statusOf(queue.fetch(`${ORDERS}/${i}`, { ...POST, redrive: { waitMs: 60_000 } })))
      await clock.advance(20)
    }
    for (let ms = 2_000; ms < 20_000; ms += 50) await clock.advance(50)
    const probes = hits - calls
    expect(probes).toBeGreaterThan(0)
    expect(probes).toBeLessThanOrEqual(4)
    isBack = true
    for (let ms = 0; ms < 20_000; ms += 50) await clock.advance(50)
    expect(await Promise.all(answers)).toEqual(answers.map(() => 200))
    expect(hits).toBe(2 * calls + probes)
  },
)
