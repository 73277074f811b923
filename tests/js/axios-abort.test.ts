import axios from 'axios'
import { describe, expect, test, vi } from 'vitest'
import { ADAPTERS, eventually, failure, setup } from './axios-setup.ts'

const SLOW = { policy: { initialDelayMs: 60_000 } }
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
/** Long enough that the next attempt would be waited for. */
const PATIENT = { waitMs: 600_000 }

describe.each(ADAPTERS)('a call that is taken back, with the %s adapter', (adapter) => {
  const ways = [
    [
      'signal',
      () => {
        const controller = new AbortController()
        return { config: { signal: controller.signal }, cancel: () => controller.abort() }
      },
    ],
    [
      'CancelToken',
      () => {
        const { token, cancel } = axios.CancelToken.source()
        return { config: { cancelToken: token }, cancel: () => cancel('taken back') }
      },
    ],
    [
      'a signal that is none of the platform',
      () => {
        const signal = new OldSignal()
        return { config: { signal }, cancel: () => signal.abort() }
      },
    ],
  ] as const

  describe.each(ways)('by %s', (_, make) => {
    test('before it starts: nothing is sent', async () => {
      const { server, queue, api } = await setup(adapter)
      const { config, cancel } = make()
      cancel()
      expect(axios.isCancel(await failure(api.post('/', {}, config)))).toBe(true)
      expect(server.hits).toBe(0)
      expect(queue.stats().attempts).toBe(0)
    })

    test('during the first attempt', async () => {
      const { server, queue, api } = await setup(adapter)
      const { config, cancel } = make()
      server.hang()
      const call = failure(api.post('/', {}, config))
      await eventually(() => server.hits).toBe(1)
      cancel()
      expect(axios.isCancel(await call)).toBe(true)
      await queue.idle()
      expect(server.hits).toBe(1)
      expect((await queue.list()).tasks).toEqual([])
    })

    test('during backoff', async () => {
      const { server, queue, api } = await setup(adapter, SLOW)
      const { config, cancel } = make()
      const queued = vi.fn()
      queue.on('queued', queued)
      server.reply(503)
      const call = failure(api.post('/', {}, { ...config, redrive: PATIENT }))
      await eventually(() => queued.mock.calls.length).toBe(1)
      cancel()
      expect(axios.isCancel(await call)).toBe(true)
      await queue.idle()
      expect(server.hits).toBe(1)
      expect((await queue.list()).tasks).toMatchObject([{ status: 'CANCELLED' }])
    })

    test('during a retry', async () => {
      const { server, queue, api } = await setup(adapter)
      const { config, cancel } = make()
      server.reply(503).hang()
      const call = failure(api.post('/', {}, config))
      await eventually(() => server.hits).toBe(2)
      cancel()
      expect(axios.isCancel(await call)).toBe(true)
      await queue.idle()
      expect(server.hits).toBe(2)
      expect((await queue.list()).tasks).toMatchObject([{ status: 'CANCELLED' }])
    })
  })

  test('a token or signal that outlives the call is let go', async () => {
    const { server, api } = await setup(adapter)
    server.reply(503)
    const { token } = axios.CancelToken.source()
    const subscribe = vi.spyOn(token, 'subscribe')
    const unsubscribe = vi.spyOn(token, 'unsubscribe')
    await api.get('/', { cancelToken: token })
    expect(subscribe).toHaveBeenCalled()
    expect(unsubscribe.mock.calls).toEqual(subscribe.mock.calls)
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

  test('queue.cancel ends the call of a task', async () => {
    const { server, queue, api } = await setup(adapter, SLOW)
    const queued = vi.fn()
    queue.on('queued', queued)
    server.reply(503)
    const call = failure(api.post('/', {}, { redrive: PATIENT }))
    await eventually(() => queued.mock.calls.length).toBe(1)
    expect(await queue.cancel(queued.mock.calls[0]?.[0].task.taskId)).toBe('cancelled')
    expect(await call).toMatchObject({ name: 'AbortError' })
  })

  test('timeout is per attempt, and the last is the native error', async () => {
    const { server, queue, api } = await setup(adapter)
    server.hang()
    server.hang()
    server.hang()
    const error = await failure(api.get('/', { timeout: 30 }))
    expect(queue.stats().attempts).toBe(3)
    expect(error).toMatchObject({
      isAxiosError: true,
      message: 'timeout of 30ms exceeded',
      code: adapter === 'http' ? 'ECONNABORTED' : 'ETIMEDOUT',
      redrive: { reason: 'max_attempts' },
    })
  })

  test('a timeout that passes is made good', async () => {
    const { server, api } = await setup(adapter)
    server.hang()
    // an answer comes within it on a busy machine, too
    expect((await api.post('/', {}, { timeout: 3_000 })).status).toBe(200)
    expect(server.hits).toBe(2)
  })

  test('closing the queue gives a waiting call its last answer', async () => {
    const { server, queue, api } = await setup(adapter, SLOW)
    const queued = vi.fn()
    queue.on('queued', queued)
    server.reply(503, {}, 'last')
    const call = failure(api.post('/', {}, { redrive: PATIENT }))
    await eventually(() => queued.mock.calls.length).toBe(1)
    await queue.close()
    expect(await call).toMatchObject({ isAxiosError: true, response: { status: 503, data: 'last' } })
    expect(await failure(api.get('/'))).toMatchObject({ name: 'QueueClosedError', code: 'QUEUE_CLOSED' })
    expect(server.hits).toBe(1)
  })
})
