/** S18: without the core a caller gets what plain fetch gives, and never hangs. */

import { readFileSync } from 'node:fs'
import { afterEach, expect, onTestFinished, test, vi } from 'vitest'
import { instantiate } from '../../js/core/file.ts'
import type { RetryQueueOptions } from '../../js/index.ts'
import { assemble } from '../../js/queue/assemble.ts'
import * as chunk from '../../js/queue/chunk.ts'
import type { EngineModule, EngineSource } from '../../js/queue/core-loader.ts'
import { RetryQueue } from '../../js/queue/queue.ts'
import { fakeClock, scriptedServer } from '../../js/testing.ts'
import { chunks } from './chunks.ts'
import { always, closeNow, Events, forApi, heard, markOf, ORDERS, PLAIN_CURVE, stub, watch } from './setup.ts'
import { trappingAt } from './trapping.ts'

/** Not imported when it is asked for: by then `freshQueue` may have made the modules anew, and a class would be two. */
const loadEngine = async (): Promise<EngineModule> => chunk

function setup(load: () => Promise<EngineModule>, options: RetryQueueOptions = {}) {
  const clock = fakeClock()
  const server = scriptedServer({ clock })
  const source: EngineSource = load
  const queue = new RetryQueue({ clock, fetch: server.fetch, policy: PLAIN_CURVE, ...options }, source)
  const events = heard(queue, clock)
  return { queue, server, clock, events }
}

const unreachable = () => Promise.reject(new TypeError('Failed to fetch dynamically imported module'))

test('S18 a chunk that cannot load: each call has its own answer or error, and degraded says so once', async () => {
  const { queue, server, clock, events } = setup(unreachable)
  const lost = new TypeError('fetch failed')
  server.reply(503, {}, 'busy').reply(429).fail(lost).reply(200)
  const first = await queue.fetch(ORDERS, { method: 'POST', body: 'x' })
  expect(await first.text()).toBe('busy')
  expect(markOf(first)).toEqual({ reason: 'core_unavailable' })
  expect((await queue.fetch(ORDERS, { redrive: { mode: 'defer' } })).status).toBe(429)
  await expect(queue.fetch(ORDERS)).rejects.toBe(lost)
  expect((await queue.fetch(ORDERS)).status).toBe(200)
  expect(events.names()).toEqual(['degraded'])
  expect(events.of('degraded')).toMatchObject([{ code: 'core_unreachable' }])
  expect(clock.timers).toBe(0)
})

test('however often the chunk cannot load, the queue listens once for the network to come back', async () => {
  stub({ addEventListener() {}, removeEventListener() {} })
  const spies = (['addEventListener', 'removeEventListener'] as const).map((name) =>
    vi.spyOn(AbortSignal.prototype, name),
  )
  onTestFinished(() => void vi.restoreAllMocks())
  const { queue, server } = setup(unreachable)
  always(server, 503, 20)
  await queue.fetch(ORDERS)
  // the queue's own, that of the first call among them
  const signals = new Set(spies.flatMap((spy) => spy.mock.contexts))
  const counts = () => spies.map((spy) => spy.mock.contexts.filter((signal) => signals.has(signal)).length)
  const [added = 0, removed = 0] = counts()
  for (let i = 0; i < 10; i++) await queue.fetch(ORDERS)
  const [addedThen = 0, removedThen = 0] = counts()
  expect(addedThen).toBeGreaterThan(added)
  expect(addedThen - removedThen).toBe(added - removed)
})

test('S18 what needs the core says so, typed, and the rest goes on', async () => {
  const { queue } = setup(unreachable)
  await queue.ready
  await expect(queue.enqueue(ORDERS)).rejects.toMatchObject({ code: 'WASM_UNAVAILABLE', name: 'WasmUnavailableError' })
  expect(await queue.get('x')).toBeUndefined()
  expect(await queue.list()).toEqual({ tasks: [] })
  expect(await queue.flush()).toBe(0)
  expect(await queue.cancel('x')).toBe('gone')
  expect(await queue.deadLetters.list()).toEqual({ tasks: [] })
  queue.pause()
  queue.resume()
  await queue.idle()
  expect(queue.stats()).toMatchObject({ depth: 0 })
})

test('S18 the next failed call asks for the chunk again, and is tried again when it is there', async () => {
  let reachable = false
  const { queue, server, clock, events } = setup(() => (reachable ? loadEngine() : unreachable()))
  server.reply(503)
  expect((await queue.fetch(ORDERS)).status).toBe(503)
  reachable = true
  server.reply(503)
  const answer = queue.fetch(ORDERS)
  await queue.ready
  await clock.advance(1_000)
  expect((await answer).status).toBe(200)
  expect(events.of('degraded')).toHaveLength(1)
})

test('S18 a chunk that never comes holds its call for 10 s, real time, and no longer', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const { queue, server, clock, events } = setup(() => new Promise(() => {}))
  server.reply(503)
  const answer = watch(queue.fetch(ORDERS))
  await vi.advanceTimersByTimeAsync(9_999)
  await clock.settle()
  expect(answer.state).toBe('pending')
  await vi.advanceTimersByTimeAsync(1)
  await clock.settle()
  expect(answer.value?.status).toBe(503)
  expect(events.of('degraded')).toMatchObject([{ code: 'core_unreachable' }])
})

/** Answers as `fetch` gives them: an abort of the attempt ends the body, and `ended` tells that it did. */
function answering(body: (to: ReadableStreamDefaultController) => void) {
  const seen = { ended: 0 }
  const fetch = async (_: unknown, { signal }: RequestInit = {}) => {
    const start = (to: ReadableStreamDefaultController) => {
      body(to)
      signal?.addEventListener('abort', () => {
        seen.ended++
        to.error(signal.reason)
      })
    }
    return new Response(new ReadableStream({ start }), { status: 503, headers: { 'x-node': 'a' } })
  }
  return { fetch: fetch as typeof globalThis.fetch, seen }
}

test('S18 an answer that hangs gives back its connection, by which the chunk may have to come', async () => {
  const { fetch, seen } = answering((to) => to.enqueue(new Uint8Array(10)))
  let found = (_: EngineModule) => {}
  const load = () => new Promise<EngineModule>((resolve) => (found = resolve))
  const { queue, clock } = setup(load, { fetch, policy: { ...PLAIN_CURVE, maxAttempts: 2 } })
  const answer = watch(queue.fetch(ORDERS, { redrive: { waitMs: 600 } }))
  await clock.advance(249)
  expect(seen.ended).toBe(0)
  await clock.advance(1)
  expect(seen.ended).toBe(1)
  found(chunk)
  await queue.ready
  await clock.advance(1_000)
  expect(answer.value?.headers.get('x-node')).toBe('a')
  await expect(answer.value?.text()).rejects.toMatchObject({ code: 'BODY_DROPPED' })
})

test.each([
  ['whole', 65_536, true],
  ['too long to be kept', 65_537, false],
] as const)('S18 an answer whose body is %s while the chunk is on its way', async (_, bytes, isKept) => {
  const { fetch, seen } = answering((to) => {
    to.enqueue(new Uint8Array(bytes))
    to.close()
  })
  let fail = (_: Error) => {}
  const { queue, clock } = setup(() => new Promise((_, reject) => (fail = reject)), { fetch })
  const answer = watch(queue.fetch(ORDERS))
  await clock.advance(5_000)
  expect(seen.ended).toBe(isKept ? 0 : 1)
  fail(new TypeError('no chunk'))
  await clock.settle()
  expect(markOf(answer.value)).toEqual({ reason: 'core_unavailable' })
  if (isKept) expect((await answer.value?.bytes())?.length).toBe(bytes)
  expect(clock.timers).toBe(0)
})

test('S18 an answer that hangs is left alone where the chunk fails at once', async () => {
  const { fetch, seen } = answering((to) => to.enqueue(new Uint8Array(10)))
  const { queue, clock } = setup(unreachable, { fetch })
  const answer = await queue.fetch(ORDERS)
  await clock.advance(5_000)
  expect(answer.bodyUsed).toBe(false)
  expect(seen.ended).toBe(0)
  expect(clock.timers).toBe(0)
})

test('L5 close does not wait for a chunk that never comes; its callers have their answers', async () => {
  const { queue, server, clock } = setup(() => new Promise(() => {}))
  server.reply(503)
  const answer = watch(queue.fetch(ORDERS))
  const enqueued = watch(queue.enqueue(ORDERS))
  await clock.settle()
  const closed = watch(queue.close({ drainMs: 0 }))
  await clock.settle()
  expect(closed.state).toBe('resolved')
  expect(answer.value?.status).toBe(503)
  expect(enqueued.error).toMatchObject({ code: 'QUEUE_CLOSED' })
})

const METHODS = ['policy', 'classify', 'admit', 'settle', 'poll', 'wakeAt', 'lane', 'heldUntil']

test.each(METHODS)(
  'S18 a core that traps in %s: callers have their last answer, later calls are plain',
  async (method) => {
    const { load, trap } = trappingAt(method)
    const { queue, server, clock, events } = setup(load, { holdFirstAttempts: method === 'heldUntil' })
    await queue.ready
    always(server, 503, 20)
    const waiting = watch(queue.fetch(ORDERS))
    const other = 'https://other.test/'
    await clock.settle()
    trap()
    const during = watch(queue.fetch(other, { redrive: { policy: { maxAttempts: 3 } } }))
    const sameOrigin = watch(queue.fetch(ORDERS))
    await clock.advance(30_000)
    for (const call of [waiting, during, sameOrigin]) {
      expect([call.state, call.value?.status]).toEqual(['resolved', 503])
    }
    const after = await queue.fetch(ORDERS)
    expect(after.status).toBe(503)
    expect(markOf(after)).toEqual({ reason: 'core_unavailable' })
    expect(events.of('degraded')).toMatchObject([
      { code: 'core_unreachable', message: expect.stringContaining('unreachable') },
    ])
    await expect(queue.enqueue(ORDERS)).rejects.toMatchObject({ code: 'WASM_UNAVAILABLE' })
    expect(clock.timers).toBe(0)
  },
)

test.each<[method: string, use: (queue: RetryQueue) => unknown]>([
  ['pause', (queue) => queue.pause()],
  ['resume', (queue) => queue.resume()],
  ['flush', (queue) => queue.flush()],
  ['stats', (queue) => queue.stats()],
  ['cancel', async (queue) => queue.cancel((await queue.list()).tasks[0]?.taskId ?? '')],
  [
    'admit',
    (queue) => queue.enqueue(ORDERS).catch((error: { code: string }) => expect(error.code).toBe('WASM_UNAVAILABLE')),
  ],
])('S18 a trap in %s is nobody’s exception: it ends what waits', async (method, use) => {
  const { load, trap } = trappingAt(method)
  const { queue, server, clock, events } = setup(load)
  await queue.ready
  server.reply(503)
  const waiting = watch(queue.fetch(ORDERS))
  await clock.settle()
  trap()
  await use(queue)
  await clock.settle()
  expect(waiting.value?.status).toBe(503)
  expect(events.of('degraded')).toMatchObject([{ code: 'core_unreachable' }])
  expect(queue.stats()).toMatchObject({ depth: 0, cancelled: 1 })
})

test('S18 a trap while an attempt is in flight ends it, with the answer before it', async () => {
  const { load, trap } = trappingAt('poll')
  const { queue, server, clock } = setup(load)
  await queue.ready
  server.reply(503, {}, 'first').hang()
  const answer = watch(queue.fetch(ORDERS))
  await clock.advance(1_000)
  trap()
  await queue.enqueue(ORDERS)
  await clock.settle()
  expect(await answer.value?.text()).toBe('first')
  expect(server.requests[1]?.signal.aborted).toBe(true)
})

const wasm = new Uint8Array(readFileSync(new URL('../../js/core/generated/queue/queue.wasm', import.meta.url)))

/** The package as on a page of its own: its core is not here yet. */
async function freshQueue(given: () => unknown) {
  vi.resetModules()
  const { RetryQueue: Fresh } = await import('../../js/index.ts')
  const clock = fakeClock()
  const server = scriptedServer({ clock })
  const queue = new Fresh({ clock, fetch: server.fetch, policy: PLAIN_CURVE, wasm: given() as BufferSource })
  const events = new Events()
  events.listen(queue as never)
  onTestFinished(() => closeNow(queue as never, clock))
  return { queue, server, clock, events }
}

afterEach(() => {
  vi.resetModules()
})

test.each<[what: string, given: () => unknown]>([
  ['bytes that are no wasm', () => new Uint8Array([1, 2, 3])],
  ['an empty buffer', () => new ArrayBuffer(0)],
  ['text', () => 'redrive.wasm'],
  ['a number', () => 7],
  ['a promise that rejects', () => Promise.reject(new Error('404'))],
  ['another module', () => new WebAssembly.Module(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]))],
])('S18 wasm that cannot start (%s): plain fetch, degraded once, naming the directive', async (_what, given) => {
  const { queue, server, clock, events } = await freshQueue(given)
  server.reply(503).reply(503)
  expect((await queue.fetch(ORDERS)).status).toBe(503)
  expect((await queue.fetch(ORDERS)).status).toBe(503)
  expect(events.of('degraded')).toMatchObject([
    { code: 'wasm_refused', message: expect.stringContaining('wasm-unsafe-eval') },
  ])
  await expect(queue.enqueue(ORDERS)).rejects.toMatchObject({ code: 'WASM_UNAVAILABLE' })
  expect(clock.timers).toBe(0)
})

test('options.wasm that fails before anybody needs it is no unhandled rejection', async () => {
  const unhandled: unknown[] = []
  const hear = (reason: unknown) => unhandled.push(reason)
  process.on('unhandledRejection', hear)
  const { queue, clock } = await freshQueue(() => Promise.reject(new Error('404')))
  expect((await queue.fetch(ORDERS)).status).toBe(200)
  await clock.settle()
  process.off('unhandledRejection', hear)
  expect(unhandled).toEqual([])
})

test.each<[what: string, given: () => unknown]>([
  ['a Module', () => new WebAssembly.Module(wasm)],
  ['its bytes', () => wasm],
  ['an ArrayBuffer', () => wasm.slice().buffer],
  ['a Response', () => new Response(wasm, { headers: { 'content-type': 'application/wasm' } })],
  ['a promise', () => Promise.resolve(wasm)],
  ['a function', () => () => wasm],
  ['an async function', () => async () => new WebAssembly.Module(wasm)],
])('options.wasm may be %s', async (_what, given) => {
  const { queue, server, clock, events } = await freshQueue(given)
  await queue.ready
  server.reply(503)
  const answer = queue.fetch(ORDERS)
  await clock.advance(1_000)
  expect((await answer).status).toBe(200)
  expect(events.of('degraded')).toEqual([])
})

test.each(['called first', 'enqueued first'])(
  'S9 a pause that a call was asked for while the core loaded holds what was handed over meanwhile, %s',
  async (order) => {
    let arrive = (): void => {}
    const late = new Promise<EngineModule>((resolve) => {
      arrive = () => resolve(chunk)
    })
    const { queue, server, clock } = setup(() => late)
    server.reply(429, { 'retry-after': '10' })
    const enqueue = () => [1, 2].map((n) => watch(queue.enqueue(`${ORDERS}/${n}`)))
    if (order === 'enqueued first') enqueue()
    watch(queue.fetch(ORDERS))
    if (order === 'called first') enqueue()
    await clock.settle()
    arrive()
    await clock.advance(9_999)
    expect(server.hits).toBe(1)
    await clock.advance(20_000)
    expect(server.hits).toBe(4)
  },
)

test.each(['tells_secret', 'url_secrets'])(
  'S18 S22 a core that traps in %s around a hook still answers the caller',
  async (name) => {
    const trapped = async () => {
      const engine = await instantiate()
      const trap = () => {
        throw new WebAssembly.RuntimeError('unreachable')
      }
      return { ...engine, glue: { ...engine.glue, [name]: trap } }
    }
    const credentials = () => {
      throw new Error('no token')
    }
    const load = async () => assemble(trapped, chunks)
    const { queue, server, clock } = setup(load, { credentials: forApi(credentials) })
    await queue.ready
    server.reply(503)
    const answer = watch(queue.fetch(ORDERS))
    await clock.advance(2_000)
    expect(answer.value?.status).toBe(503)
  },
)
