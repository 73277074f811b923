import axios, { AxiosHeaders, type AxiosRequestConfig, type InternalAxiosRequestConfig } from 'axios'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { attachToAxios } from '../../js/adapters/axios.ts'
import { installFetch } from '../../js/adapters/fetch.ts'
import { fakeClock } from '../../js/testing.ts'
import { ADAPTERS, eventually, failure, keysOf, openQueue, setup, startServer } from './axios-setup.ts'

describe.each(ADAPTERS)('attaching, with the %s adapter', (adapter) => {
  test('its attempts pass through the global fetch of installFetch', async () => {
    const { server, queue, api } = await setup(adapter)
    onTestFinished(installFetch(queue))
    for (let i = 0; i < 9; i++) server.reply(503)
    await failure(api.get('/'))
    expect([server.hits, queue.stats().attempts]).toEqual([3, 3])
  })

  test('detaching leaves nothing of its own behind, and what is not its own', async () => {
    const { server, queue, api, detach } = await setup(adapter)
    const before = { ...axios.create({ adapter, baseURL: server.url }).defaults }
    expect(Object.keys(api.defaults)).toEqual(Object.keys(before))
    expect(api.defaults.adapter).toBe(adapter)
    const other = vi.fn((config: InternalAxiosRequestConfig) => config)
    api.interceptors.request.use(other)
    detach()
    detach()
    expect((api.interceptors.request as unknown as { handlers: unknown[] }).handlers.filter(Boolean)).toHaveLength(1)
    server.reply(503)
    const error = await failure(api.post('/', {}))
    expect(error.response?.status).toBe(503)
    expect(error.config?.adapter).toBe(adapter)
    expect(other).toHaveBeenCalledTimes(1)
    expect(keysOf(server)).toEqual([undefined])
    expect(queue.stats().attempts).toBe(0)
  })

  test('the queue attached last takes the calls, and gives them back when it is detached', async () => {
    const { server, queue: first, api, detach } = await setup(adapter)
    const second = await openQueue()
    const detachSecond = attachToAxios(api, second)
    for (let i = 0; i < 9; i++) server.reply(503)
    await failure(api.get('/'))
    expect([server.hits, first.stats().attempts, second.stats().attempts]).toEqual([3, 0, 3])
    detachSecond()
    await failure(api.get('/'))
    expect([server.hits, first.stats().attempts]).toEqual([6, 3])
    detach()
    await failure(api.get('/'))
    expect(server.hits).toBe(7)
    expect(first.stats().attempts).toBe(3)
  })

  test('a config that failed before it was sent can be sent again, without retries multiplying', async () => {
    const { server, api } = await setup(adapter)
    let config: InternalAxiosRequestConfig | undefined
    api.interceptors.request.use((each) => {
      config = each
      return each
    })
    const transformRequest = () => {
      throw new Error('not yet')
    }
    await failure(api.get('/', { transformRequest }))
    for (let i = 0; i < 9; i++) server.reply(503)
    await failure(api.request({ ...config, transformRequest: [] } as AxiosRequestConfig))
    expect(server.hits).toBe(3)
  })

  test('several instances share one queue and its limit', async () => {
    const { server, queue, api } = await setup(adapter, { concurrency: 2 })
    const other = axios.create({ adapter, baseURL: server.url })
    attachToAxios(other, queue)
    for (let i = 0; i < 8; i++) server.reply(503)
    queue.pause()
    const calls = Array.from({ length: 8 }, (_, i) => (i % 2 ? api : other).post('/', {}))
    await eventually(() => queue.stats().depth).toBe(8)
    const releases = Array.from({ length: 8 }, () => server.hang())
    queue.resume()
    for (const [i, release] of releases.entries()) {
      await eventually(() => server.hits).toBe(8 + Math.min(i + 2, 8))
      release()
    }
    await Promise.all(calls)
    expect(queue.stats()).toMatchObject({ succeeded: 8, depth: 0 })
  })

  describe('config.redrive', () => {
    test('false: not at all', async () => {
      const { server, queue, api } = await setup(adapter, { answers: [[503, {}, 'plain']] })
      const validateStatus = vi.fn(() => false)
      const error = await failure(api.post('/', {}, { redrive: false, validateStatus }))
      expect(error).toMatchObject({ response: { status: 503, data: 'plain' }, config: { adapter, url: '/' } })
      expect(validateStatus).toHaveBeenCalledTimes(1)
      expect(keysOf(server)).toEqual([undefined])
      expect(queue.stats().attempts).toBe(0)
    })

    test('false, set by an interceptor', async () => {
      const { server, api } = await setup(adapter)
      api.interceptors.request.use((config) => ({ ...config, redrive: false }))
      server.reply(503)
      await failure(api.get('/'))
      expect(server.hits).toBe(1)
    })

    test('of the call over the instance over the attachment', async () => {
      const tries = (maxAttempts: number) => ({ policy: { maxAttempts } })
      const { server, api } = await setup(adapter, { policy: { maxAttempts: 4 } }, {}, tries(2))
      for (let i = 0; i < 9; i++) server.reply(503)
      await failure(api.get('/'))
      expect(server.hits).toBe(2)
      api.defaults.redrive = tries(1)
      await failure(api.get('/'))
      expect(server.hits).toBe(3)
      await failure(api.get('/', { redrive: tries(3) }))
      expect(server.hits).toBe(6)
    })

    test('false on the instance, on for a call', async () => {
      const { server, api } = await setup(adapter, { answers: [503, 503] }, { redrive: false })
      await failure(api.get('/'))
      expect((await api.get('/', { redrive: {} })).status).toBe(200)
      expect(server.hits).toBe(3)
    })
  })

  test('S9 Retry-After holds the calls that come after, where that is asked for', async () => {
    const clock = fakeClock()
    const { server, queue, api } = await setup(adapter, { holdFirstAttempts: true, clock })
    server.reply(429, { 'retry-after': '2' })
    const first = api.get('/a')
    await eventually(() => queue.stats().depth).toBe(1)
    const second = api.get('/b')
    await eventually(() => queue.stats().depth).toBe(2)
    await clock.advance(1_999)
    expect(server.hits).toBe(1)
    await clock.advance(10_000)
    await Promise.all([first, second])
    expect(server.requests.map(({ url }) => url).sort()).toEqual(['/a', '/a', '/b'])
  })
})

test('S9 of two lines of Retry-After the longer counts in Node, which shows the first alone', async () => {
  const clock = fakeClock()
  const { server, queue, api } = await setup('http', { clock, answers: [[429, { 'Retry-After': ['1', '8'] }]] })
  const answer = api.get('/')
  await eventually(() => queue.stats().depth).toBe(1)
  await clock.advance(7_999)
  expect(server.hits).toBe(1)
  await clock.advance(2_000)
  expect((await answer).status).toBe(200)
})

describe('what is left to axios', () => {
  test.each<[string, AxiosRequestConfig]>([
    ['a data: URL', { url: 'data:text/plain,hello' }],
    ['a URL without a base', { url: '/relative' }],
  ])('%s', async (_, config) => {
    const { queue, api, detach } = await setup('http', {}, { baseURL: '' })
    const outcome = (call: Promise<{ data: unknown }>) =>
      call.then(
        ({ data }) => data,
        ({ name, message, code }) => ({ name, message, code }),
      )
    const attached = await outcome(api.request(config))
    expect(queue.stats().attempts).toBe(0)
    detach()
    expect(attached).toEqual(await outcome(api.request(config)))
  })
})

describe('an adapter of the user', () => {
  test('gets a fresh config of its own each time, and may give headers in any case', async () => {
    const configs: InternalAxiosRequestConfig[] = []
    const { queue, api } = await setup('http')
    const adapter = async (config: InternalAxiosRequestConfig) => {
      configs.push(config)
      const status = configs.length < 3 ? 503 : 200
      config.headers.set('X-Attempt', configs.length)
      const response = { status, statusText: '', data: status, headers: { 'Retry-After': '0' }, config }
      if (config.validateStatus?.(status)) return response
      throw new axios.AxiosError('no', 'ERR_BAD_RESPONSE', config, undefined, {
        ...response,
        headers: new AxiosHeaders(response.headers),
      })
    }
    const response = await api.get('/x', { adapter, params: { a: 1 } })
    expect(response).toMatchObject({ data: 200, config: { adapter, url: '/x' } })
    expect(new Set(configs).size).toBe(3)
    expect(configs.map(({ url, params }) => [url, params])).toEqual(Array(3).fill(['/x', { a: 1 }]))
    expect(configs.map(({ headers }) => headers.get('X-Attempt'))).toEqual([1, 2, 3].map(String))
    const { tasks } = await queue.list()
    const { attempts } = await queue.attempts(tasks[0]?.taskId ?? '')
    expect(attempts[0]?.decision).toMatch(/^503, Retry-After 0 s/)
  })

  test('may reject with an answer without asking validateStatus', async () => {
    const { api } = await setup('http')
    let calls = 0
    const adapter = async (config: InternalAxiosRequestConfig) => {
      calls++
      const response = { status: 404, statusText: '', data: '', headers: {}, config }
      throw new axios.AxiosError('no', 'ERR_BAD_REQUEST', config, undefined, response)
    }
    expect((await failure(api.get('/', { adapter }))).response?.status).toBe(404)
    expect(calls).toBe(1)
  })
})

test('wrong defaults are refused when attaching', async () => {
  const queue = await openQueue()
  expect(() => attachToAxios(axios.create(), queue, { waitMs: -1 })).toThrow('redrive.waitMs: expected')
  expect(() => attachToAxios(axios.create(), {} as never)).toThrow('expected a RetryQueue')
})

test('the global instance can be attached too', async () => {
  const server = await startServer()
  const detach = attachToAxios(axios, await openQueue())
  server.reply(503)
  expect((await axios.get(server.url)).status).toBe(200)
  detach()
  expect(server.hits).toBe(2)
})
