// A page's production bundle gets its checks with the core's chunk: what it was given before is held against them then.
import { expect, onTestFinished, test } from 'vitest'
import { RetryQueue } from '../../js/index.page.ts'
import { RetryQueue as CheckedQueue, type QueueEvents, type RetryQueueOptions } from '../../js/index.ts'
import { memoryStore } from '../../js/stores/memory.ts'
import { fakeClock, scriptedServer } from '../../js/testing.ts'
import { closeNow, ORDERS, stub } from './setup.ts'

function setup(options: object = {}) {
  const clock = fakeClock()
  const server = scriptedServer({ clock })
  const given = { clock, fetch: server.fetch, warn: false, ...options } as RetryQueueOptions
  const queue = new RetryQueue(given)
  onTestFinished(() => closeNow(queue, clock))
  const degraded: QueueEvents['degraded'][] = []
  queue.on('degraded', (event) => degraded.push(event))
  return { queue, server, degraded, given }
}

const POST = { method: 'POST', body: '{"item":1}' }

/** The error that `run` throws or rejects with. */
async function complaint(run: () => unknown): Promise<Error> {
  try {
    await run()
  } catch (error) {
    return error as Error
  }
  throw new Error('it was accepted')
}

const WRONG: [string, object][] = [
  ['an unknown option', { concurency: 3 }],
  ['a wrong kind', { concurrency: '3' }],
  ['a value out of range', { capacity: 0 }],
  ['a policy', { policy: { maxAttempts: 0 } }],
  ['a schedule without its table', { policy: { strategy: 'table' } }],
  ['two policies of one name', { policies: [{ policyId: 'a' }, { policyId: 'a' }] }],
  ['credentials of what is no origin', { credentials: { '*': () => ({}) } }],
  ['keys by content without a scope', { idempotency: { mode: 'content' } }],
  ['a durable queue of no user', { durable: true, principal: '' }],
]

test.each(WRONG)('%s is refused in the words of the constructor that checks at once', async (_, options) => {
  const { queue, server, degraded, given } = setup(options)
  const atOnce = await complaint(() => new CheckedQueue(given))

  const late = await complaint(() => queue.enqueue(ORDERS, POST))

  expect(late.message).toBe(atOnce.message)
  expect(late).toBeInstanceOf(atOnce.constructor)
  expect(degraded).toEqual([{ code: 'options_refused', message: `${atOnce.message}: calls are plain fetch` }])
  expect(server.hits).toBe(0)
})

test('calls of a queue whose options are refused are plain fetch', async () => {
  const { queue, server } = setup({ concurency: 3 })
  server.reply(503)

  const { status } = await queue.fetch(ORDERS, POST)

  expect(status).toBe(503)
  expect(server.hits).toBe(1)
})

test.each<[string, object]>([
  ['an unknown option', { waitms: 5 }],
  ['a value out of range', { waitMs: -1 }],
  ['a policy that there is not', { policyId: 'slow' }],
  ['labels that are too large', { meta: { text: 'x'.repeat(5_000) } }],
])('a call with %s becomes no task', async (_, redrive) => {
  const { queue, server, given } = setup()
  server.reply(503)
  const atOnce = await complaint(() => new CheckedQueue(given).fetch(ORDERS, { ...POST, redrive }))

  const handedOver = await complaint(() => queue.enqueue(ORDERS, { ...POST, redrive }))
  const sent = server.hits

  expect(handedOver.message).toBe(atOnce.message)
  expect(sent).toBe(0)
  expect(queue.stats().depth).toBe(0)
})

test('a call that was sent before the checks came hears of its mistake when it would be tried again', async () => {
  const { queue, server } = setup()
  server.reply(503)

  const error = await complaint(() => queue.fetch(ORDERS, { ...POST, redrive: { waitMs: -1 } as object }))

  expect(error).toBeInstanceOf(RangeError)
  expect(error.message).toContain('redrive.waitMs')
  expect(server.hits).toBe(1)
  expect(queue.stats().depth).toBe(0)
})

test('once the chunk is there mistakes throw where they are made', async () => {
  const { queue, server } = setup()
  await queue.ready

  const error = await complaint(() => queue.fetch(ORDERS, { ...POST, redrive: { waitMs: -1 } as object }))

  expect(error).toBeInstanceOf(RangeError)
  expect(server.hits).toBe(0)
  expect(() => queue.on('success' as 'succeeded', () => {})).toThrow("did you mean 'succeeded'?")
})

test.each(['', undefined, 5, { id: 1 }])(
  'S16 a principal that is none is refused before the checks have come: %o',
  async (principal) => {
    const { queue, degraded } = setup({ store: memoryStore(), principal: 'ann' })

    const error = await complaint(() => queue.setPrincipal(principal as string))
    const receipt = await queue.enqueue(ORDERS, POST)

    expect(error).toBeInstanceOf(TypeError)
    expect(degraded).toEqual([])
    expect((await queue.get(receipt.taskId))?.principal).toBe('ann')
  },
)

test('options are checked as they were at construction', async () => {
  const { queue, given, degraded } = setup()
  Object.assign(given, { concurrency: 0 })

  await queue.enqueue(ORDERS, POST)

  expect(degraded).toEqual([])
})

test('S16 a durable queue whose principal was not known yet is refused, though its options have one by now', async () => {
  const { queue, given } = setup({ store: memoryStore(), durable: true })
  Object.assign(given, { principal: 'ann' })
  stub({ location: new URL(ORDERS) })

  const refused = await complaint(() => queue.enqueue(ORDERS, POST))

  expect(refused.message).toContain('options.principal')
})

test('S16 a login that is no function names no one before the checks have come, either', async () => {
  const { queue } = setup({ principal: 'ann' })

  const error = await complaint(() => queue.setPrincipal('bob', { during: Promise.resolve() as never }))
  const receipt = await queue.enqueue(ORDERS, POST)

  expect(error).toBeInstanceOf(TypeError)
  expect((await queue.get(receipt.taskId))?.principal).toBe('ann')
})

test('S16 a principal that is not well-formed makes no task', async () => {
  const { queue, server } = setup({ principal: 'ann' })
  await queue.setPrincipal('ann\ud800')

  const refused = await complaint(() => queue.enqueue(ORDERS, POST))

  expect(refused.message).toContain('setPrincipal')
  expect(server.hits).toBe(0)
})

test.each(['concurrency', 'concurrencyPerOrigin'] as const)('a %s of none, set before, is told', async (name) => {
  const { queue, degraded } = setup()
  queue[name] = 0

  const refused = await complaint(() => queue.enqueue(ORDERS, POST))

  expect(refused).toBeInstanceOf(RangeError)
  expect(degraded.map(({ code }) => code)).toEqual(['options_refused'])
})

test.each<[string, object]>([
  ['of a queue', { options: { policy: { retryableStatusCodes: 503 } } }],
  ['of a call', { redrive: { policy: { retryableStatusCodes: new Set([503]) } } }],
])('codes %s that are no list do not lose an answer', async (_, given) => {
  const { options, redrive } = { options: {}, redrive: {}, ...given }
  const { queue } = setup(options)

  const { status } = await queue.fetch(ORDERS, { ...POST, redrive })

  expect(status).toBe(200)
})

test.each<[string, object, hits?: number]>([
  ['a body that is no text', { body: { item: 1 } }],
  ['a list as its body', { body: [{ item: 1 }] }],
  ["another library's Blob", { body: { [Symbol.toStringTag]: 'Blob', size: 1 } }],
  ["another library's form", { body: { [Symbol.toStringTag]: 'FormData' } }],
  ['the data of another library', { body: null, data: { item: 1 } }],
  ['an option beside redrive', { orderKey: 'a' }],
  ['tags that are one text', { redrive: { tags: 'urgent' } }, 0],
  // it does not become the key of all calls for want of a text
  ['a key that is still to come', { redrive: { idempotencyKey: Promise.resolve('k') } }, 0],
])('a call with %s is not tried again, and handed over by no one', async (_, init, hits = 1) => {
  const { queue, server } = setup()
  server.reply(503)
  for (const how of ['fetch', 'enqueue'] as const) {
    const error = await complaint(() => queue[how](ORDERS, { ...POST, ...init }))
    expect(error).toBeInstanceOf(TypeError)
    expect([server.hits, queue.stats().depth]).toEqual([hits, 0])
  }
})

test('a call whose body was read while the checks came is checked before it is sent', async () => {
  const { queue, server } = setup({ preload: 'never', holdFirstAttempts: true })
  const { readable, writable } = new TransformStream()
  const request = new Request(ORDERS, { method: 'POST', body: readable, duplex: 'half' } as RequestInit)
  const error = complaint(() => queue.fetch(request, { redrive: { waitMs: -1 } }))
  await queue.ready

  await writable.close()

  expect((await error).message).toContain('redrive.waitMs')
  expect(server.hits).toBe(0)
})

test.each<[string, unknown]>([
  ['nothing', undefined],
  ['a text', 'warn'],
])('a listener that is %s swallows no report', async (_, listener) => {
  const { queue } = setup({ concurency: 3 })

  const error = await complaint(() => queue.on('degraded', listener as never))

  expect(error).toBeInstanceOf(TypeError)
})

test('bytes that begin as an object’s text does are a body like any other', async () => {
  const { queue, server } = setup()

  const body = new TextEncoder().encode('[object of desire]')
  const receipt = await queue.enqueue(ORDERS, { method: 'POST', body })
  await queue.result(receipt.taskId)

  expect(server.requests.map((request) => request.body)).toEqual(['[object of desire]'])
})
