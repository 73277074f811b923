import type { AxiosRequestConfig } from 'axios'
import { describe, expect, test, vi } from 'vitest'
import { isAccepted } from '../../js/adapters/axios.ts'
import { ADAPTERS, eventually, failure, keysOf, setup, startServer } from './axios-setup.ts'

const JSON_TYPE = { 'content-type': 'application/json' }

describe.each(ADAPTERS)('axios with its %s adapter', (adapter) => {
  test('gives the answer of the attempt that worked', async () => {
    const { server, api } = await setup(adapter, { answers: [503, [200, JSON_TYPE, '{"id":7}']] })
    const response = await api.post('/orders', { sku: 'a' })
    expect(response).toMatchObject({ status: 200, data: { id: 7 }, statusText: 'OK' })
    expect(response.config.url).toBe('/orders')
    expect(response.headers['content-type']).toBe('application/json')
    expect(response.redrive).toBeUndefined()
    expect(server.hits).toBe(2)
  })

  test('exhausted: the error of the last attempt, marked', async () => {
    const { server, queue, api } = await setup(adapter)
    server.reply(503, {}, 'one').reply(503, {}, 'two').reply(502, JSON_TYPE, '{"three":3}')
    const error = await failure(api.post('/orders', {}))
    expect(error).toMatchObject({ isAxiosError: true, code: 'ERR_BAD_RESPONSE', status: 502 })
    expect(error.message).toBe('Request failed with status code 502')
    expect(error.response).toMatchObject({ status: 502, data: { three: 3 } })
    const { taskId } = (await queue.deadLetters.list()).tasks[0] ?? {}
    expect(error.redrive).toEqual({ taskId, reason: 'max_attempts' })
    expect(error.config).toBe(error.response?.config)
    expect(error.config?.adapter).toBe(adapter)
    expect(error.config?.data).toBe('{}')
    expect(server.hits).toBe(3)
  })

  test('a final answer is not tried again and not marked', async () => {
    const { server, queue, api } = await setup(adapter, { answers: [[400, JSON_TYPE, '{"why":"bad"}']] })
    const error = await failure(api.post('/orders', {}))
    expect(error).toMatchObject({ code: 'ERR_BAD_REQUEST', response: { status: 400, data: { why: 'bad' } } })
    expect(error.redrive).toBeUndefined()
    expect(server.hits).toBe(1)
    expect(queue.stats().deadLetters).toBe(0)
  })

  test('an interceptor that refreshes a token after 401 repeats the call under the same key', async () => {
    const { server, api } = await setup(adapter, { answers: [401, 503, 200] })
    api.interceptors.response.use(undefined, (error) => {
      error.config.headers.Authorization = 'Bearer new'
      return api(error.config)
    })
    const response = await api.post('/orders', { sku: 'a' }, { headers: { Authorization: 'Bearer old' } })
    expect(response.status).toBe(200)
    expect(new Set(keysOf(server)).size).toBe(1)
    expect(server.requests.map((request) => request.headers.authorization)).toEqual([
      'Bearer old',
      'Bearer new',
      'Bearer new',
    ])
    expect(server.requests.map((request) => String(request.body))).toEqual(Array(3).fill('{"sku":"a"}'))
  })

  test('interceptors, transforms and validateStatus are asked once over three attempts', async () => {
    const { server, api } = await setup(adapter, { answers: [503, 503, [200, {}, 'done']] })
    const calls: string[] = []
    const note = <T>(name: string, value: T): T => {
      calls.push(name)
      return value
    }
    api.interceptors.request.use(async (config) => note('async request interceptor', config))
    api.interceptors.request.use((config) => note('request interceptor', config), null, { synchronous: true })
    api.interceptors.response.use((response) => note('response interceptor', response))
    api.interceptors.response.use(async (response) => note('async response interceptor', response))
    await api.post('/', 'text', {
      transformRequest: (data) => note('transformRequest', data),
      transformResponse: (data) => note(`transformResponse ${data}`, data),
      validateStatus: (status) => note(`validateStatus ${status}`, status < 300),
    })
    expect(calls).toEqual([
      'request interceptor',
      'async request interceptor',
      'transformRequest',
      'validateStatus 200',
      'transformResponse done',
      'response interceptor',
      'async response interceptor',
    ])
    expect(server.hits).toBe(3)
  })

  test.each([
    ['refuses', [503, 503, 503], 503],
    ['is final', [503, 404], 404],
    ['has moved', [503, 304], 304],
  ])('validateStatus is asked once when the last answer %s', async (_, statuses, last) => {
    const { server, api } = await setup(adapter)
    for (const status of statuses) server.reply(status)
    const validateStatus = vi.fn((status: number) => status === 200)
    const transformResponse = vi.fn((data) => data)
    const error = await failure(api.get('/', { validateStatus, transformResponse }))
    expect(error.response?.status).toBe(last)
    expect(validateStatus.mock.calls).toEqual([[last]])
    expect(transformResponse).toHaveBeenCalledTimes(1)
  })

  test.each([
    ['null', null],
    ['accepting 503', (status: number) => status === 503],
  ])('validateStatus %s: the last answer is a good one, retried all the same', async (_, validateStatus) => {
    const { server, api } = await setup(adapter, { answers: [503, 503, [503, {}, 'last']] })
    const response = await api.get('/', { validateStatus })
    expect(response).toMatchObject({ status: 503, data: 'last', redrive: { reason: 'max_attempts' } })
    expect(server.hits).toBe(3)
  })

  test('a validateStatus without a verdict refuses, as in axios', async () => {
    const { api } = await setup(adapter)
    const validateStatus = (() => undefined) as unknown as () => boolean
    expect(await failure(api.get('/', { validateStatus }))).toMatchObject({ response: { status: 200 } })
  })

  test('a listener of succeeded does no harm to a deferred call that ends where validateStatus says no', async () => {
    const { server, queue, api } = await setup(adapter)
    const degraded = vi.fn()
    const succeeded = vi.fn()
    queue.on('degraded', degraded)
    queue.on('succeeded', succeeded)
    server.reply(503).reply(304)
    await api.get('/', { redrive: { mode: 'defer' } })
    await queue.idle()
    expect(succeeded).toHaveBeenCalledTimes(1)
    expect(degraded).not.toHaveBeenCalled()
  })

  describe('where it goes', () => {
    test.each<[string, string, AxiosRequestConfig, string]>([
      ['params', '/list', { params: { tag: ['a', 'b'], q: 'x y' } }, '/list?tag[]=a&tag[]=b&q=x+y'],
      ['paramsSerializer', '/list', { params: { q: 1 }, paramsSerializer: () => 'own=1' }, '/list?own=1'],
      ['a path in baseURL', 'list', { baseURL: '/v1' }, '/v1/list'],
    ])('%s', async (_, url, config, expected) => {
      const { server, api } = await setup(adapter, { answers: [503] })
      await api.get(url, { ...config, baseURL: server.url + (config.baseURL ?? '') })
      expect(server.requests.map((request) => decodeURI(request.url))).toEqual([expected, expected])
    })

    test('an absolute url wins over baseURL, unless allowAbsoluteUrls is false', async () => {
      const { server, api } = await setup(adapter, { answers: [503] }, { baseURL: 'http://base.invalid' })
      await api.get(`${server.url}/absolute`)
      await api.get('http://other/x', { baseURL: `${server.url}/base/`, allowAbsoluteUrls: false })
      expect(server.requests.map((request) => request.url)).toEqual(['/absolute', '/absolute', '/base/http://other/x'])
    })

    test('a retry goes where the call went, whatever becomes of its config meanwhile', async () => {
      const { server, api } = await setup(adapter)
      const away = await startServer()
      let kept: AxiosRequestConfig = {}
      api.interceptors.request.use((config) => {
        kept = config
        return config
      })
      for (const change of [
        () => Object.assign(kept, { baseURL: away.url }),
        () => Object.assign(kept, { url: `${away.url}/pay` }),
        () => (kept.params as URLSearchParams).set('amount', '1000'),
        () => Object.assign(kept, { params: { amount: 1_000 } }),
        () => Object.assign(kept, { paramsSerializer: () => 'amount=1000' }),
      ]) {
        const answer = server.hang()
        const call = api.post('/pay', 'x', { params: new URLSearchParams('amount=1') })
        await eventually(() => server.hits).toBe(1)
        change()
        answer(503)
        await call
        const sent = server.requests.splice(0)
        expect(sent.map(({ url }) => url)).toEqual(['/pay?amount=1', '/pay?amount=1'])
      }
      expect(away.hits).toBe(0)
    })

    test('S15 credentials win over user and password of a URL', async () => {
      const { server, api } = await setup(adapter, { give: () => ({ authorization: 'Bearer fresh' }), answers: [503] })
      await api.get('/private', { baseURL: server.url.replace('://', '://me:secret@') })
      const basic = `Basic ${btoa('me:secret')}`
      expect(server.requests.map(({ headers }) => headers.authorization)).toEqual([basic, 'Bearer fresh'])
    })

    test.each<[string, object]>([
      ['not said', {}],
      ['none', { maxRedirects: 0 }],
      ['less than none', { maxRedirects: -1 }],
      ['no number', { maxRedirects: Number.NaN }],
      ['null', { maxRedirects: null }],
      ['a text', { maxRedirects: '5' }],
      ['a list', { fetchOptions: { redirect: ['follow'] } }],
      ['said twice', { maxRedirects: 0, fetchOptions: { redirect: 'follow' } }],
    ])('S15 a retry takes nothing to another origin where redirects are %s', async (_, config) => {
      const away = await startServer()
      const { server, api } = await setup(adapter, { give: () => ({ 'x-api-key': 'own' }) })
      server.reply(503).reply(307, { location: `${away.url}/there` })
      await failure(api.post('/go', 'x', config))
      expect(server.hits).toBe(2)
      expect(away.hits).toBe(0)
    })

    test('S16 a retry is redirected no further once another principal logs in, and its task waits for its own', async () => {
      const { server, queue, api } = await setup(adapter, { principal: 'ann', answers: [503] })
      const answer = server.hang()
      const call = api.post('/go', "ann's", { redrive: { waitMs: 60_000 } })
      await eventually(() => server.hits).toBe(2)
      let end = () => {}
      const during = () =>
        new Promise<void>((resolve) => {
          end = resolve
        })
      const switched = queue.setPrincipal('ben', { during })
      answer(307, { location: '/there' })
      await eventually(() => queue.stats({ allPrincipals: true }).inFlight).toBe(0)
      expect(queue.stats({ allPrincipals: true })).toMatchObject({ depth: 1, deadLetters: 0 })
      end()
      await switched
      await queue.setPrincipal('ann')
      expect((await call).status).toBe(200)
      expect(server.requests.map(({ url }) => url)).toEqual(['/go', '/go', '/go'])
    })
  })

  test('responseType stream: the answers that no caller gets are let go', async () => {
    const { server, api } = await setup(adapter)
    // more than the buffers between there and here hold
    server.reply(503, {}, 'x'.repeat(20_000_000)).reply(200, {}, 'good')
    const { data } = await api.get<AsyncIterable<Uint8Array>>('/', { responseType: 'stream' })
    const chunks: Uint8Array[] = []
    for await (const chunk of data) chunks.push(chunk)
    expect(Buffer.concat(chunks).toString()).toBe('good')
    await eventually(() => server.inFlight).toBe(0)
  })

  test('progress is told of, up and down', async () => {
    const { server, api } = await setup(adapter, { answers: [503, [200, { 'content-length': '4' }, 'good']] })
    const up = vi.fn()
    const down = vi.fn()
    await api.post('/', 'x'.repeat(1000), { onUploadProgress: up, onDownloadProgress: down })
    expect(up.mock.lastCall?.[0]).toMatchObject({ loaded: 1000, total: 1000, upload: true })
    expect(down.mock.lastCall?.[0]).toMatchObject({ loaded: 4, download: true })
    expect(server.requests.map((request) => request.body.length)).toEqual([1000, 1000])
  })

  test.each<[what: string, config: AxiosRequestConfig]>([
    ['nothing of its own', {}],
    ['text', { responseType: 'text' }],
    ['bytes', { responseType: 'arraybuffer' }],
    ['a stream', { responseType: 'stream' }],
    ['what a transformResponse makes of it', { transformResponse: (text: string) => JSON.parse(text).orders.length }],
    ['only a status that it does not have', { validateStatus: (status) => status === 200 }],
  ])('defer: the 202 is the same for a caller that wants %s', async (_what, config) => {
    const { queue, api } = await setup(adapter, { answers: [503, [200, {}, '{"orders":[1]}']] })
    const response = await api.post('/orders', {}, { ...config, redrive: { mode: 'defer' } })
    if (!isAccepted(response)) throw new Error('the 202 was not known as one')
    const { taskId } = response.data
    expect([response.status, response.statusText]).toEqual([202, 'Accepted'])
    expect(response.data).toEqual({ status: 'queued', taskId, traceId: expect.any(String), durability: 'memory' })
    expect(response.headers).toMatchObject({ 'redrive-durability': 'memory', 'redrive-task-id': taskId })
    // it may be sent again, as a call of its own
    expect(response.config.transformResponse).toEqual(config.transformResponse ?? api.defaults.transformResponse)
    expect(await queue.result(taskId)).toMatchObject({ responseStatus: 200, task: { status: 'SUCCEEDED' } })
  })

  test('a dead letter is sent again as it was', async () => {
    const { server, queue, api } = await setup(adapter, { answers: [503, 503, 503, 200] })
    const error = await failure(api.post('/orders', { sku: 'a' }))
    await queue.deadLetters.redrive(error.redrive?.taskId ?? '')
    await queue.idle()
    expect(server.hits).toBe(4)
    expect(new Set(keysOf(server)).size).toBe(1)
    expect(String(server.requests[3]?.body)).toBe('{"sku":"a"}')
  })
})

test('Axios alone needs no fetch, Response or MessageChannel of its host: Jest’s jsdom has none', async () => {
  const { api } = await setup('http', { answers: [503, [200, JSON_TYPE, '{"id":7}']] })
  for (const name of ['fetch', 'Request', 'Response', 'MessageChannel']) vi.stubGlobal(name, undefined)
  try {
    expect((await api.get('/orders')).data).toEqual({ id: 7 })
  } finally {
    vi.unstubAllGlobals()
  }
})
