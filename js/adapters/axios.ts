/**
 * Axios, made retryable. A request interceptor puts itself in place of the adapter, the innermost step, so that
 * interceptors, transforms and `validateStatus` run once however many attempts it takes.
 *
 * Nothing of axios is imported at run time: attempts go through a bare sibling of the instance, which resolves the
 * original adapter (xhr, http, fetch or the user's own) and makes axios' own errors.
 */

import type { AxiosAdapter, AxiosInstance, AxiosResponse, InternalAxiosRequestConfig } from 'axios'
import { readKey } from '../idempotency.ts'
import { internalsOf } from '../internals.ts'
import { checkTask, type TaskOptions, taskPolicy } from '../options.ts'
import type { RetryQueue } from '../queue.ts'
import { absolute, type Call } from '../request.ts'
import { freezeData } from './axios-body.ts'
import { type AxiosAttempts, AxiosTransport } from './axios-transport.ts'

declare module 'axios' {
  interface AxiosRequestConfig {
    /** How redrive treats this call; `false`: not at all. */
    redrive?: TaskOptions | false
  }
}

/**
 * Sends the instance's calls through `queue`; `config.redrive` of a call is laid over `defaults`. Returns what detaches.
 * `timeout` is axios' own, per attempt; the policy's attemptTimeoutMs is not used.
 */
export function attachToAxios(instance: AxiosInstance, queue: RetryQueue, defaults: TaskOptions = {}): () => void {
  checkTask(defaults)
  const internals = internalsOf(queue)
  const bare = instance.create()
  // the call's config has its headers already: defaults added again could bring back what the caller took out
  bare.defaults.headers = {} as typeof bare.defaults.headers

  const wrap = (config: InternalAxiosRequestConfig): InternalAxiosRequestConfig => {
    const { adapter } = config
    const wrapped: AxiosAdapter = async (ready) => {
      // whoever gets this config back, in a response or an error, may send it again: as a call of its own
      if (adapter === undefined) delete ready.adapter
      else ready.adapter = adapter
      return internals.run(await readAxios(ready, bare)) as Promise<AxiosResponse>
    }
    config.adapter = wrapped
    return config
  }

  const readAxios = async (config: InternalAxiosRequestConfig, attempts: AxiosAttempts): Promise<Call> => {
    const options: TaskOptions = { ...defaults, ...(config.redrive || undefined) }
    checkTask(options)
    const { settings, makeKey } = internals
    const policy = taskPolicy(settings.policies, options)
    const method = (config.method ?? 'get').toUpperCase()
    const url = new URL(absolute(attempts.getUri(config)))
    const headers = plainHeaders(config)
    const keyed = readKey({ method, origin: url.origin, headers, options }, settings.idempotency, makeKey)
    const header = settings.idempotency?.header ?? 'Idempotency-Key'
    if (keyed.key !== null) config.headers.set(header, headers.get(header))
    const body = await freezeData(config.data, `${method} ${url.origin}${url.pathname}`)
    if (body.contentType) config.headers.set('Content-Type', body.contentType)
    return {
      method,
      url: url.href,
      origin: url.origin,
      headers: body.contentType ? plainHeaders(config) : headers,
      hasBody: body.bytes > 0,
      bytes: body.bytes,
      key: keyed.key,
      addedCrossOrigin: keyed.addedCrossOrigin,
      replayable: keyed.replayable,
      options,
      policy,
      timeoutMs: 0,
      signal: callerSignal(config),
      transport: new AxiosTransport(attempts, config, body.value, url.origin, policy.retryableStatusCodes),
      plain: body.bytes > settings.maxBodyBytes ? 'too-large' : keyed.originMissing ? 'origin-missing' : null,
    }
  }

  const mine = (config: InternalAxiosRequestConfig) => config.redrive !== false && isHttp(config, bare)
  const id = instance.interceptors.request.use(wrap, null, { synchronous: true, runWhen: mine })
  return () => instance.interceptors.request.eject(id)
}

/** data: and file: URLs, and relative ones where there is no page, are axios' own business. */
function isHttp(config: InternalAxiosRequestConfig, instance: AxiosInstance): boolean {
  try {
    return /^https?:/.test(absolute(instance.getUri(config)))
  } catch {
    // axios reports a URL it cannot use in its own words
    return false
  }
}

function plainHeaders(config: InternalAxiosRequestConfig): Headers {
  const headers = new Headers()
  for (const [name, value] of Object.entries(config.headers.toJSON())) {
    if (value !== null && value !== undefined) headers.set(name, String(value))
  }
  return headers
}

/** `signal` and the older `cancelToken` as one signal. */
function callerSignal({ signal, cancelToken }: InternalAxiosRequestConfig): AbortSignal | null {
  if (!cancelToken) return (signal as AbortSignal | undefined) ?? null
  const controller = new AbortController()
  const abort = (reason: unknown) => controller.abort(reason)
  if (cancelToken.reason) abort(cancelToken.reason)
  else cancelToken.promise.then(abort)
  if (signal?.aborted) abort((signal as AbortSignal).reason)
  else signal?.addEventListener?.('abort', () => abort((signal as AbortSignal).reason))
  return controller.signal
}
