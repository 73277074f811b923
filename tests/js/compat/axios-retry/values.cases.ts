/** Exports that are asked without a request: conditions, delays, defaults. */

import { constants } from 'node:os'
import { AxiosError } from 'axios'
import { expect } from 'vitest'
import type { Cases, Subject } from './subject.ts'

interface Shape {
  readonly code?: string
  readonly method?: string
  readonly status?: number
}

function errorOf({ code, method, status }: Shape): AxiosError {
  const error = new AxiosError('of a test', code)
  if (method !== undefined) error.config = { method } as never
  if (status !== undefined) error.response = { status } as never
  return error
}

const METHODS = ['get', 'head', 'options', 'put', 'delete', 'post', 'patch', undefined]
const LASTING = ['ENOTFOUND', 'ENETUNREACH', 'CERT_HAS_EXPIRED', 'DEPTH_ZERO_SELF_SIGNED_CERT', 'HOSTNAME_MISMATCH']

/** The methods of requests that a condition says yes to. */
const yes = (condition: (error: AxiosError) => boolean, shape: Shape): (string | undefined)[] =>
  METHODS.filter((method) => condition(errorOf({ ...shape, ...(method ? { method } : {}) })))

const withHeader = (value: string): AxiosError =>
  Object.assign(errorOf({}), { response: { status: 429, headers: { 'retry-after': value } } })

const inTenSeconds = (seconds: number): string => new Date(Date.now() + seconds * 1_000).toUTCString()

export const values: Cases = {
  'isNetworkError: there was a code and no answer, no time limit, no abort, and no lasting fault': async ({
    isNetworkError,
  }) => {
    expect(
      [...Object.keys(constants.errno), 'ERR_NETWORK', 'ERR_BAD_REQUEST'].filter((code) => !isNetworkError({ code })),
    ).toEqual(expect.arrayContaining(['ECONNABORTED', 'ENETUNREACH']))
    for (const code of ['ECONNREFUSED', 'ECONNRESET', 'ETIMEDOUT', 'ERR_NETWORK']) {
      expect(isNetworkError(errorOf({ code }))).toBe(true)
      expect(isNetworkError(errorOf({ code, status: 500 }))).toBe(false)
    }
    for (const code of ['ECONNABORTED', 'ERR_CANCELED', ...LASTING])
      expect(isNetworkError(errorOf({ code }))).toBe(false)
    expect(isNetworkError(new Error('without a code'))).toBe(false)
  },

  'isRetryableError: no answer, 429 or 5xx, and no time limit': async ({ isRetryableError }) => {
    const good = [429, 500, 503, 599]
    expect(
      [200, 400, 408, 429, 499, 500, 503, 599, 600].filter((status) => isRetryableError(errorOf({ status }))),
    ).toEqual(good)
    expect(isRetryableError(errorOf({ code: 'ECONNRESET' }))).toBe(true)
    expect(isRetryableError(errorOf({}))).toBe(true)
    expect(isRetryableError(errorOf({ code: 'ECONNABORTED' }))).toBe(false)
    expect(isRetryableError(errorOf({ code: 'ECONNABORTED', status: 500 }))).toBe(false)
  },

  'isSafeRequestError, isIdempotentRequestError: the same, of some methods': async (subject) => {
    const { isSafeRequestError, isIdempotentRequestError } = subject
    for (const shape of [{}, { status: 500 }, { status: 429 }, { code: 'ECONNRESET' }]) {
      expect(yes(isSafeRequestError, shape)).toEqual(['get', 'head', 'options'])
      expect(yes(isIdempotentRequestError, shape)).toEqual(['get', 'head', 'options', 'put', 'delete'])
    }
    for (const shape of [{ status: 404 }, { code: 'ECONNABORTED' }]) {
      expect([yes(isSafeRequestError, shape), yes(isIdempotentRequestError, shape)]).toEqual([[], []])
    }
    expect(isSafeRequestError(errorOf({ method: 'GET', status: 500 }))).toBe(false)
  },

  'isNetworkOrIdempotentRequestError: either': async ({ isNetworkOrIdempotentRequestError }) => {
    expect(yes(isNetworkOrIdempotentRequestError, { code: 'ECONNRESET' })).toEqual(METHODS)
    expect(yes(isNetworkOrIdempotentRequestError, { status: 503 })).toEqual(METHODS.slice(0, 5))
    expect(yes(isNetworkOrIdempotentRequestError, { code: 'ENOTFOUND' })).toEqual(METHODS.slice(0, 5))
  },

  'exponentialDelay: a factor, doubled for each retry, and up to a fifth more': async ({ exponentialDelay }) => {
    for (const factor of [undefined, 1_000]) {
      for (let retry = 0; retry <= 10; retry++) {
        const least = 2 ** retry * (factor ?? 100)
        const ms = exponentialDelay(retry, undefined, factor)
        expect(ms).toBeGreaterThanOrEqual(least)
        expect(ms).toBeLessThanOrEqual(least * 1.2)
      }
    }
    expect(exponentialDelay()).toBeLessThanOrEqual(120)
    expect(exponentialDelay(1, withHeader('10'))).toBeGreaterThanOrEqual(10_000)
  },

  'linearDelay: a factor for each retry': async ({ linearDelay }) => {
    const retries = [1, 2, 10]
    expect(retries.map((retry) => linearDelay()(retry, undefined))).toEqual([100, 200, 1_000])
    expect(retries.map((retry) => linearDelay(300)(retry, undefined))).toEqual([300, 600, 3_000])
    expect(linearDelay()(1, withHeader('10'))).toBe(10_000)
  },

  'retryAfter: seconds or a date, and 0 for all else': async ({ retryAfter }) => {
    const ms = (value: string) => retryAfter(withHeader(value))
    expect(['10', '1.5', '-10', '0', 'a couple minutes', ''].map(ms)).toEqual([10_000, 1_500, 0, 0, 0, 0])
    expect(ms(inTenSeconds(10))).toBeGreaterThan(8_000)
    expect(ms(inTenSeconds(10))).toBeLessThanOrEqual(10_000)
    expect(ms(inTenSeconds(-10))).toBe(0)
    expect([retryAfter(), retryAfter(errorOf({}))]).toEqual([0, 0])
  },

  'the defaults, and the name in the config': async ({ DEFAULT_OPTIONS, namespace, ...subject }) => {
    const { retries, shouldResetTimeout, validateResponse, retryCondition, retryDelay } = DEFAULT_OPTIONS
    expect([namespace, retries, shouldResetTimeout, validateResponse]).toEqual(['axios-retry', 3, false, null])
    expect(retryCondition).toBe(subject.isNetworkOrIdempotentRequestError)
    expect([retryDelay(5, errorOf({})), retryDelay(1, withHeader('2'))]).toEqual([0, 2_000])
  },

  'the default export has the conditions and delays as properties': async (subject) => {
    const names = ['isNetworkError', 'isRetryableError', 'isSafeRequestError', 'isIdempotentRequestError'] as const
    for (const name of [...names, 'isNetworkOrIdempotentRequestError', 'exponentialDelay', 'linearDelay'] as const) {
      expect(subject.default[name]).toBe(subject[name as keyof Subject])
    }
  },
}
