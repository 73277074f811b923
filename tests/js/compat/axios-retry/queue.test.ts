/** What a queue adds to axios-retry's interface, and where it differs from axios-retry on purpose. */

import { Readable } from 'node:stream'
import axios, { type AxiosError, type AxiosRequestConfig } from 'axios'
import { describe, expect, expectTypeOf, test, vi } from 'vitest'
import * as inPages from '../../../../js/compat-axios-retry.page.ts'
import axiosRetry, * as facade from '../../../../js/compat-axios-retry.ts'
import { CircuitOpenError, type RetryQueue, type RetryQueueOptions, type SignRequest } from '../../../../js/index.ts'
import { memoryStore } from '../../../../js/stores/memory.ts'
import { fakeClock } from '../../../../js/testing.ts'
import { ADAPTERS, eventually, keysOf, openQueue } from '../../axios-setup.ts'
import { always, failed, plain, type Setup, type Subject } from './subject.ts'

interface Queued extends Setup {
  readonly queue: RetryQueue
}

async function queued(options: facade.AxiosRetryOptions = {}, given: RetryQueueOptions = {}): Promise<Queued> {
  const made = await plain()
  const queue = await openQueue(given)
  axiosRetry(made.api, { ...options, queue })
  return { ...made, queue }
}

/** With the queue that it makes itself. */
async function bare(options?: facade.AxiosRetryOptions): Promise<Setup> {
  const made = await plain()
  axiosRetry(made.api, options)
  return made
}

const POST: AxiosRequestConfig = { method: 'post', data: 'order' }

test('its types take the place of axios-retry’s', () => {
  expectTypeOf(facade).toExtend<Subject>()
  expectTypeOf<facade.IAxiosRetryConfig>().toEqualTypeOf<import('axios-retry').IAxiosRetryConfig>()
  expectTypeOf<facade.IAxiosRetryConfigExtended>().toEqualTypeOf<import('axios-retry').IAxiosRetryConfigExtended>()
  expect(Object.keys(inPages)).toEqual(Object.keys(facade))
})

test('S15 a redirect to another server that is refused ends the call, and its error says so', async () => {
  const other = await plain()
  for (const how of [{ headers: { authorization: 'secret' } }, { auth: { username: 'a', password: 'b' } }, POST]) {
    const { server, api } = await bare({ retryCondition: always })
    server.reply(503)
    for (let i = 0; i < 3; i++) server.reply(307, { location: other.server.url })
    const error = await failed(api.request(how))
    expect(error.message).toContain('is not redirected to another origin')
    expect(error).toMatchObject({ redrive: { reason: 'not_retryable' }, retryCount: 1 })
    expect([server.hits, other.server.hits]).toEqual([2, 0])
  }
})

describe('the queue tells', () => {
  test('of each retry, of the end, and of no more attempts than were made', async () => {
    const { server, api, queue } = await queued({ retries: 2 })
    const heard: unknown[] = []
    queue.on('retry', ({ status, delayMs, log }) => heard.push([log.attemptNumber, status, delayMs]))
    queue.on('exhausted', ({ reason, attempts }) => heard.push([reason, attempts]))
    server.reply(503).reply(500).reply(502)
    const error = await failed(api.get('/'))
    expect(error.redrive).toMatchObject({ reason: 'max_attempts' })
    expect(heard).toEqual([
      [1, 503, 0],
      [2, 500, 0],
      ['max_attempts', 3],
    ])
    expect([queue.stats().attempts, server.hits]).toEqual([3, 3])
  })

  test('that a condition ended it', async () => {
    const { server, api, queue } = await queued({ retryCondition: ({ response }) => response?.status === 503 })
    const reasons: string[] = []
    queue.on('exhausted', ({ reason }) => reasons.push(reason))
    server.reply(503).reply(502)
    expect((await failed(api.get('/'))).redrive).toMatchObject({ reason: 'vetoed' })
    expect(reasons).toEqual(['vetoed'])
  })

  test('of nothing, where an interceptor has answered in place of the server', async () => {
    const { api, server } = await plain()
    const queue = await openQueue()
    api.interceptors.response.use(null, (error) => {
      if (server.hits > 1) return 'from a cache'
      throw error
    })
    axiosRetry(api, { queue })
    server.reply(503).reply(503)
    expect(await api.get('/')).toBe('from a cache')
    await queue.idle()
    expect(queue.stats()).toMatchObject({ depth: 0, inFlight: 0, attempts: 2 })
  })
})

describe('Retry-After', () => {
  test('is the least wait, whatever retryDelay says', async () => {
    const { server, api } = await bare({ retryDelay: () => 1 })
    server.reply(503, { 'retry-after': '1' })
    await api.get('/')
    const [first, second] = server.requests
    expect(Number(second?.at) - Number(first?.at)).toBeGreaterThanOrEqual(995)
  })

  test('that is too long for the timeout ends the call at once, with the answer', async () => {
    const { server, api } = await bare({ retryDelay: () => 1 })
    server.reply(503, { 'retry-after': '3600' })
    const error = await failed(api.get('/', { timeout: 60_000 }))
    expect([error.response?.status, error.redrive?.reason]).toEqual([503, 'total_budget'])
  })

  test('that is longer than a timer can be ends it, too', async () => {
    const { server, api } = await bare()
    server.reply(503, { 'retry-after': '3000000' })
    expect((await failed(api.get('/'))).redrive?.reason).toBe('retry_after_too_long')
    expect(server.hits).toBe(1)
  })
})

describe('a POST', () => {
  test('without a key is not repeated by the default condition', async () => {
    const { server, api } = await bare()
    server.reset()
    expect((await failed(api.post('/', {}))).code).toBe('ECONNRESET')
    expect(keysOf(server)).toEqual([undefined])
  })

  test('is repeated under one key, where a queue is given', async () => {
    const { server, api } = await queued()
    server.reset().reset()
    await api.post('/', {})
    const [key, ...others] = keysOf(server)
    expect(key).toBeTruthy()
    expect(others).toEqual([key, key])
  })

  test('is repeated without a key where its user’s own condition says so', async () => {
    const { server, api } = await bare({ retryCondition: facade.isNetworkError })
    server.reset()
    await api.post('/', {})
    expect(keysOf(server)).toEqual([undefined, undefined])
  })
})

test('a stream is sent once: a retry would send it empty', async () => {
  const { server, api } = await bare({ retryCondition: always })
  server.reply(503)
  expect((await failed(api.put('/', Readable.from(['precious'])))).response?.status).toBe(503)
  expect(server.requests.map(({ body }) => String(body))).toEqual(['precious'])
})

test('what the queue refuses is an error of axios, and is not tried again', async () => {
  const { server, api, queue } = await queued(
    { retries: 0 },
    { breaker: { fairShare: 1, afterMs: 0, whenOpen: 'fail' } },
  )
  server.reply(503)
  await failed(api.get('/'))
  await eventually(() => queue.stats().origins[server.url]?.circuit).toBe('OPEN')
  const error = await failed(api.get('/', { 'axios-retry': { retries: 3 } }))
  expect(error).toMatchObject({ name: 'CircuitOpenError', code: 'CIRCUIT_OPEN', config: { url: '/' }, retryCount: 0 })
  expect([axios.isAxiosError(error), error.cause]).toEqual([true, expect.any(CircuitOpenError)])
  expect(server.hits).toBe(1)
})

test('a hook that takes longer than the queue waits for it is waited for all the same', async () => {
  const clock = fakeClock()
  let goOn = () => {}
  let asked = 0
  const onRetry = () =>
    new Promise<void>((resolve) => {
      asked++
      goOn = resolve
    })
  const { server, api, queue } = await queued({ onRetry }, { clock })
  server.reply(503)
  const call = api.get('/')
  await eventually(() => asked).toBe(1)
  await clock.advance(6_000)
  goOn()
  await eventually(() => server.hits).toBe(2)
  expect((await call).config['axios-retry']?.retryCount).toBe(1)
  await queue.idle()
})

test('a retry that onRetry leads to another server is a call of its own there', async () => {
  const other = await plain()
  const onRetry = (_count: number, _error: AxiosError, config: AxiosRequestConfig) => {
    config.baseURL = other.server.url
  }
  const { server, api, queue } = await queued({ onRetry })
  const cancelled: string[] = []
  queue.on('cancelled', ({ task }) => cancelled.push(task.targetUrl))
  server.reset()
  expect((await api.get('/')).status).toBe(200)
  expect([server.hits, other.server.hits]).toEqual([1, 1])
  await eventually(() => cancelled).toEqual([`${server.url}/`])
})

test('a queue with a store keeps the task there, and its caller gets the answer', async () => {
  const store = memoryStore()
  const enqueue = vi.spyOn(store, 'enqueue')
  const { server, api, queue } = await queued({ retryCondition: always }, { store, principal: null })
  server.reply(503).reset()
  expect((await api.post('/', { a: 1 })).status).toBe(200)
  expect(server.requests.map(({ body }) => String(body))).toEqual(Array(3).fill('{"a":1}'))
  expect(enqueue).toHaveBeenCalledTimes(1)
  expect(queue.stats()).toMatchObject({ attempts: 3, succeeded: 1 })
})

test('two of it on one instance do not multiply', async () => {
  const { server, api, queue } = await queued({ retries: 1 })
  const second = await openQueue()
  axiosRetry(api, { queue: second })
  for (let i = 0; i < 9; i++) server.reply(503)
  expect((await failed(api.get('/'))).retryCount).toBe(3)
  expect([server.hits, queue.stats().attempts + second.stats().attempts]).toEqual([4, 4])
})

test('a queue’s own time limit holds where one is given, and none where not', async () => {
  const { server, api } = await queued({ retries: 0 }, { policy: { attemptTimeoutMs: 20 } })
  const release = server.hang()
  expect(await failed(api.get('/'))).toMatchObject({ code: 'ECONNABORTED' })
  release()
})

describe.each(ADAPTERS)('by the %s adapter the request of a retry', (adapter) => {
  test('ends with its time limit, and with its call', async () => {
    const { server, api } = await queued({ retries: 1, retryCondition: always })
    const controller = new AbortController()
    for (const { signal } of [{ signal: null }, controller]) {
      server.reply(503).hang()
      const hits = server.hits
      const redrive = { policy: { attemptTimeoutMs: signal ? 60_000 : 200 } }
      const call = failed(api.get('/', { adapter, redrive, ...(signal && { signal }) }))
      await eventually(() => server.hits).toBe(hits + 2)
      if (signal) controller.abort()
      expect((await call).code).toBe(signal ? 'ERR_CANCELED' : 'ECONNABORTED')
      await eventually(() => server.inFlight).toBe(0)
    }
  })

  test('S16 is redirected within its origin, and not while the queue is paused', async () => {
    const { server, api, queue } = await queued({ retryCondition: always })
    server.reply(503)
    const release = server.hang()
    const call = api.get('/', { adapter, headers: { authorization: 'secret' } })
    await eventually(() => server.hits).toBe(2)
    queue.pause()
    release(307, { location: '/there' })
    await eventually(() => queue.stats().inFlight).toBe(0)
    queue.resume()
    server.reply(307, { location: '/there' })
    expect((await call).status).toBe(200)
    expect(server.requests.map(({ url }) => url)).toEqual(['/', '/', '/', '/there'])
  })
})

test('by the fetch adapter a retry that a 303 answers goes on as a GET without the key', async () => {
  const { server, api } = await queued({ retryCondition: always })
  server.reply(503).reply(303, { location: '/there' })
  expect((await api.post('/', {}, { adapter: 'fetch' })).status).toBe(200)
  expect(server.requests[2]).toMatchObject({ method: 'GET', url: '/there' })
  expect(keysOf(server)[2]).toBeUndefined()
})

test('two calls with one key have one answer, each by its own interceptors', async () => {
  const { server, api } = await queued({ retryCondition: always, retryDelay: () => 200 })
  let seen = 0
  api.interceptors.response.use((response) => {
    seen++
    return response
  })
  server.reply(503).reply(503)
  const post = () => api.post('/', {}, { headers: { 'idempotency-key': 'k' } })
  const answers = await Promise.all([post(), post()])
  expect(answers.map(({ data }) => data)).toEqual(Array(2).fill({ ok: true }))
  // of each its first chain, and that of its retry
  expect([server.hits, seen]).toEqual([3, 4])
})

test('a retry whose interceptor takes longer than its caller waits ends with that', async () => {
  const { api, server } = await queued({ retryCondition: always })
  api.interceptors.request.use(async (config) => {
    if (server.hits > 0) await new Promise((resolve) => setTimeout(resolve, 1_000))
    return config
  })
  server.reply(503)
  await failed(api.get('/', { redrive: { waitMs: 300 } }))
  expect(server.hits).toBe(1)
})

test.each(ADAPTERS)('%s: a cancelToken ends a streamed answer', async (adapter) => {
  const { server, api } = await queued()
  const { token, cancel } = axios.CancelToken.source()
  server.reply(503).dribble(200)
  const { data } = await api.get('/', { adapter, responseType: 'stream', cancelToken: token })
  data.on?.('error', () => {})
  cancel()
  await eventually(() => server.inFlight).toBe(0)
})

test('sign gets each request as its chain has made it', async () => {
  const onRetry = (_count: number, _error: AxiosError, config: AxiosRequestConfig) => {
    Object.assign(config, { url: '/fallback', data: '{"try":2}' })
  }
  const sign = ({ url, body, headers }: SignRequest) => ({
    'x-sig': `${new URL(url).pathname} ${new TextDecoder().decode(body)} ${headers.get('x-n')}`,
  })
  const { server, api } = await queued({ retryCondition: always, onRetry }, { sign })
  let n = 0
  api.interceptors.request.use((config) => {
    config.headers.set('x-n', String(++n))
    return config
  })
  server.reply(503)
  await api.post('/x', { try: 1 })
  expect(server.requests.map(({ headers }) => headers['x-sig'])).toEqual(['/x {"try":1} 1', '/fallback {"try":2} 2'])
})

test('fresh credentials are asked for after a 401, whatever the condition', async () => {
  const { server, api } = await plain()
  const queue = await openQueue({ credentials: { [server.url]: () => ({ authorization: 'fresh' }) } })
  axiosRetry(api, { queue })
  server.reply(401)
  expect((await api.get('/', { redrive: { credentials: 'on-401' } })).status).toBe(200)
  expect(server.requests.map(({ headers }) => headers.authorization)).toEqual([undefined, 'fresh'])
})

test('redrive: false takes a request out of it', async () => {
  const { server, api } = await bare()
  server.reply(503)
  await failed(api.get('/', { redrive: false }))
  expect(server.hits).toBe(1)
})

test.each([
  ['shouldRetry', { shouldRetry: always }, 'redrive.shouldRetry: with axiosRetry() it is retryCondition that says it'],
  ['delay', { delay: () => 1 }, 'redrive.delay: with axiosRetry() it is retryDelay that says it'],
  ['mode', { mode: 'defer' }, "redrive.mode: axiosRetry() waits for the answer; attachToAxios() takes 'defer'"],
] as const)('%s of redrive is refused', async (_, redrive, message) => {
  const { server, api } = await bare()
  await expect(api.get('/', { redrive })).rejects.toThrow(new TypeError(message))
  expect(server.hits).toBe(0)
})

test('what is no instance, or no queue, is refused', () => {
  expect(() => axiosRetry({} as never)).toThrow(
    new TypeError('axiosRetry(axios): expected an Axios instance first, got object'),
  )
  expect(() => axiosRetry(axios.create(), { queue: {} as never })).toThrow(/axiosRetry\(axios, \{ queue \}\)/)
})
