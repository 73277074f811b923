/**
 * axios-retry's interface, on a queue: its options decide whether and when, as they did, and the queue makes the attempts. So one changed
 * import brings what a queue adds: `Retry-After` as a lower bound, events, and the keys, gates and limits of a queue that is given.
 *
 * It is exact where a program can tell: interceptors run for each attempt, hooks are waited for, configs hold what they held. It
 * differs where axios-retry does harm: docs/compat-axios-retry.md lists that.
 */

import type { AxiosError, AxiosInstance, AxiosStatic } from 'axios'
import type { GivenOptions } from '../../options/queue-options.ts'
import type { RetryQueue } from '../../queue/queue.ts'
import {
  isIdempotentRequestError,
  isNetworkError,
  isNetworkOrIdempotentRequestError,
  isRetryableError,
  isSafeRequestError,
} from './conditions.ts'
import { exponentialDelay, linearDelay } from './delays.ts'
import { intercept } from './interceptors.ts'
import type { AxiosRetryOptions, IAxiosRetryReturn } from './options.ts'
import type * as required from './required.cjs'

export interface AxiosRetry {
  /** Has the instance's requests tried again. Returns the ids of its two interceptors, which `eject` takes. */
  (
    axiosInstance: AxiosStatic | AxiosInstance | required.AxiosInstance,
    axiosRetryConfig?: AxiosRetryOptions,
  ): IAxiosRetryReturn
  isNetworkError(error: AxiosError): boolean
  isRetryableError(error: AxiosError): boolean
  isSafeRequestError(error: AxiosError): boolean
  isIdempotentRequestError(error: AxiosError): boolean
  isNetworkOrIdempotentRequestError(error: AxiosError): boolean
  exponentialDelay(retryNumber?: number, error?: AxiosError, delayFactor?: number): number
  linearDelay(delayFactor?: number): (retryNumber: number, error: AxiosError | undefined) => number
}

/**
 * The queue of an instance that was given none changes as little as can be. `retries` alone says how many attempts there are: no breaker, no
 * retry budget, and room for all. Keys are headers that the server was not sent before, and axios has time limits of its own.
 */
const PRIVATE: GivenOptions = {
  name: 'axios-retry',
  idempotency: false,
  breaker: false,
  retryBudget: false,
  concurrency: 10_000,
  capacity: 1_000_000,
  capacityBytes: 2 ** 30,
  maxBodyBytes: 2 ** 30,
  policy: { attemptTimeoutMs: 0, retryableStatusCodes: 'broad' },
}

/** Makes the default export of an entry, which knows how a queue is made there. */
export function makeAxiosRetry(newQueue: (options: GivenOptions) => RetryQueue): AxiosRetry {
  const axiosRetry = (given: AxiosInstance | required.AxiosInstance, options?: AxiosRetryOptions) => {
    // null is none, as it is to axios-retry
    const { queue, ...defaults } = options ?? {}
    const instance = given as AxiosInstance
    if (!instance?.interceptors) {
      throw new TypeError(`axiosRetry(axios): expected an Axios instance first, got ${typeof instance}`)
    }
    if (queue) return intercept(instance, defaults, queue, false)
    const own = newQueue(PRIVATE)
    // of storms and the like: only who has the queue could listen. `degraded` still warns
    own.on('alert', () => {})
    return intercept(instance, defaults, own, true)
  }
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
