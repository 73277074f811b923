/** The hooks: what they are told, in which order, and what becomes of what they throw. */

import type { AxiosError, AxiosRequestConfig } from 'axios'
import { expect } from 'vitest'
import { afterResets, always, attach, type Cases, failed } from './subject.ts'

/** A promise that settles in a later turn of the event loop. */
const later = <T>(settle: () => T): Promise<T> =>
  new Promise((resolve, reject) => {
    setImmediate(() => {
      try {
        resolve(settle())
      } catch (error) {
        reject(error)
      }
    })
  })

export const hooks: Cases = {
  'onRetry is told of each retry: its number, the error, the config': async (subject) => {
    const told: [number, AxiosError, AxiosRequestConfig][] = []
    const { server, api } = await attach(subject, { retries: 2, onRetry: (...each) => void told.push(each) })
    server.reply(500).reply(502).reply(503)
    await failed(api.get('/'))
    expect(told.map(([count, { response }, { url }]) => [count, response?.status, url])).toEqual([
      [1, 500, '/'],
      [2, 502, '/'],
    ])
  },

  'onRetry of a request is asked in place of the instance’s': async (subject) => {
    const told: string[] = []
    const { api } = await afterResets(1, subject, { onRetry: () => void told.push('instance') })
    await api.get('/', { 'axios-retry': { onRetry: () => void told.push('request') } })
    expect(told).toEqual(['request'])
  },

  'a promise of onRetry is waited for': async (subject) => {
    let isOver = false
    const onRetry = () =>
      later(() => {
        isOver = true
      })
    const { server, api } = await afterResets(1, subject, { onRetry })
    api.interceptors.request.use((config) => {
      if (server.hits > 0) expect(isOver).toBe(true)
      return config
    })
    await api.get('/')
    expect([server.hits, isOver]).toEqual([2, true])
  },

  'what onRetry throws is what the request rejects with, and no retry is made': async (subject) => {
    const mistake = new Error('of onRetry')
    const fail = () => {
      throw mistake
    }
    for (const onRetry of [fail, () => later(fail)]) {
      const { server, api } = await afterResets(1, subject, { onRetry })
      expect(await failed(api.get('/'))).toBe(mistake)
      expect(server.hits).toBe(1)
    }
  },

  'the retry goes out with the config as onRetry leaves it': async (subject) => {
    const onRetry = (count: number, _: AxiosError, config: AxiosRequestConfig) => {
      config.headers = { ...config.headers, 'x-retry': `${count}` }
      config.params = { retry: count }
    }
    const { server, api } = await afterResets(2, subject, { onRetry })
    await api.get('/')
    expect(server.requests.map(({ url, headers }) => [url, headers['x-retry']])).toEqual([
      ['/', undefined],
      ['/?retry=1', '1'],
      ['/?retry=2', '2'],
    ])
  },

  'onRetry may lead the retry to another server': async (subject) => {
    const other = await attach(subject)
    const onRetry = (_count: number, _error: AxiosError, config: AxiosRequestConfig) => {
      config.baseURL = other.server.url
    }
    const { server, api } = await afterResets(1, subject, { onRetry })
    other.server.reset()
    expect((await api.get('/')).config['axios-retry']?.retryCount).toBe(2)
    expect([server.hits, other.server.hits]).toEqual([1, 2])
  },

  'onMaxRetryTimesExceeded is told once, with the last error and the number of retries': async (subject) => {
    const told: [number | undefined, number][] = []
    const onMaxRetryTimesExceeded = ({ response }: AxiosError, count: number) =>
      void told.push([response?.status, count])
    const { server, api } = await attach(subject, { retries: 2, onMaxRetryTimesExceeded })
    server.reply(500).reply(502).reply(503)
    await failed(api.get('/'))
    expect(told).toEqual([[503, 2]])
  },

  'it is told with no retries too, but not where the condition said no': async (subject) => {
    const told: number[] = []
    const onMaxRetryTimesExceeded = (_: AxiosError, count: number) => void told.push(count)
    const { server, api } = await attach(subject, { onMaxRetryTimesExceeded })
    server.reply(503)
    await failed(api.get('/', { 'axios-retry': { retries: 0 } }))
    server.reply(404)
    await failed(api.get('/'))
    expect(told).toEqual([0])
  },

  'a promise of onMaxRetryTimesExceeded is waited for, and what either throws is thrown': async (subject) => {
    const mistake = new Error('of onMaxRetryTimesExceeded')
    const fail = () => {
      throw mistake
    }
    let isOver = false
    const end = () =>
      later(() => {
        isOver = true
      })
    const { server, api } = await attach(subject, { retries: 0 })
    server.reply(503)
    await failed(api.get('/', { 'axios-retry': { onMaxRetryTimesExceeded: end } }))
    expect(isOver).toBe(true)
    for (const onMaxRetryTimesExceeded of [fail, () => later(fail)]) {
      server.reply(503)
      expect(await failed(api.get('/', { 'axios-retry': { onMaxRetryTimesExceeded } }))).toBe(mistake)
    }
  },

  'condition, delay and onRetry are asked in this order': async (subject) => {
    const asked: string[] = []
    const { api } = await afterResets(1, subject, {
      retryCondition: () => asked.push('condition') > 0,
      retryDelay: (count) => asked.push(`delay ${count}`) * 0,
      onRetry: (count) => void asked.push(`onRetry ${count}`),
    })
    await api.get('/')
    expect(asked).toEqual(['condition', 'delay 1', 'onRetry 1'])
  },

  'validateResponse makes an error of a 200': async (subject) => {
    const { server, api } = await attach(subject, { retries: 0, validateResponse: ({ status }) => status !== 200 })
    expect(await failed(api.get('/'))).toMatchObject({ name: 'AxiosError', response: { status: 200 } })
    expect(server.hits).toBe(1)
  },

  'validateResponse sees the body, and a retry follows where it says no': async (subject) => {
    const { server, api } = await attach(subject, {
      retries: 4,
      retryCondition: always,
      validateResponse: ({ data }) => data === 'done',
    })
    server.reply(200, {}, 'busy').reset().reply(503).reply(200, {}, 'busy').reply(200, {}, 'done')
    const { data, config } = await api.get('/')
    expect([data, server.hits, config['axios-retry']?.retryCount]).toEqual(['done', 5, 4])
  },

  'validateResponse makes a success of a 503': async (subject) => {
    const { server, api } = await attach(subject, { validateResponse: ({ status }) => status === 503 })
    server.reply(503)
    expect((await api.get('/')).status).toBe(503)
    expect(server.hits).toBe(1)
  },

  'validateResponse of a request is asked in place of the instance’s; null turns it off': async (subject) => {
    const { server, api } = await attach(subject, { retries: 1, retryCondition: always, validateResponse: () => false })
    server.reply(200, {}, 'a').reply(200, {}, 'b')
    const onlyB = { 'axios-retry': { validateResponse: ({ data }: { readonly data: unknown }) => data === 'b' } }
    expect((await api.get('/', onlyB)).data).toBe('b')
    expect((await api.get('/', { 'axios-retry': { validateResponse: null } })).status).toBe(200)
    expect(server.hits).toBe(3)
  },
}
