import { type AxiosAdapter, AxiosError, type AxiosRequestConfig, getAdapter } from 'axios'
import { describe, expect, test, vi } from 'vitest'
import type { RetryContext, RetryNotice, RetryQueueOptions } from '../../js/index.ts'
import { ADAPTERS, failure, setup, startServer } from './axios-setup.ts'

describe.each(ADAPTERS)('failures without an answer, with the %s adapter', (adapter) => {
  test('the last one is the native error, marked', async () => {
    const { server, api } = await setup(adapter, { answers: ['resets', 'resets', 'resets'] })
    const error = await failure(api.get('/a'))
    expect(server.hits).toBe(3)
    expect(error).toMatchObject({
      isAxiosError: true,
      code: adapter === 'http' ? 'ECONNRESET' : 'ERR_NETWORK',
      redrive: { reason: 'max_attempts' },
    })
    expect(error.response).toBeUndefined()
    expect(error.config).toMatchObject({ url: '/a', adapter })
  })

  test.each(['reset', 'closed'] as const)(
    'a body that breaks off, %s: tried again, at last the native error',
    async (how) => {
      const { server, api } = await setup(adapter)
      server.breakOff(how)
      expect((await api.post('/', {})).data).toEqual({ ok: true })
      expect(server.hits).toBe(2)

      server.breakOff(how)
      const plain = await failure(api.get('/', { redrive: false }))
      server.breakOff(how).breakOff(how).breakOff(how)
      const error = await failure(api.get('/'))
      expect(server.hits).toBe(6)
      expect(error.redrive).toMatchObject({ reason: 'max_attempts' })
      expect([error.name, error.message, error.code]).toEqual([plain.name, plain.message, plain.code])
      expect(error.response?.status).toBe(plain.response?.status)
      expect(error.response?.data).toBe(plain.response?.data)
    },
  )
})

test('an AxiosError without a code, as mocks of axios make it, is a lost connection', async () => {
  const { api, server } = await setup('http')
  const lost = vi.fn<AxiosAdapter>().mockImplementationOnce(async (config) => {
    throw AxiosError.from(new Error('Network Error'), undefined, config)
  })
  lost.mockImplementation((config) => getAdapter('http')(config))
  expect((await api.get('/', { adapter: lost })).data).toEqual({ ok: true })
  expect([lost.mock.calls.length, server.hits]).toEqual([2, 1])
})

describe.each(ADAPTERS)('mistakes of the caller are not tried again, with the %s adapter', (adapter) => {
  const thrown = new Error('mine')
  test.each<[string, AxiosRequestConfig & { url: string }, object]>([
    [
      'thrown in transformRequest',
      {
        url: '/',
        transformRequest: () => {
          throw thrown
        },
      },
      thrown,
    ],
    ['an option', { url: '/', paramsSerializer: { encode: 5 as never } }, { code: 'ERR_BAD_OPTION_VALUE' }],
    ['an unknown option', { url: '/', transitional: { no: true } as never }, { code: 'ERR_BAD_OPTION' }],
    ['a URL without slashes', { url: 'http:nowhere' }, { code: 'ERR_INVALID_URL' }],
    [
      'data over maxBodyLength',
      { url: '/', method: 'post', data: 'long', maxBodyLength: 2 },
      { code: 'ERR_BAD_REQUEST' },
    ],
    [
      'an adapter that does not exist',
      { url: '/', adapter: 'pigeon' as never },
      { message: "Unknown adapter 'pigeon'" },
    ],
    ['an adapter of their own that throws', { url: '/', adapter: () => Promise.reject(thrown) }, thrown],
    ['an answer over maxContentLength', { url: '/', maxContentLength: 2 }, { code: 'ERR_BAD_RESPONSE' }],
  ])('%s', async (_, config, expected) => {
    const { queue, api } = await setup(adapter)
    expect(await failure(api(config))).toMatchObject(expected)
    expect(queue.stats().attempts).toBeLessThanOrEqual(1)
    expect(queue.stats().deadLetters).toBe(0)
  })

  test.each([
    [{ redrive: true as never }, 'redrive: expected an object such as'],
    [{ redrive: { mode: 'later' as never } }, 'redrive.mode: expected'],
    [{ redrive: { policyId: 'none' } }, "redrive.policyId: expected 'default', got 'none'"],
  ])('%j is refused before anything is sent', async (config, message) => {
    const { server, api } = await setup(adapter)
    expect((await failure(api.get('/', config))).message).toContain(message)
    expect(server.hits).toBe(0)
  })
})

describe.each(ADAPTERS)('redirects, with the %s adapter', (adapter) => {
  test('maxRedirects 0: a redirect is an answer', async () => {
    const { server, api } = await setup(adapter, { answers: [503, [302, { location: '/elsewhere' }]] })
    expect((await failure(api.get('/', { maxRedirects: 0 }))).response?.status).toBe(302)
    expect(server.hits).toBe(2)
  })

  test.each([
    [302, 'POST', 'GET', ''],
    [307, 'POST', 'POST', '{"a":1}'],
    [303, 'PUT', 'GET', ''],
  ])('a replay follows %i within the origin: %s becomes %s', async (status, method, after, body) => {
    const { server, api } = await setup(adapter)
    server.reply(503).reply(status, { location: '/b?x=1' }).reply(200, {}, 'there')
    const validateStatus = vi.fn(() => true)
    const response = await api.request({ url: '/a', method, data: { a: 1 }, params: { p: 1 }, validateStatus })
    expect(response.data).toBe('there')
    expect(validateStatus).toHaveBeenCalledTimes(1)
    const last = server.requests[2]
    expect([last?.method, last?.url, String(last?.body)]).toEqual([after, '/b?x=1', body])
    expect(last?.headers['content-type']).toBe(body ? 'application/json' : undefined)
    expect(response.config.url).toBe('/a')
  })

  test('a replay does not follow to another origin', async () => {
    const other = await startServer()
    const { server, api } = await setup(adapter, { answers: [503, [307, { location: `${other.url}/b?token=1` }]] })
    const beforeRedirect = vi.fn()
    const error = await failure(api.post('/a', { a: 1 }, { beforeRedirect }))
    expect(other.hits).toBe(0)
    expect(beforeRedirect).not.toHaveBeenCalled()
    expect(error).toMatchObject({ isAxiosError: true, redrive: { reason: 'not_retryable' } })
    expect(error.message).not.toContain('token')
    if (adapter === 'http')
      expect(error.message).toContain(`a replay to ${server.url} is not redirected to another origin`)
    else expect(error.response?.status).toBe(307)
  })

  // with fetch, Axios has no such hook
  test.runIf(adapter === 'http')('beforeRedirect of the caller still runs', async () => {
    const { api } = await setup(adapter, { answers: [503, [302, { location: '/b' }]] })
    const beforeRedirect = vi.fn()
    await api.get('/a', { beforeRedirect })
    expect(beforeRedirect).toHaveBeenCalledTimes(1)
  })

  test('a replay gives up where redirects have no end', async () => {
    const { server, api } = await setup(adapter, { answers: [503] })
    for (let i = 0; i < 10; i++) server.reply(302, { location: '/again' })
    const error = await failure(api.get('/', { maxRedirects: 4 }))
    expect(error).toMatchObject({ isAxiosError: true, redrive: { reason: 'not_retryable' } })
    expect(server.hits).toBe(1 + 1 + 4)
  })
})

describe('errors by their codes', () => {
  const throwing = async (given: Partial<AxiosError>, options: RetryQueueOptions = {}) => {
    let hits = 0
    const config = {
      adapter: () => {
        hits++
        const { code, message = 'of this code', name } = given
        const error = new AxiosError(message, code)
        return Promise.reject(name ? Object.assign(error, { name }) : error)
      },
    }
    const { api } = await setup('http', options, config as object)
    await failure(api.post('/', {}))
    return hits
  }

  test.each([
    ...'EPROTO ERR_HTTP2_STREAM_ERROR ERR_HTTP2_GOAWAY_SESSION ERR_HTTP2_SESSION_ERROR'.split(' '),
    ...'ERR_HTTP2_INVALID_SESSION ERR_STREAM_PREMATURE_CLOSE HPE_INVALID_CONSTANT HPE_HEADER_OVERFLOW'.split(' '),
    // the rest of undici's list, and what axios-retry takes for transient
    ...'ECONNRESET ECONNREFUSED ENOTFOUND ENETDOWN ENETUNREACH EHOSTDOWN EHOSTUNREACH EPIPE UND_ERR_SOCKET'.split(' '),
    ...'ESOCKETTIMEDOUT EAI_AGAIN ETIMEDOUT ECONNABORTED EADDRNOTAVAIL EMFILE ERR_NETWORK'.split(' '),
  ])('%s is a lost connection', async (code) => {
    expect(await throwing({ code })).toBe(3)
  })

  test('with retryNetworkErrors: false a lost connection is final', async () => {
    expect(await throwing({ code: 'ECONNRESET' }, { policy: { retryNetworkErrors: false } })).toBe(1)
  })

  test.each([
    ...'ERR_BAD_OPTION ERR_INVALID_URL ERR_HTTP2_INVALID_HEADER_VALUE UND_ERR_INVALID_ARG ERR_CANCELED'.split(' '),
    // no repeat mends a certificate
    ...'ERR_FR_TOO_MANY_REDIRECTS CERT_HAS_EXPIRED DEPTH_ZERO_SELF_SIGNED_CERT ERR_TLS_CERT_ALTNAME_INVALID'.split(' '),
  ])('%s is final', async (code) => {
    expect(await throwing({ code })).toBe(1)
  })

  test.each([
    ['ECONNABORTED', 'timeout of 500ms exceeded'],
    ['ETIMEDOUT', 'timeout of 500ms exceeded'],
    ['ESOCKETTIMEDOUT', 'socket'],
  ])('%s (%s) is a timeout', async (code, message) => {
    expect(await throwing({ code, message }, { policy: { retryTimeouts: false } })).toBe(1)
    expect(await throwing({ code, message }, { policy: { retryNetworkErrors: false } })).toBe(3)
  })
})

describe.each(ADAPTERS)('shouldRetry and onRetry, with the %s adapter', (adapter) => {
  test('they hear of status, headers and error, and true tries a 404 again', async () => {
    const seen: unknown[] = []
    const { server, api } = await setup(adapter)
    server.reply(404, { 'x-why': 'soon' }).reset()
    const redrive = {
      shouldRetry: ({ response, error, attemptNumber }: RetryContext) => {
        seen.push([
          attemptNumber,
          response?.status,
          response?.headers.get('x-why'),
          (error as AxiosError)?.isAxiosError,
        ])
        return true
      },
      onRetry: ({ status }: RetryNotice) => seen.push(status),
    }
    expect((await api.post('/orders', {}, { redrive })).status).toBe(200)
    expect(seen).toEqual([[1, 404, 'soon', undefined], 404, [2, undefined, undefined, true], null])
  })

  test('what it throws is what the call rejects with', async () => {
    const { server, api } = await setup(adapter, { answers: [503] })
    const thrown = new Error('mine')
    const shouldRetry = () => {
      throw thrown
    }
    await expect(api.post('/orders', {}, { redrive: { shouldRetry } })).rejects.toBe(thrown)
    expect(server.hits).toBe(1)
  })
})
