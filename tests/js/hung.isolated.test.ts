/** A server that hangs is asked again, and holds no caller for longer than it waits, whatever library sends and whether that heeds its signal. */
import axios, { type AxiosAdapter } from 'axios'
import { afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { attachToAxios } from '../../js/adapters/axios.ts'
import { workerFetch } from '../../js/cloudflare/worker-fetch.ts'
import { RetryQueue, type RetryQueueOptions } from '../../js/index.ts'
import { memoryStore } from '../../js/stores/memory.ts'
import { type FakeClock, fakeClock } from '../../js/testing.ts'
import { closeNow, NO_GATES, ORDERS, watch } from './setup.ts'

vi.mock('../../js/core/static.ts', () => import('../../js/core/file.ts'))
vi.mock('../../js/core/keys-static.ts', () => import('../../js/core/keys-file.ts'))

/** What an awaited call may take in all: 30 s, and what is read of an answer. */
const WAIT_MS = 30_000
const SMALL_MS = 300

const unhandled = vi.fn()
beforeAll(() => {
  process.on('unhandledRejection', unhandled)
  return () => process.off('unhandledRejection', unhandled)
})
afterEach(() => expect(unhandled).not.toHaveBeenCalled())

/** Answers nothing before it is told to. `isDeaf`: it does not heed its signal. */
function hanging(isDeaf: boolean) {
  const answers: { readonly resolve: (response: Response) => void; readonly reject: (error: Error) => void }[] = []
  const fetch = (_: unknown, init?: { readonly signal?: AbortSignal | null }) =>
    new Promise<Response>((resolve, reject) => {
      answers.push({ resolve, reject })
      if (!isDeaf) init?.signal?.addEventListener('abort', () => reject(init.signal?.reason), { once: true })
    })
  return { fetch: fetch as typeof globalThis.fetch, answers }
}

/** A body that says whether it was cancelled. */
function bodied(): { readonly response: Response; readonly cancelled: () => boolean } {
  let isCancelled = false
  const body = new ReadableStream({
    cancel() {
      isCancelled = true
    },
  })
  return { response: new Response(body), cancelled: () => isCancelled }
}

async function open(clock: FakeClock, fetch: typeof globalThis.fetch, options: RetryQueueOptions = {}) {
  const queue = new RetryQueue({ clock, fetch, seed: 11n, ...options })
  onTestFinished(() => closeNow(queue, clock))
  await queue.ready
  return queue
}

describe.each([
  ['heeds its signal', false],
  ['is deaf', true],
])('a fetch that %s', (_, isDeaf) => {
  test.each([
    ['in memory', false],
    ['in a store', true],
  ])('%s: three attempts within waitMs, then an error that tells them', async (_, isStored) => {
    const clock = fakeClock()
    const { fetch, answers } = hanging(isDeaf)
    const store = isStored ? { store: memoryStore({ clock }), principal: null } : {}
    const queue = await open(clock, fetch, store)
    const startedAt = clock.now()
    let endedAt = Number.NaN
    const call = queue.fetch(ORDERS, { method: 'POST', body: 'tea' }).catch((error: unknown) => {
      endedAt = clock.now()
      return error
    })
    await clock.advance(WAIT_MS + SMALL_MS)
    expect(await call).toMatchObject({ name: 'TimeoutError', message: expect.stringContaining('attempt 3 ') })
    expect(endedAt - startedAt).toBeLessThanOrEqual(WAIT_MS + SMALL_MS)
    expect(answers).toHaveLength(3)
    expect(queue.stats()).toMatchObject({ depth: 0, inFlight: 0 })
    await clock.advance(10 * WAIT_MS)
    expect(answers).toHaveLength(3)
  })

  test('waitMs bounds an attempt that is under way', async () => {
    const clock = fakeClock()
    const { fetch, answers } = hanging(isDeaf)
    const queue = await open(clock, fetch)
    const call = watch(queue.fetch(ORDERS, { redrive: { waitMs: 4_000 } }))
    await clock.advance(3_999)
    expect(call.state).toBe('pending')
    await clock.advance(1)
    expect(call.error).toMatchObject({ name: 'TimeoutError', redrive: { reason: 'wait_exceeded' } })
    expect(answers).toHaveLength(1)
  })

  test('the place of an attempt that took too long is free at once', async () => {
    const clock = fakeClock()
    const { fetch, answers } = hanging(isDeaf)
    const queue = await open(clock, fetch, { concurrency: 1, ...NO_GATES })
    await queue.enqueue(`${ORDERS}/1`, { method: 'POST' })
    await queue.enqueue(`${ORDERS}/2`, { method: 'POST' })
    await clock.advance(9_999)
    expect(answers).toHaveLength(1)
    await clock.advance(1)
    expect(answers).toHaveLength(2)
  })

  test('its caller’s abort holds at once, in a first attempt and in a replay', async () => {
    for (const passed of [1, 10_600]) {
      const clock = fakeClock()
      const { fetch } = hanging(isDeaf)
      const queue = await open(clock, fetch, NO_GATES)
      const leaving = new AbortController()
      const call = watch(queue.fetch(ORDERS, { signal: leaving.signal }))
      await clock.advance(passed)
      leaving.abort(new Error('no longer wanted'))
      await clock.settle()
      expect(call.error).toMatchObject({ message: 'no longer wanted' })
      expect(queue.stats().inFlight).toBe(0)
    }
  })
})

test('what a deaf fetch answers, or says, too late is dropped', async () => {
  const clock = fakeClock()
  const { fetch, answers } = hanging(true)
  const queue = await open(clock, fetch, NO_GATES)
  const call = watch(queue.fetch(ORDERS, { redrive: { policy: { attemptTimeoutMs: 10_000 } } }))
  await clock.advance(10_600)
  expect(answers).toHaveLength(2)
  const late = bodied()
  answers[0]?.resolve(late.response)
  await clock.settle()
  expect(late.cancelled()).toBe(true)
  await clock.advance(10_400)
  const later = bodied()
  answers[1]?.resolve(later.response)
  await clock.advance(0)
  expect(later.cancelled()).toBe(true)
  await clock.advance(2_000)
  answers[2]?.resolve(new Response('tea'))
  await clock.settle()
  expect(await call.value?.text()).toBe('tea')

  const other = watch(queue.fetch(ORDERS, { redrive: { waitMs: 1_000 } }))
  await clock.advance(1_000)
  expect(other.state).toBe('rejected')
  answers[3]?.reject(new Error('broken off at last'))
  await clock.settle()
})

describe('axios', () => {
  const deaf = (): { readonly adapter: AxiosAdapter; readonly asked: () => number } => {
    let asked = 0
    const adapter: AxiosAdapter = () => {
      asked++
      return new Promise(() => {})
    }
    return { adapter, asked: () => asked }
  }

  async function client(clock: FakeClock, adapter: AxiosAdapter, timeout = 0) {
    const queue = await open(clock, hanging(false).fetch)
    const instance = axios.create({ adapter, timeout })
    attachToAxios(instance, queue)
    return instance
  }

  test('without a timeout: three attempts within waitMs, then an error of its own', async () => {
    const clock = fakeClock()
    const { adapter, asked } = deaf()
    const instance = await client(clock, adapter)
    const call = watch(instance.post(ORDERS, 'tea'))
    await clock.advance(WAIT_MS + SMALL_MS)
    expect(asked()).toBe(3)
    expect(axios.isAxiosError(call.error)).toBe(true)
    expect(call.error).toMatchObject({
      code: 'ECONNABORTED',
      config: { url: ORDERS },
      redrive: { taskId: expect.any(String) },
    })
  })

  test('with one, an adapter that does not heed it is held to it', async () => {
    const clock = fakeClock()
    const { adapter, asked } = deaf()
    const instance = await client(clock, adapter, 3_000)
    const call = watch(instance.get(ORDERS))
    await clock.advance(4_000 + 500)
    expect(asked()).toBe(2)
    await clock.advance(WAIT_MS)
    expect(call.error).toMatchObject({ code: 'ECONNABORTED' })
    expect(asked(), 'of 3 s each, within its wait').toBe(6)
  })
})

describe('a Worker', () => {
  const namespace = { idFromName: () => ({}), get: () => ({ enqueue: async () => [], cancel: async () => 'gone' }) }

  test('a call that is not handed over is tried three times, and ends in time', async () => {
    const clock = fakeClock()
    const { fetch, answers } = hanging(true)
    await open(clock, fetch)
    const call = watch(workerFetch({ queue: namespace, ctx: { waitUntil: () => {} }, clock, fetch, seed: 3n })(ORDERS))
    await clock.advance(25_000 + SMALL_MS)
    expect(call.error).toMatchObject({ name: 'TimeoutError' })
    expect(answers).toHaveLength(3)
  })

  test.each([
    [{ mode: 'defer', waitMs: 2_000 }, 2_000],
    [{ mode: 'defer' }, 10_000],
  ] as const)(
    'a Worker answers %j with a 202 after %i ms, and hands over what it has tried once',
    async (redrive, afterMs) => {
      const clock = fakeClock()
      const { fetch } = hanging(true)
      const taken: { readonly attemptNumber: number; readonly policy: { readonly attemptTimeoutMs?: number } }[] = []
      const stub = {
        enqueue: async ([task]: readonly never[]) => {
          if (task) taken.push(task)
          return [{ taskId: 'of the object', outcome: 'stored' }]
        },
        verify: async () => undefined,
      }
      const namespace = { idFromName: () => ({}), get: () => stub }
      const own = { queue: namespace, ctx: { waitUntil: () => {} }, clock, fetch, seed: 3n, inlineAttempts: 1 }
      const call = watch(workerFetch(own)(ORDERS, { method: 'POST', body: 'A-1', redrive }))
      await clock.advance(afterMs - 1)
      expect(call.state).toBe('pending')
      await clock.advance(SMALL_MS)
      expect(call.value?.status).toBe(202)
      expect(taken).toMatchObject([{ attemptNumber: 1, policy: { attemptTimeoutMs: 10_000 } }])
    },
  )
})
