/**
 * Axios, made retryable. A request interceptor puts itself in place of the adapter, the innermost step, so that
 * interceptors, transforms and `validateStatus` run once however many attempts it takes.
 *
 * Nothing of axios is imported at run time: attempts go through a bare sibling of the instance, which resolves the
 * original adapter (xhr, http, fetch or the user's own) and makes axios' own errors.
 */

import type { AxiosAdapter, AxiosInstance, AxiosResponse, InternalAxiosRequestConfig } from 'axios'
import type { ExhaustedReason } from '../api/task.ts'
import { checkTask, type TaskOptions } from '../options/task-options.ts'
import { internalsOf } from '../queue/internals.ts'
import type { RetryQueue } from '../queue/queue.ts'
import { callerSignal, readAxios } from './axios/read-config.ts'
import { sendOnce } from './axios/transport.ts'
import { httpUrl } from './axios/where.ts'

interface GivenUp {
  /** Put on the last answer or error of a call that was given up. */
  readonly redrive?: { readonly taskId: string; readonly reason: ExhaustedReason }
}

declare module 'axios' {
  interface AxiosRequestConfig {
    /** How redrive treats this call; `false`: not at all. */
    redrive?: TaskOptions | false
  }
  interface AxiosResponse extends GivenUp {}
  interface AxiosError extends GivenUp {}
}

/** The queues attached to an instance: the latest takes the calls, or retries would multiply. */
const attached = new WeakMap<AxiosInstance, symbol[]>()
/** The adapter that a config had before ours: a config whose call never reached the adapter may be sent again. */
const originals = new WeakMap<object, InternalAxiosRequestConfig['adapter']>()

/**
 * Sends the instance's calls through `queue`; `config.redrive` of a call is laid over `defaults`. Returns what detaches.
 * `timeout` is axios' own, per attempt; the policy's attemptTimeoutMs is not used. An interceptor that sets
 * `config.adapter` and runs after this one takes its calls out of the queue.
 */
export function attachToAxios(instance: AxiosInstance, queue: RetryQueue, defaults: TaskOptions = {}): () => void {
  checkTask(defaults)
  const { host, run } = internalsOf(queue)
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
      try {
        const call = await readAxios(ready, url, signal, attempts, host, defaults)
        return (await run(call)) as AxiosResponse
      } finally {
        release()
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

/** An instance without interceptors or defaults: the call's config is whole, and what the caller took out of it stays out. */
function bareSibling(instance: AxiosInstance): AxiosInstance {
  const bare = instance.create()
  // emptied, not replaced: its requests read this very object
  for (const name of Object.keys(bare.defaults)) delete bare.defaults[name as keyof typeof bare.defaults]
  return bare
}
