/**
 * Axios, made retryable. A request interceptor puts itself in place of the adapter, the innermost step, so that
 * interceptors, transforms and `validateStatus` run once however many attempts it takes.
 *
 * Nothing of axios is imported at run time: attempts go through a bare sibling of the instance, which resolves the
 * original adapter (xhr, http, fetch or the user's own) and makes axios' own errors.
 */

import type {
  AxiosAdapter,
  AxiosError,
  AxiosInstance,
  AxiosRequestConfig,
  AxiosResponse,
  InternalAxiosRequestConfig,
} from 'axios'
import type { RedriveMark } from '../api/mark.ts'
import type { AcceptedBody } from '../api/methods.ts'
import type { TaskOptions } from '../options/task-options.ts'
import { internalsOf } from '../queue/internals.ts'
import type { RetryQueue } from '../queue/queue.ts'
import type * as required from './axios-required.cjs'
import { bareSibling } from './by-axios/bare-sibling.ts'
import { callerSignal, optionsOf, readAxios, releaseAfter } from './by-axios/read-config.ts'
import { sendOnce } from './by-axios/transport.ts'
import { httpUrl } from './by-axios/where.ts'

interface GivenUp {
  /** Put on the last answer or error of a call that was given up. */
  readonly redrive?: RedriveMark
}

declare module 'axios' {
  interface AxiosRequestConfig {
    /** How redrive treats this call; `false`: not at all. */
    redrive?: TaskOptions | false
  }
  interface AxiosResponse extends GivenUp {}
  interface AxiosError extends GivenUp {}
  interface Axios {
    request<T = unknown>(config: DeferredConfig): Deferred<T>
    get<T = unknown>(url: string, config: DeferredConfig): Deferred<T>
    delete<T = unknown>(url: string, config: DeferredConfig): Deferred<T>
    post<T = unknown>(url: string, data: unknown, config: DeferredConfig): Deferred<T>
    put<T = unknown>(url: string, data: unknown, config: DeferredConfig): Deferred<T>
    patch<T = unknown>(url: string, data: unknown, config: DeferredConfig): Deferred<T>
  }
}

/** The config of a call with `mode: 'defer'`. */
export type DeferredConfig = AxiosRequestConfig & { readonly redrive: TaskOptions & { readonly mode: 'defer' } }
/** The 202 that says that the task of a deferred call is kept. Its status tells the compiler, too, that no other answer is one. */
export type AcceptedResponse = AxiosResponse<AcceptedBody> & { readonly status: 202 }
/** The server's own answer, or the 202 that says that the task is kept: `isAccepted` tells them apart. */
export type Deferred<T> = Promise<AxiosResponse<T> | AcceptedResponse>

/** Whether an answer is not the server's, but says that the task of a deferred call is kept. */
export function isAccepted(response: AxiosResponse): response is AcceptedResponse
export function isAccepted<R extends required.AxiosResponse>(
  response: R,
): response is R & required.AxiosResponse<AcceptedBody> & { readonly status: 202 }
export function isAccepted(response: AxiosResponse | required.AxiosResponse): boolean {
  return response.status === 202 && 'redrive-task-id' in response.headers
}

const CALL = 'attachToAxios(axios, queue)'

/** The queues attached to an instance: the latest takes the calls, or retries would multiply. */
const attached = new WeakMap<AxiosInstance, symbol[]>()
/** The adapter that a config had before ours: a config whose call never reached the adapter may be sent again. */
const originals = new WeakMap<object, InternalAxiosRequestConfig['adapter']>()

/**
 * Retries the calls of an Axios instance through `queue`. Its caller has one response or error for each call, and its interceptors run
 * once, however many attempts there are. `defaults` hold for all calls; what a call has in `config.redrive` replaces them. Returns a
 * function that detaches the queue.
 *
 * `timeout` is axios' own, per attempt; where none is set the policy's attemptTimeoutMs holds. Either, and `waitMs`, bounds the whole
 * answer, its body included, unless `responseType` is 'stream': give slow downloads a longer one. An interceptor that sets
 * `config.adapter` and runs after this one takes its calls out of the queue.
 *
 * @example
 * const api = axios.create({ baseURL: 'https://api.example.com' })
 * attachToAxios(api, new RetryQueue())
 * const { data } = await api.post('/orders', { sku: 1 })
 */
export function attachToAxios(
  axios: AxiosInstance | required.AxiosInstance,
  queue: RetryQueue,
  defaults: TaskOptions = {},
): () => void {
  const instance = axios as AxiosInstance
  if (!instance?.interceptors) throw new TypeError(`${CALL}: expected an Axios instance first, got ${typeof instance}`)
  const { host, run } = internalsOf(queue, CALL)
  host.checks?.call(defaults)
  const attempts = bareSibling(instance)
  const self = Symbol()
  const queues = attached.get(instance) ?? []
  queues.push(self)
  attached.set(instance, queues)

  const wrap = (config: InternalAxiosRequestConfig): InternalAxiosRequestConfig => {
    if (queues[queues.length - 1] !== self) return config
    const { adapter } = config
    const original = typeof adapter === 'function' && originals.has(adapter) ? originals.get(adapter) : adapter
    const wrapped: AxiosAdapter = async (ready) => {
      // the caller gets this config back, in a response or an error, and may send it again: as a call of its own
      if (original === undefined) delete ready.adapter
      else ready.adapter = original
      // read here and not in the interceptor: interceptors after it may have changed the config
      const url = ready.redrive === false ? null : httpUrl(ready, attempts)
      if (!url) return sendOnce(attempts, ready)
      const { signal, release } = callerSignal(ready)
      const over = (answer?: AxiosResponse) => signal === (ready.signal ?? null) || releaseAfter(answer, release)
      try {
        const call = await readAxios(ready, url, signal, attempts, host, optionsOf(ready, host, defaults))
        const answer = (await run(call)) as AxiosResponse
        over(answer)
        return answer
      } catch (error) {
        over((error as AxiosError | undefined)?.response)
        throw error
      }
    }
    originals.set(wrapped, original)
    config.adapter = wrapped
    return config
  }

  const id = instance.interceptors.request.use(wrap, null, { synchronous: true })
  return () => {
    const at = queues.indexOf(self)
    if (at < 0) return
    queues.splice(at, 1)
    instance.interceptors.request.eject(id)
  }
}
