import { text } from 'node:stream/consumers'
import axios from 'axios'
import { describe, expect, test, vi } from 'vitest'
import type { AxiosServer } from './axios-server.ts'
import { ADAPTERS, eventually, failure, setup } from './axios-setup.ts'

const SLOW = { policy: { initialDelayMs: 60_000 } }
/** Long enough that the next attempt would be waited for. */
const PATIENT = { waitMs: 600_000 }

/** What a polyfill gives. */
class OldSignal {
  aborted = false
  readonly #listeners = new Set<() => void>()

  addEventListener(_: string, listener: () => void): void {
    this.#listeners.add(listener)
  }

  removeEventListener(_: string, listener: () => void): void {
    this.#listeners.delete(listener)
  }

  abort(): void {
    this.aborted = true
    for (const listener of [...this.#listeners]) listener()
  }
}

const WAYS = {
  'a signal': () => {
    const controller = new AbortController()
    return { config: { signal: controller.signal }, cancel: () => controller.abort() }
  },
  'a CancelToken': () => {
    const { token, cancel } = axios.CancelToken.source()
    return { config: { cancelToken: token }, cancel: () => cancel('taken back') }
  },
  'a signal that is not the platform’s': () => {
    const signal = new OldSignal()
    return { config: { signal }, cancel: () => signal.abort() }
  },
}

interface Moment {
  readonly when: string
  readonly script: (server: AxiosServer) => unknown
  /** Requests sent and tasks held at that moment, and what the task is in the end. */
  readonly hits: number
  readonly depth: number
  readonly options?: typeof SLOW
}

const MOMENTS: readonly Moment[] = [
  { when: 'before it starts', script: () => {}, hits: 0, depth: 0 },
  { when: 'during the first attempt', script: (server) => server.hang(), hits: 1, depth: 0 },
  { when: 'while its retry waits', script: (server) => server.reply(503), hits: 1, depth: 1, options: SLOW },
  { when: 'during a retry', script: (server) => server.reply(503).hang(), hits: 2, depth: 1 },
]

describe.each(ADAPTERS)('a call that is taken back, with the %s adapter', (adapter) => {
  const cases = Object.entries(WAYS).flatMap(([way, make]) => MOMENTS.map((moment) => ({ way, make, ...moment })))

  test.for(cases)('by $way, $when', async ({ make, script, hits, depth, options }) => {
    const { server, queue, api } = await setup(adapter, options)
    const { config, cancel } = make()
    script(server)
    if (hits === 0) cancel()
    const call = failure(api.post('/', {}, { ...config, redrive: PATIENT }))
    await eventually(() => [server.hits, queue.stats().depth]).toEqual([hits, depth])
    cancel()
    expect(axios.isCancel(await call)).toBe(true)
    await queue.idle()
    expect(server.hits).toBe(hits)
    expect((await queue.list()).tasks.map(({ status }) => status)).toEqual(Array(depth).fill('CANCELLED'))
  })

  test('a token that outlives the call keeps no listener of it', async () => {
    const { api } = await setup(adapter, { answers: [503] })
    const { token } = axios.CancelToken.source()
    const subscribe = vi.spyOn(token, 'subscribe')
    const unsubscribe = vi.spyOn(token, 'unsubscribe')
    await api.get('/', { cancelToken: token })
    expect(subscribe).toHaveBeenCalled()
    expect(unsubscribe.mock.calls).toEqual(subscribe.mock.calls)
  })

  const streams = Object.entries(WAYS).flatMap(([way, make]) => [0, 1].map((failures) => ({ way, make, failures })))
  const CONFIG = { responseType: 'stream', validateStatus: null } as const

  test.for(streams)('by $way, while its answer after $failures failures is a stream', async ({ make, failures }) => {
    const { server, api } = await setup(adapter)
    const { config, cancel } = make()
    if (failures) server.reply(503)
    server.dribble(200)
    const { data } = await api.get<AsyncIterable<Uint8Array>>('/', { ...config, ...CONFIG })
    const read = (async () => {
      for await (const _ of data) cancel()
    })()
    await expect(read).rejects.toThrow()
    await eventually(() => server.inFlight).toBe(0)
  })

  test('a token that outlives a streamed answer keeps no listener of it', async () => {
    const { server, api } = await setup(adapter)
    const { token } = axios.CancelToken.source()
    const subscribe = vi.spyOn(token, 'subscribe')
    const unsubscribe = vi.spyOn(token, 'unsubscribe')
    server.reply(200, {}, 'all').reply(404, {}, 'none').dribble(200)
    for (const status of [200, 404]) {
      const answer = await api.get<AsyncIterable<Uint8Array>>('/', { cancelToken: token, ...CONFIG })
      expect([answer.status, await text(answer.data as never)]).toEqual([status, status === 200 ? 'all' : 'none'])
    }
    const { data } = await api.get<AsyncIterable<Uint8Array>>('/', { cancelToken: token, ...CONFIG })
    for await (const _ of data) break
    await eventually(() => unsubscribe.mock.calls).toEqual(subscribe.mock.calls)
  })

  test('detach: an abort ends the waiting, not the task', async () => {
    const { server, queue, api } = await setup(adapter)
    const controller = new AbortController()
    server.reply(503)
    const release = server.hang()
    const call = failure(api.post('/', {}, { signal: controller.signal, redrive: { detach: true } }))
    await eventually(() => server.hits).toBe(2)
    controller.abort()
    expect(axios.isCancel(await call)).toBe(true)
    release(200)
    await queue.idle()
    expect((await queue.list()).tasks).toMatchObject([{ status: 'SUCCEEDED' }])
  })

  test('queue.cancel() ends one call, and close() gives another its last answer', async () => {
    const { server, queue, api } = await setup(adapter, { ...SLOW, answers: [503, [503, {}, 'last']] })
    const cancelled = failure(api.post('/', {}, { redrive: PATIENT }))
    await eventually(() => queue.stats().depth).toBe(1)
    const [task] = (await queue.list()).tasks
    expect(await queue.cancel(task?.taskId ?? '')).toBe('cancelled')
    expect(await cancelled).toMatchObject({ name: 'AbortError' })
    const closed = failure(api.post('/', {}, { redrive: PATIENT }))
    await eventually(() => queue.stats().depth).toBe(1)
    await queue.close()
    expect(await closed).toMatchObject({ isAxiosError: true, response: { status: 503, data: 'last' } })
    expect(await failure(api.get('/'))).toMatchObject({ name: 'QueueClosedError', code: 'QUEUE_CLOSED' })
    expect(server.hits).toBe(2)
  })

  test('timeout is per attempt, and the last is the native error', async () => {
    const { server, queue, api } = await setup(adapter)
    for (let i = 0; i < 3; i++) server.hang()
    const error = await failure(api.get('/', { timeout: 30 }))
    expect(queue.stats().attempts).toBe(3)
    expect(error).toMatchObject({
      isAxiosError: true,
      message: 'timeout of 30ms exceeded',
      code: adapter === 'http' ? 'ECONNABORTED' : 'ETIMEDOUT',
      redrive: { reason: 'max_attempts' },
    })
  })
})
