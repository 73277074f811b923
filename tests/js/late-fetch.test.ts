/** The global fetch is taken when it is called: what replaces or wraps it after the queue was made hears every attempt. */
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { installFetch, wrapFetch } from '../../js/adapters/fetch.ts'
import { RetryQueue } from '../../js/index.ts'
import { fakeClock } from '../../js/testing.ts'
import { closeNow, NO_GATES, ORDERS, PLAIN_CURVE } from './setup.ts'

/** The network as it is before any other code has touched it: it must not be reached where it was replaced. */
const network = vi.fn(async () => new Response('network', { status: 503 }))

beforeEach(() => {
  network.mockClear()
  vi.stubGlobal('fetch', network)
})
afterEach(() => vi.unstubAllGlobals())

async function setup() {
  const clock = fakeClock()
  const queue = new RetryQueue({ clock, policy: PLAIN_CURVE, ...NO_GATES, warn: false })
  onTestFinished(() => closeNow(queue, clock))
  await queue.ready
  return { queue, clock }
}

test.each<[what: string, send: (queue: RetryQueue) => Promise<unknown>]>([
  ['a first attempt', (queue) => queue.fetch(ORDERS)],
  ['one that passes through', (queue) => queue.fetch(ORDERS, { redrive: false })],
  ['an enqueued one', (queue) => queue.enqueue(ORDERS)],
])('a mock that comes later hears %s', async (_, send) => {
  const { queue, clock } = await setup()
  const mock = vi.fn(async () => new Response())
  vi.stubGlobal('fetch', mock)
  await send(queue)
  await clock.settle()
  expect(mock).toHaveBeenCalledTimes(1)
  expect(network).not.toHaveBeenCalled()
})

test('and the retry of a call that was made before', async () => {
  const { queue, clock } = await setup()
  const answer = queue.fetch(ORDERS)
  const { taskId } = await queue.enqueue(`${ORDERS}/2`)
  await clock.settle()
  vi.stubGlobal('fetch', async () => new Response('mock'))
  await clock.advance(1_000)
  expect(await (await answer).text()).toBe('mock')
  expect((await queue.get(taskId))?.status).toBe('SUCCEEDED')
  expect(network).toHaveBeenCalledTimes(2)
})

test('a wrapper that comes later hears each attempt, and one that is taken back hears none', async () => {
  const { queue, clock } = await setup()
  const heard: string[] = []
  const wrapper: typeof fetch = async (input, init) => {
    heard.push(`${init?.method} ${input}`)
    return network()
  }
  globalThis.fetch = wrapper
  const answer = queue.fetch(ORDERS)
  await clock.advance(1_000)
  globalThis.fetch = network
  await clock.advance(20_000)
  await answer
  expect(heard).toEqual([`GET ${ORDERS}`, `GET ${ORDERS}`])
  expect(network).toHaveBeenCalledTimes(5)
})

test('a Request in place of an init passes through whole', async () => {
  const { queue } = await setup()
  vi.stubGlobal('fetch', async (_: unknown, init: RequestInit) => new Response(`${init.method} ${init.keepalive}`))
  const answer = await queue.fetch(ORDERS, new Request(ORDERS, { method: 'PUT', keepalive: true }))
  expect(await answer.text()).toBe('PUT true')
})

test('a fetch that was given stays what it was', async () => {
  const given = vi.fn(async () => new Response())
  const queue = new RetryQueue({ fetch: given })
  onTestFinished(() => queue.close())
  vi.stubGlobal('fetch', vi.fn())
  await queue.fetch(ORDERS)
  expect(given).toHaveBeenCalledTimes(1)
})

/** As a mock of the network does it: a Request is all that it passes on. */
const passingOn =
  (next: typeof fetch): typeof fetch =>
  async (input, init) => {
    const request = new Request(input, init)
    await Promise.resolve()
    return next(request)
  }

test.each<[what: string, install: (queue: RetryQueue) => void]>([
  ['installFetch', (queue) => void installFetch(queue)],
  [
    'installFetch, twice',
    (queue) => {
      installFetch(queue)
      installFetch(queue)
    },
  ],
  [
    'installFetch, after that of another queue',
    (queue) => {
      installFetch(new RetryQueue({ warn: false }))
      installFetch(queue)
    },
  ],
  [
    'installFetch, and a mock that passes on what it does not know',
    (queue) => {
      installFetch(queue)
      globalThis.fetch = passingOn(globalThis.fetch)
    },
  ],
  [
    'wrapFetch as the global one',
    (queue) => {
      globalThis.fetch = wrapFetch(queue)
    },
  ],
  [
    'wrapFetch as the global one, and a wrapper around it',
    (queue) => {
      const wrapped = wrapFetch(queue)
      globalThis.fetch = async (input, init) => {
        await Promise.resolve()
        return wrapped(input, { ...init })
      }
    },
  ],
  [
    'queue.fetch as the global one, without a prototype',
    (queue) => {
      globalThis.fetch = (input, init) => queue.fetch(input, Object.assign(Object.create(null), init))
    },
  ],
  [
    'queue.fetch as the global one',
    (queue) => {
      globalThis.fetch = (input, init) => queue.fetch(input, init)
    },
  ],
])('a queue behind the global fetch does not send through itself: %s', async (_, install) => {
  const { queue, clock } = await setup()
  install(queue)
  const answer = globalThis.fetch(ORDERS)
  await clock.advance(20_000)
  expect((await answer).status).toBe(503)
  expect(network).toHaveBeenCalledTimes(5)
  expect(queue.stats()).toMatchObject({ attempts: 5, depth: 0 })
})

test('what installFetch has replaced is used while it is installed, and the fetch of the moment again after that', async () => {
  const { queue } = await setup()
  const replaced = vi.fn(async () => new Response())
  globalThis.fetch = replaced
  const uninstall = installFetch(queue)
  await globalThis.fetch(ORDERS)
  expect(replaced).toHaveBeenCalledTimes(1)
  uninstall()
  const later = vi.fn(async () => new Response())
  globalThis.fetch = later
  await queue.fetch(ORDERS)
  expect([replaced, later].map(({ mock }) => mock.calls.length)).toEqual([1, 1])
})

test('where there is no global fetch, as in a jsdom, a queue is made for Axios, and a call by fetch says what it needs', async () => {
  vi.stubGlobal('fetch', undefined)
  const { queue } = await setup()
  for (const call of [queue.fetch(ORDERS), queue.fetch(ORDERS, { method: 'POST' }), queue.enqueue(ORDERS)])
    await expect(call).rejects.toThrow(
      new TypeError('expected a global fetch, or options.fetch of the queue, to send by'),
    )
  vi.stubGlobal('fetch', async () => new Response('mock'))
  expect(await (await queue.fetch(ORDERS)).text()).toBe('mock')
})
