/** The chain of interceptors and transforms around each attempt, and what ends it. */

import { Agent } from 'node:http'
import { Readable } from 'node:stream'
import axios from 'axios'
import { expect } from 'vitest'
import { afterResets, always, attach, type Cases, failed, plain } from './subject.ts'

export const chain: Cases = {
  'request interceptors run for each attempt, on both sides of it': async (subject) => {
    const { server, api } = await plain()
    let token = 0
    api.interceptors.request.use((config) => {
      config.headers.set('x-after', `${++token}`)
      return config
    })
    subject.default(api)
    api.interceptors.request.use((config) => {
      config.headers.set('x-before', `${token}`)
      return config
    })
    server.reset().reset()
    await api.get('/')
    const seen = server.requests.map(({ headers }) => [headers['x-before'], headers['x-after']])
    expect(seen).toEqual([
      ['0', '1'],
      ['1', '2'],
      ['2', '3'],
    ])
  },

  'response interceptors before it see each answer, those after it only the last, once for each attempt': async (
    subject,
  ) => {
    const { server, api } = await plain()
    const before: unknown[] = []
    const after: unknown[] = []
    const note = (list: unknown[]) =>
      api.interceptors.response.use(
        (response) => {
          list.push(response.status)
          return response
        },
        (error) => {
          list.push(error.response.status)
          throw error
        },
      )
    note(before)
    subject.default(api)
    note(after)
    server.reply(503).reply(502)
    await api.get('/')
    expect([before, after]).toEqual([
      [503, 502, 200],
      [200, 200, 200],
    ])
  },

  'an interceptor before it may turn an error into a success': async (subject) => {
    const { server, api } = await plain()
    api.interceptors.response.use(null, () => 'from a cache')
    subject.default(api)
    server.reply(503)
    expect(await api.get('/')).toBe('from a cache')
    expect(server.hits).toBe(1)
  },

  'an interceptor before it may send the request again by itself, as after a 401': async (subject) => {
    const { server, api } = await plain()
    api.interceptors.response.use(null, (error) => {
      if (error.response?.status !== 401) throw error
      error.config.headers.set('authorization', 'fresh')
      return api.request(error.config)
    })
    subject.default(api)
    server.reply(503).reply(401).reply(503)
    expect((await api.get('/')).status).toBe(200)
    expect(server.requests.map(({ headers }) => headers.authorization)).toEqual([
      undefined,
      undefined,
      'fresh',
      'fresh',
    ])
  },

  'an error of a request interceptor is passed on, also in a retry': async (subject) => {
    const { server, api } = await afterResets(1, subject)
    api.interceptors.request.use((config) => {
      if (server.hits > 0) throw new Error('of an interceptor')
      return config
    })
    expect((await failed(api.get('/'))).message).toBe('of an interceptor')
    expect(server.hits).toBe(1)
  },

  'a request interceptor may answer in place of the network': async (subject) => {
    const { server, api } = await plain()
    api.interceptors.request.use((config) => {
      if (server.hits > 0) {
        config.adapter = async () => ({ status: 200, statusText: '', headers: {}, data: 'cached', config, request: {} })
      }
      return config
    })
    subject.default(api)
    server.reset()
    expect((await api.get('/')).data).toBe('cached')
    expect(server.hits).toBe(1)
  },

  'transformRequest runs once, transformResponse for each answer': async (subject) => {
    let requests = 0
    let responses = 0
    const transformRequest = (data: unknown) => {
      requests++
      return JSON.stringify(data)
    }
    const transformResponse = (data: unknown) => {
      responses++
      return data
    }
    const { server, api } = await attach(subject, { retryCondition: always }, { transformRequest, transformResponse })
    server.reply(503).reset()
    await api.post('/', { a: 'b' })
    expect(server.requests.map(({ body }) => String(body))).toEqual(Array(3).fill('{"a":"b"}'))
    expect([requests, responses]).toEqual([1, 2])
  },

  'forms are sent whole on each attempt': async (subject) => {
    const { server, api } = await attach(subject, { retryCondition: always })
    const form = new FormData()
    form.set('name', 'tea')
    server.reply(503)
    await api.post('/', form)
    expect(server.requests.map(({ body }) => String(body).includes('name="name"\r\n\r\ntea'))).toEqual([true, true])
  },

  'a stream is sent, where no retry is needed': async (subject) => {
    const { server, api } = await attach(subject)
    await api.put('/', Readable.from(['precious']))
    expect(server.requests.map(({ body }) => String(body))).toEqual(['precious'])
  },

  'a stream is sent empty when it is tried again': async (subject) => {
    const { server, api } = await attach(subject)
    server.reply(503)
    await api.put('/', Readable.from(['precious'])).catch(() => {})
    expect(server.requests.map(({ body }) => String(body))).toEqual(['precious', ''])
  },

  'agents that refer to themselves are taken, also of another name': async (subject) => {
    const agent = Object.assign(new Agent(), { self: {} })
    agent.self = agent
    for (const config of [{ httpAgent: agent }, { agent }]) {
      const { server, api } = await attach(subject, {}, config)
      server.reset()
      expect((await api.get('/')).status).toBe(200)
    }
  },

  'an adapter of one’s own is asked for each attempt': async (subject) => {
    let calls = 0
    const adapter = async (config: object) => {
      calls++
      if (calls < 3) throw new axios.AxiosError('lost', 'ECONNRESET', config as never)
      return { status: 200, statusText: '', headers: {}, data: calls, config, request: {} }
    }
    const { api } = await attach(subject, {}, { adapter } as object)
    expect((await api.get('/')).data).toBe(3)
  },

  'one that fails with words alone is asked again, where the condition says so': async (subject) => {
    let calls = 0
    const adapter = async (config: object) => {
      calls++
      throw new axios.AxiosError('it did not work', undefined, config as never)
    }
    const { api } = await attach(subject, { retries: 2, retryCondition: always }, { adapter } as object)
    expect(await failed(api.get('/'))).toMatchObject({ message: 'it did not work', retryCount: 2 })
    expect(calls).toBe(3)
  },

  'a mock is asked again about a URL without a server': async (subject) => {
    let calls = 0
    const adapter = async (config: object) => {
      calls++
      throw new axios.AxiosError('lost', 'ECONNRESET', config as never)
    }
    const { api } = await attach(subject, { retries: 1 }, { adapter, baseURL: '' } as object)
    await failed(api.get('/orders'))
    expect(calls).toBe(2)
  },

  'a retry with credentials is redirected to another server, as the first attempt is': async (subject) => {
    const other = await attach(subject)
    const { server, api } = await afterResets(1, subject)
    server.reply(302, { location: other.server.url })
    await api.get('/', { headers: { authorization: 'secret' } })
    expect(other.server.hits).toBe(1)
  },

  'a retry without credentials is redirected to another server, as the first attempt is': async (subject) => {
    const other = await attach(subject)
    for (const adapter of ['http', 'fetch']) {
      const { server, api } = await attach(subject, {}, { adapter })
      server.reset().reply(302, { location: `${other.server.url}/${adapter}` })
      expect((await api.get('/', { headers: { range: 'bytes=0-9' } })).status).toBe(200)
    }
    expect(other.server.requests.map(({ url, headers }) => [url, headers.range])).toEqual([
      ['/http', 'bytes=0-9'],
      ['/fetch', 'bytes=0-9'],
    ])
  },

  'its options may be null, and so may those of a request': async (subject) => {
    const { server, api } = await attach(subject, null as never)
    server.reply(503)
    expect((await api.get('/', { 'axios-retry': null as never })).status).toBe(200)
    expect(server.hits).toBe(2)
  },

  'a cancelToken ends the wait for a retry': async (subject) => {
    const { token, cancel } = axios.CancelToken.source()
    const onRetry = () => void setImmediate(() => cancel('enough'))
    const { server, api } = await afterResets(0, subject, { retryDelay: () => 200, onRetry })
    server.reply(503)
    const error = await failed(api.get('/', { cancelToken: token }))
    expect(error).toMatchObject({ code: 'ERR_CANCELED', message: 'enough' })
    expect(server.hits).toBe(1)
  },

  'an abort ends the wait for a retry, and while onRetry runs it ends it without one': async (subject) => {
    for (const soon of [setImmediate, (abort: () => void) => abort()]) {
      const controller = new AbortController()
      const onRetry = () => void soon(() => controller.abort())
      const { server, api } = await afterResets(1, subject, { retryDelay: () => 600_000, onRetry })
      expect(await failed(api.get('/', { signal: controller.signal }))).toMatchObject({ code: 'ERR_CANCELED' })
      expect(server.hits).toBe(1)
    }
  },

  'an abort ends the attempt that runs': async (subject) => {
    const { server, api } = await afterResets(1, subject, { retryCondition: ({ code }) => code === 'ECONNRESET' })
    const release = server.hang()
    const controller = new AbortController()
    const call = failed(api.get('/', { signal: controller.signal }))
    await expect.poll(() => server.hits).toBe(2)
    controller.abort()
    expect(await call).toMatchObject({ code: 'ERR_CANCELED' })
    release()
  },
}
