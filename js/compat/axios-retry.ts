/**
 * axios-retry's interface, on a queue: its options decide whether and when, as they did, and the queue makes the attempts. So one changed
 * import brings what a queue adds: `Retry-After` as a lower bound, idempotency keys, gates, events.
 *
 * It is exact where a program can tell: interceptors run for each attempt, hooks are waited for, configs hold what they held. It
 * differs where axios-retry does harm: docs/compat-axios-retry.md lists that.
 */

import type { AxiosError, AxiosInstance, AxiosStatic } from 'axios'
import type { RetryQueueOptions } from '../options/queue-options.ts'
import type { RetryQueue } from '../queue/queue.ts'
import {
  isIdempotentRequestError,
  isNetworkError,
  isNetworkOrIdempotentRequestError,
  isRetryableError,
  isSafeRequestError,
} from './axios-retry/conditions.ts'
import { exponentialDelay, linearDelay } from './axios-retry/delays.ts'
import { intercept } from './axios-retry/interceptors.ts'
import type { AxiosRetryOptions, IAxiosRetryConfigExtended, IAxiosRetryReturn } from './axios-retry/options.ts'

export * from './axios-retry/conditions.ts'
export * from './axios-retry/delays.ts'
export {
  type AxiosRetryOptions,
  DEFAULT_OPTIONS,
  type IAxiosRetryConfig,
  type IAxiosRetryConfigExtended,
  type IAxiosRetryReturn,
  namespace,
} from './axios-retry/options.ts'

declare module 'axios' {
  interface AxiosRequestConfig {
    'axios-retry'?: IAxiosRetryConfigExtended
  }
}

export interface AxiosRetry {
  /** Has the instance's requests tried again. Returns the ids of its two interceptors, which `eject` takes. */
  (axiosInstance: AxiosStatic | AxiosInstance, axiosRetryConfig?: AxiosRetryOptions): IAxiosRetryReturn
  isNetworkError(error: AxiosError): boolean
  isRetryableError(error: AxiosError): boolean
  isSafeRequestError(error: AxiosError): boolean
  isIdempotentRequestError(error: AxiosError): boolean
  isNetworkOrIdempotentRequestError(error: AxiosError): boolean
  exponentialDelay(retryNumber?: number, error?: AxiosError, delayFactor?: number): number
  linearDelay(delayFactor?: number): (retryNumber: number, error: AxiosError | undefined) => number
}

/**
 * The queue of an instance that was given none: it changes as little as can be. Without keys, since their header is one more; without a retry budget and
 * with room for all, since `retries` alone said how many; without time limits beside those of axios.
 */
const PRIVATE: RetryQueueOptions = {
  name: 'axios-retry',
  idempotency: false,
  retryBudget: false,
  concurrency: 10_000,
  capacity: 1_000_000,
  capacityBytes: 2 ** 30,
  maxBodyBytes: 2 ** 30,
  policy: { attemptTimeoutMs: 0, retryableStatusCodes: 'broad' },
}

/** Makes the default export of an entry, which knows how a queue is made there. */
export function makeAxiosRetry(newQueue: (options: RetryQueueOptions) => RetryQueue): AxiosRetry {
  const axiosRetry = (instance: AxiosInstance, { queue, ...defaults }: AxiosRetryOptions = {}) =>
    intercept(instance, defaults, queue ?? newQueue(PRIVATE), !queue)
  return Object.assign(axiosRetry, {
    isNetworkError,
    isRetryableError,
    isSafeRequestError,
    isIdempotentRequestError,
    isNetworkOrIdempotentRequestError,
    exponentialDelay,
    linearDelay,
  })
}
