/**
 * The options of axios-retry, by its names, and what of them a request's config holds. They are not `readonly`: a program that has axios-retry
 * installed as well has its declaration of `config['axios-retry']` too, and TypeScript takes two only where they are the same.
 */

import type { AxiosError, AxiosRequestConfig, AxiosResponse, InternalAxiosRequestConfig } from 'axios'
import type { RetryQueue } from '../../queue/queue.ts'
import { isNetworkOrIdempotentRequestError } from './conditions.ts'
import { retryAfter } from './delays.ts'

export interface IAxiosRetryConfig {
  /** Attempts after the first one. @default 3 */
  retries?: number
  /** true: `timeout` holds for each attempt. false: for all of them and the waits between them. @default false */
  shouldResetTimeout?: boolean
  /**
   * Whether the error is worth another attempt. A promise is waited for; of one, all but `false` means yes, and a rejection no.
   * @default isNetworkOrIdempotentRequestError, which does not repeat a POST or PATCH without an idempotency key
   */
  retryCondition?: (error: AxiosError) => boolean | Promise<boolean>
  /** The wait before a retry, in milliseconds. A longer one that the server asks for holds. @default none, or what `Retry-After` says */
  retryDelay?: (retryCount: number, error: AxiosError) => number
  /** Waited for before each retry, which goes out with the config as this leaves it. What it throws is what the request rejects with. */
  onRetry?: (retryCount: number, error: AxiosError, requestConfig: AxiosRequestConfig) => Promise<void> | void
  /** Waited for when no retries are left. What it throws is what the request rejects with. */
  onMaxRetryTimesExceeded?: (error: AxiosError, retryCount: number) => Promise<void> | void
  /** Which answers are good, in place of `validateStatus`; null: `validateStatus` says. @default null */
  validateResponse?: ((response: AxiosResponse) => boolean) | null
}

export interface IAxiosRetryConfigExtended extends IAxiosRetryConfig {
  /** Retries that were made. */
  retryCount?: number
  /** When the last attempt was begun, in epoch milliseconds. */
  lastRequestTime?: number
}

/** The options of `axiosRetry`: those of axios-retry, and the queue. */
export interface AxiosRetryOptions extends IAxiosRetryConfig {
  /**
   * The queue that the attempts run in: its keys, limits, gates and time limits hold, and its events tell of them.
   * @default one of its own, in memory, without keys, retry budget and time limits
   */
  queue?: RetryQueue
}

export interface IAxiosRetryReturn {
  requestInterceptorId: number
  responseInterceptorId: number
}

/** The name under which a request's config has its own options and how far it has come. */
export const namespace = 'axios-retry'

export const DEFAULT_OPTIONS: Required<IAxiosRetryConfig> = {
  retries: 3,
  shouldResetTimeout: false,
  retryCondition: isNetworkOrIdempotentRequestError,
  retryDelay: (_retryCount, error) => retryAfter(error),
  onRetry() {},
  onMaxRetryTimesExceeded() {},
  validateResponse: null,
}

/** The options of one request, and how far it has come. */
export type State = Required<IAxiosRetryConfig> & { retryCount: number; lastRequestTime: number }

/** Writes the options of a request, and how far it has come, into its config. `begins`: an attempt does, now. */
export function putState(
  config: InternalAxiosRequestConfig,
  defaults: IAxiosRetryConfig,
  now: number,
  begins: boolean,
): State {
  const given = { ...DEFAULT_OPTIONS, ...defaults, ...config[namespace] }
  const { retryCount = 0, lastRequestTime = 0 } = given
  const isNow = begins || lastRequestTime === 0
  const state: State = { ...given, retryCount, lastRequestTime: isNow ? now : lastRequestTime }
  config[namespace] = state
  return state
}
