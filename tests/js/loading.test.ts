/** What cannot be loaded, or comes late, is tried again by itself: the core, the chunks that come after it, the module of keys. */

import { expect, onTestFinished, test, vi } from 'vitest'
import { instantiate } from '../../js/core/file.ts'
import type { RetryQueueOptions } from '../../js/index.ts'
import { assemble } from '../../js/queue/assemble.ts'
import type { EngineSource } from '../../js/queue/core-loader.ts'
import { RetryQueue as Queue } from '../../js/queue/queue.ts'
import { wordsChunk } from '../../js/runner/words-chunk.ts'
import { chunks } from './chunks.ts'
import { type World, world } from './durable-setup.ts'
import { type Events, heard, ORDERS, PLAIN_CURVE, stub, watch, withoutDigest } from './setup.ts'

const POST = { method: 'POST', body: 'tea' } as const

type Chunk = 'core' | 'durable' | 'pages' | 'keys' | 'words'

/** A queue whose chunks are `refused` or `held` by name; `asked` counts how often each was asked for. */
interface Loading {
  readonly queue: Queue
  readonly events: Events
  readonly asked: Record<Chunk, number>
  readonly refused: Set<Chunk>
  hold(chunk: Chunk): void
  arrive(chunk: Chunk): void
}

function load({ clock, server }: World, options: RetryQueueOptions, ...refuse: readonly Chunk[]): Loading {
  const asked = { core: 0, durable: 0, pages: 0, keys: 0, words: 0 }
  const refused = new Set<Chunk>(refuse)
  const held = new Map<Chunk, { readonly until: Promise<void>; readonly arrive: () => void }>()
  const chunk = async <T>(name: Chunk, load: () => Promise<T>): Promise<T> => {
    asked[name]++
    if (refused.has(name)) throw new TypeError('Failed to fetch dynamically imported module')
    await held.get(name)?.until
    return load()
  }
  const module = assemble(instantiate, {
    ...chunks,
    keys: () => chunk('keys', chunks.keys),
    store: () => chunk('durable', chunks.store),
    pages: () => chunk('pages', chunks.pages),
    ...wordsChunk(() => chunk('words', chunks.words)),
  })
  const source: EngineSource = () => chunk('core', async () => module)
  const queue = new Queue({ clock, fetch: server.fetch, policy: PLAIN_CURVE, principal: null, ...options }, source)
  const events = heard(queue, clock)
  return {
    queue,
    events,
    asked,
    refused,
    hold(name) {
      let arrive: () => void = () => {}
      const until = new Promise<void>((resolve) => {
        arrive = resolve
      })
      held.set(name, { until, arrive })
    },
    arrive: (name) => held.get(name)?.arrive(),
  }
}

/** Three tasks of a process that is gone. */
async function leaveTasks({ open, close }: World): Promise<void> {
  const before = await open()
  before.queue.pause()
  for (let i = 0; i < 3; i++) await before.queue.enqueue(ORDERS, POST)
  await close(before)
}

/** Calls wait in real time, whatever the clock. */
function realTime(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => {
    vi.useRealTimers()
  })
}

test.for(['core', 'durable', 'pages'] as const)(
  'L1 a process that only takes up tasks asks for its chunk until it comes: %s',
  async (name) => {
    const here = world()
    const { clock, store, hitsAfter } = here
    await leaveTasks(here)
    stub({ location: new URL('https://app.test/') })
    const pages = name === 'pages' ? { durable: true, principal: null } : { store, principal: null }
    const { asked, refused, queue, events } = load(here, pages, name)
    await queue.ready
    expect(await hitsAfter(15 * 60_000)).toBe(0)
    // after 1, 2, 4, 8, 16 and 32 s, and then each minute
    expect(asked[name]).toBe(1 + 6 + 13)
    expect(events.of('degraded')).toHaveLength(1)
    if (name === 'pages') return
    refused.clear()
    expect(await hitsAfter(60_000)).toBe(3)
    expect(clock.timers).toBe(0)
  },
)

test('L1 what is asked for again is asked for once, however many calls fail meanwhile', async () => {
  const here = world()
  const { clock, server, store } = here
  const { asked, queue } = load(here, { store }, 'core')
  await queue.ready
  server.reply(503).reply(503).reply(503)
  for (let i = 0; i < 3; i++) await queue.fetch(ORDERS, { redrive: { policy: { maxAttempts: 5 } } })
  expect(clock.timers).toBe(1)
  const before = asked.core
  await clock.advance(8_000)
  expect(asked.core).toBeLessThanOrEqual(before + 3)
})

test('L5 a queue that is closed asks for nothing any more', async () => {
  for (const name of ['core', 'durable', 'keys'] as const) {
    const here = world()
    const { clock, store } = here
    const { asked, queue } = load(here, { store }, name)
    await queue.ready
    await queue.close()
    const before = asked[name]
    await clock.advance(120_000)
    expect([name, asked[name], clock.timers]).toEqual([name, before, 0])
  }
})

test.for(['core', 'durable'] as const)(
  'L1 S18 a chunk that takes longer than a call waits is used when it comes: %s',
  async (name) => {
    const here = world()
    const { clock, server, store } = here
    await leaveTasks(here)
    realTime()
    const { hold, arrive, queue } = load(here, { store })
    hold(name)
    await clock.advance(0)
    server.reply(503)
    const answer = watch(queue.fetch(ORDERS))
    await vi.advanceTimersByTimeAsync(10_000)
    await clock.settle()
    expect([answer.value?.status, server.hits]).toEqual([503, 1])
    await vi.advanceTimersByTimeAsync(20_000)
    arrive(name)
    await clock.advance(0)
    await vi.advanceTimersByTimeAsync(0)
    await clock.settle()
    // no call, no timer and no network has asked for it
    expect(server.hits).toBe(4)
  },
)

const CONTENT = { idempotency: { mode: 'content', scope: 'tenant-1' } } as const
test.each<[why: string, options: RetryQueueOptions, isWithout: boolean]>([
  ['keys are made of the content', CONTENT, false],
  ['the host has no SHA-256', {}, true],
])(
  'where %s the module of keys is asked for until it comes: offline it could not be had',
  async (_, own, isWithout) => {
    if (isWithout) withoutDigest()
    const here = world()
    const { clock, store } = here
    const { asked, refused, queue } = load(here, { store, ...own }, 'keys')
    await queue.ready
    await clock.advance(7_000)
    expect(asked.keys).toBe(4)
    refused.clear()
    await clock.advance(8_000)
    expect(asked.keys).toBe(5)
    await clock.advance(600_000)
    expect(asked.keys).toBe(5)
  },
)

test('S6 with random keys a queue with a store asks for no module of keys', async () => {
  const here = world()
  const { asked, queue } = load(here, { store: here.store }, 'keys')
  const redrive = { idempotencyKey: 'order-1' }
  const first = await queue.enqueue(ORDERS, { ...POST, redrive })
  expect(await queue.enqueue(ORDERS, { ...POST, redrive })).toEqual({ ...first, deduplicated: true })
  const other = queue.enqueue(ORDERS, { ...POST, body: 'milk', redrive })
  await expect(other).rejects.toMatchObject({ code: 'IDEMPOTENCY_CONFLICT' })
  expect(asked.keys).toBe(0)
})

test('what explains a task is fetched with the first one, and asked for until it comes; until then explain() says why not', async () => {
  const here = world()
  const { clock } = here
  const { asked, refused, queue } = load(here, { durable: false }, 'words')
  await queue.ready
  await clock.advance(60_000)
  expect(asked.words).toBe(0)
  const { taskId } = await queue.enqueue(ORDERS, POST)
  await clock.advance(7_000)
  expect(asked.words).toBe(4)
  await expect(queue.explain(taskId)).rejects.toMatchObject({ code: 'core_unreachable' })
  refused.clear()
  await clock.advance(8_000)
  await clock.advance(600_000)
  expect(asked.words).toBe(6)
  expect((await queue.explain(taskId)).at(-1)).toMatchObject({ kind: 'succeeded' })
})

test('offline it is not asked for: a browser may never ask again for a chunk that it could not have', async () => {
  stub({ navigator: { onLine: false } })
  const here = world()
  const { asked, queue } = load(here, { durable: false })
  await queue.enqueue(ORDERS, POST)
  await here.clock.advance(60_000)
  expect(asked.words).toBe(0)
  vi.stubGlobal('navigator', { onLine: true })
  await here.clock.advance(60_000)
  expect(asked.words).toBe(1)
})

test('a chunk of the store is asked for at once where the network comes back, and not twice', async () => {
  const page = new EventTarget()
  stub({ addEventListener: page.addEventListener.bind(page), removeEventListener: page.removeEventListener.bind(page) })
  const here = world()
  const { clock, store, hitsAfter } = here
  await leaveTasks(here)
  const { asked, refused, queue } = load(here, { store }, 'durable')
  await queue.ready
  await clock.advance(500)
  refused.clear()
  page.dispatchEvent(new Event('online'))
  await clock.settle()
  expect(await hitsAfter(0)).toBe(3)
  await clock.advance(120_000)
  page.dispatchEvent(new Event('online'))
  await clock.settle()
  expect(asked.durable).toBe(2)
})

test('a queue in memory that is in no page asks no chunk by itself: nothing waits for it', async () => {
  const here = world()
  const { clock, server } = here
  const { asked, queue } = load(here, { durable: false }, 'core')
  server.reply(503)
  expect((await queue.fetch(ORDERS)).status).toBe(503)
  await clock.advance(600_000)
  expect([asked.core, clock.timers]).toEqual([1, 0])
})

test.each<[string, RetryQueueOptions, number, Record<string, string>, RequestInit?]>([
  ['a success with nothing left', {}, 200, { ratelimit: '"all";r=0;t=20' }],
  [
    'a failure that is not tried again',
    {},
    429,
    { 'retry-after': '20' },
    { redrive: { policy: { maxAttempts: 1 } } } as RequestInit,
  ],
  ['a success, of a queue in memory', { durable: false }, 200, { ratelimit: '"all";r=0;t=20' }],
])(
  'S9 a hold that is heard while the core still loads holds what is enqueued: %s',
  async (_, options, status, headers, init) => {
    const it = world()
    const loading = load(it, { store: it.store, ...options })
    loading.hold('core')
    it.server.reply(status, headers)
    // asks for the core, which does not come yet
    const held = watch(loading.queue.enqueue(ORDERS, POST))
    expect((await loading.queue.fetch(ORDERS, init)).status).toBe(status)
    loading.arrive('core')
    await vi.waitFor(() => expect(held.value).toBeDefined())
    expect(await it.hitsAfter(19_000)).toBe(1)
    expect(await it.hitsAfter(21_000)).toBe(2)
  },
)

test('S18 a first attempt is signed without WebAssembly, and where no chunk comes to sign it with it is not sent', async () => {
  const it = world()
  const { queue, refused } = load(it, { sign: () => ({ 'x-signature': 'a' }), wasm: new Uint8Array(1) }, 'core')
  await expect(queue.fetch(ORDERS, POST)).rejects.toThrow('dynamically imported')
  expect(it.server.hits).toBe(0)
  refused.clear()
  await queue.fetch(ORDERS, POST)
  expect(it.server.requests[0]?.headers.get('x-signature')).toBe('a')
})

test.each<Chunk>(['core', 'durable', 'keys'])(
  'L6 answers that come while a chunk is on its way count as much as failures, and no circuit opens: %s',
  async (chunk) => {
    const it = world()
    const { clock, server } = it
    const { queue, events, hold, arrive } = load(it, chunk === 'core' ? {} : { store: it.store })
    hold(chunk)
    const failed: ReturnType<typeof watch<Response>>[] = []
    for (let i = 0; i < 10; i++) {
      server.reply(503)
      failed.push(watch(queue.fetch(ORDERS, POST)))
      await clock.advance(100)
      for (const _ of [1, 2]) expect((await queue.fetch(ORDERS, POST)).status).toBe(200)
      await clock.advance(200)
    }
    arrive(chunk)
    await clock.advance(10_000)
    await vi.waitFor(() => expect(failed.map(({ value }) => value?.status)).toEqual(failed.map(() => 200)))
    expect(events.of('circuit')).toEqual([])
  },
)
