/** Whether another attempt is made, and how many. */

import axios, { AxiosError } from 'axios'
import { expect } from 'vitest'
import { afterResets, always, attach, type Cases, failed, plain } from './subject.ts'

export const retries: Cases = {
  'a success is passed on, without a retry': async (subject) => {
    const { server, api } = await attach(subject, { retries: 0 })
    const { status, config } = await api.get('/')
    expect([status, server.hits, config['axios-retry']?.retryCount]).toEqual([200, 1, 0])
  },

  'a lost connection is tried again, and the config says how often': async (subject) => {
    const { server, api } = await afterResets(1, subject, { retries: 1, retryCondition: always })
    const { status, config } = await api.get('/')
    expect([status, server.hits]).toEqual([200, 2])
    expect(config['axios-retry']).toMatchObject({ retries: 1, retryCount: 1 })
  },

  'as many retries as `retries` says, at once: three where nothing is said, none where it is no number': async (
    subject,
  ) => {
    for (const [options, retries] of [
      [undefined, 3],
      [{ retries: 0, retryCondition: always }, 0],
      // as an option given as undefined
      [{ retries: undefined }, 0],
      [{ retries: Number.NaN }, 0],
      [{ retries: 1.5 }, 2],
    ] as const) {
      const { server, api } = await afterResets(5, subject, options as object)
      expect(await failed(api.get('/'))).toMatchObject({ code: 'ECONNRESET', retryCount: retries })
      expect(server.hits).toBe(retries + 1)
    }
    const { server, api } = await afterResets(6, subject, { retries: Number.POSITIVE_INFINITY })
    expect((await api.get('/')).status).toBe(200)
    expect(server.hits).toBe(7)
  },

  'the last error is the one that is thrown': async (subject) => {
    const { server, api } = await attach(subject, { retries: 1, retryCondition: always })
    server.reply(500).reply(404)
    expect((await failed(api.get('/'))).response?.status).toBe(404)
  },

  'options of a request are laid over those of the instance': async (subject) => {
    const { server, api } = await afterResets(2, subject, { retries: 0 })
    expect((await api.get('/', { 'axios-retry': { retries: 2 } })).status).toBe(200)
    expect(server.hits).toBe(3)
  },

  'options in the defaults of an instance are those of its requests': async (subject) => {
    const { server, api } = await attach(subject, { retries: 0 }, { 'axios-retry': { retries: 1 } } as object)
    server.reset()
    expect((await api.get('/')).status).toBe(200)
  },

  'the condition is asked with the error, and says no': async (subject) => {
    const asked: unknown[] = []
    const retryCondition = (error: AxiosError) => {
      asked.push(error)
      return false
    }
    const { server, api } = await afterResets(1, subject, { retries: 1, retryCondition })
    const error = await failed(api.get('/'))
    expect(asked).toEqual([error])
    expect(server.hits).toBe(1)
  },

  'the condition sees the body as the caller would': async (subject) => {
    const retryCondition = ({ response }: AxiosError<unknown>) =>
      (response?.data as { readonly isBusy?: boolean } | undefined)?.isBusy === true
    const { server, api } = await attach(subject, { retryCondition })
    server.reply(409, { 'content-type': 'application/json' }, '{"isBusy":true}')
    server.reply(409, { 'content-type': 'application/json' }, '{"isBusy":false}')
    expect((await failed(api.get('/'))).response?.data).toEqual({ isBusy: false })
    expect(server.hits).toBe(2)
  },

  'a promise of a condition is waited for; it says no by false and by a rejection, and yes by undefined and null':
    async (subject) => {
      for (const [retryCondition, hits] of [
        [() => Promise.resolve(true), 2],
        [() => Promise.resolve(undefined), 2],
        [() => null, 2],
        [() => Promise.resolve(false), 1],
        [() => Promise.reject(new Error('no')), 1],
      ] as unknown as [() => boolean, number][]) {
        const { server, api } = await afterResets(1, subject, { retries: 1, retryCondition })
        if (hits === 2) expect((await api.get('/')).status).toBe(200)
        else expect((await failed(api.get('/'))).code).toBe('ECONNRESET')
        expect(server.hits).toBe(hits)
      }
    },

  'what the condition throws is what the request rejects with': async (subject) => {
    const mistake = new Error('of a condition')
    const retryCondition = () => {
      throw mistake
    }
    const { server, api } = await afterResets(1, subject, { retryCondition })
    expect(await failed(api.get('/'))).toBe(mistake)
    expect(server.hits).toBe(1)
  },

  'a condition may ask for a retry of any answer, and of any method': async (subject) => {
    const { server, api } = await attach(subject, { retryCondition: always })
    server.reply(400).reply(404).reply(304)
    expect((await api.post('/', { a: 1 })).status).toBe(200)
    expect(server.requests.map(({ method, body }) => [method, String(body)])).toEqual(
      Array(4).fill(['POST', '{"a":1}']),
    )
  },

  'GET, HEAD, OPTIONS, PUT and DELETE are tried again after 429 and 5xx': async (subject) => {
    for (const method of ['get', 'head', 'options', 'put', 'delete']) {
      const { server, api } = await attach(subject)
      server.reply(500).reply(429).reply(599)
      expect((await api.request({ method, url: '/' })).status).toBe(200)
      expect(server.hits).toBe(4)
    }
  },

  'POST and PATCH are not tried again after a 5xx': async (subject) => {
    for (const method of ['post', 'patch']) {
      const { server, api } = await attach(subject)
      server.reply(503)
      expect((await failed(api.request({ method, url: '/', data: {} }))).response?.status).toBe(503)
      expect(server.hits).toBe(1)
    }
  },

  'a POST is tried again after a lost connection, although no condition was given': async (subject) => {
    const { server, api } = await afterResets(1, subject)
    expect((await api.post('/', {})).status).toBe(200)
    expect(server.hits).toBe(2)
  },

  'an answer that `validateStatus` takes for a success is one': async (subject) => {
    const { server, api } = await attach(subject, { retryCondition: always }, { validateStatus: () => true })
    server.reply(503)
    expect((await api.get('/')).status).toBe(503)
    expect(server.hits).toBe(1)
  },

  'an error without a config is passed on': async (subject) => {
    const { server, api } = await plain()
    const mistake = new Error('of an interceptor')
    api.interceptors.response.use(null, () => Promise.reject(mistake))
    subject.default(api, { retries: 1, retryCondition: always })
    server.reply(503)
    expect(await failed(api.get('/'))).toBe(mistake)
    expect(server.hits).toBe(1)
  },

  'an error that an earlier interceptor makes of a success is tried again': async ({ default: axiosRetry }) => {
    const { server, api } = await plain()
    api.interceptors.response.use((response) => {
      if (response.data.isBusy) throw new AxiosError('busy', 'EBUSY', response.config, response.request, response)
      return response
    })
    axiosRetry(api, { retryCondition: ({ code }) => code === 'EBUSY' })
    const json = { 'content-type': 'application/json' }
    server.reply(200, json, '{"isBusy":true}').reply(200, json, '{"isBusy":true}')
    const { data, config } = await api.get('/')
    expect([data, server.hits, config['axios-retry']?.retryCount]).toEqual([{ ok: true }, 3, 2])
  },

  'the config of an error may be sent again, and counts on': async (subject) => {
    const { server, api } = await afterResets(2, subject, { retries: 1 })
    const { config } = await failed(api.get('/'))
    server.reset()
    expect(await failed(api.request(config ?? {}))).toMatchObject({ retryCount: 1 })
    expect(server.hits).toBe(3)
  },

  'two instances have options of their own': async (subject) => {
    const { server, api } = await attach(subject, { retries: 0 })
    const other = axios.create({ adapter: 'http', baseURL: server.url })
    subject.default(other, { retries: 1 })
    server.reset()
    await failed(api.get('/'))
    server.reset()
    expect((await other.get('/')).status).toBe(200)
  },

  'the ids are those of the interceptors, and eject takes them': async ({ default: axiosRetry }) => {
    const { server, api } = await plain()
    const ids = axiosRetry(api, { retryCondition: always })
    expect(ids).toEqual({ requestInterceptorId: 0, responseInterceptorId: 0 })
    api.interceptors.request.eject(ids.requestInterceptorId)
    api.interceptors.response.eject(ids.responseInterceptorId)
    server.reply(503)
    expect((await failed(api.get('/'))).config?.['axios-retry']).toBeUndefined()
    expect(server.hits).toBe(1)
  },
}
