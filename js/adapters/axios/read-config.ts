/** Reads an axios config, as its adapter gets it, into the call the queue repeats. */

import type { AxiosInstance, AxiosRequestConfig, InternalAxiosRequestConfig } from 'axios'
import type { Call, CallContext } from '../../call/call.ts'
import { readKey } from '../../call/key.ts'
import { absolute } from '../../call/read-fetch.ts'
import { checkTask, type TaskOptions, taskPolicy } from '../../options/task-options.ts'
import { freezeData } from './body.ts'
import { AxiosTransport } from './transport.ts'

/** What axios takes out of a header's value before it sends it. */
const NOT_BYTES = /[^\t\x20-\x7e\x80-\xff]+/g
const NO_METHOD: ReadonlySet<string> = new Set()

/** Where a config leads; null: data: and file: URLs, and relative ones where there is no page, are axios' own business. */
export function httpUrl(config: InternalAxiosRequestConfig, axios: AxiosInstance): URL | null {
  try {
    const { url: path, baseURL, allowAbsoluteUrls, params, paramsSerializer } = config
    const where = { url: path, baseURL, allowAbsoluteUrls, params, paramsSerializer } as AxiosRequestConfig
    const url = new URL(absolute(axios.getUri(where)))
    return /^https?:$/.test(url.protocol) ? url : null
  } catch {
    // axios reports a URL it cannot use in its own words
    return null
  }
}

export interface Reading {
  readonly call: Call
  /** Stops listening to the caller's signal. */
  release(): void
}

export async function readAxios(
  config: InternalAxiosRequestConfig,
  url: URL,
  axios: AxiosInstance,
  { settings, principal, makeKey }: CallContext,
  defaults: TaskOptions,
): Promise<Reading> {
  const options: TaskOptions = { ...defaults, ...(config.redrive || undefined) }
  checkTask(options)
  const policy = taskPolicy(settings.policies, options)
  const method = (config.method ?? 'get').toUpperCase()
  const { idempotency } = settings
  const { header } = idempotency
  // how axios is told never to send a header
  const refused = config.headers.get(header) === false
  const plain = plainHeaders(config)
  const keyed = readKey(
    { method, origin: url.origin, headers: plain, options },
    refused ? { ...idempotency, keyed: NO_METHOD } : idempotency,
    makeKey,
  )
  // in the caller's config too: sent again after a refusal, it is the same intent
  if (keyed.key) config.headers.set(header, plain.get(header), true)

  const body = await freezeData(config.data, `${method} ${url.origin}${url.pathname}`)
  const headers = config.headers.concat()
  if (body.contentType) {
    headers.set('Content-Type', body.contentType)
    plain.set('content-type', body.contentType)
  }
  const { signal, release } = callerSignal(config)
  const call: Call = {
    method,
    url: withoutUser(url),
    origin: url.origin,
    principal,
    headers: plain,
    hasBody: body.bytes > 0,
    bytes: body.bytes,
    ...keyed,
    options,
    policy,
    timeoutMs: 0,
    signal,
    transport: new AxiosTransport(
      axios,
      config,
      { url, plain, headers, data: body.value },
      policy.retryableStatusCodes,
    ),
    plain: body.bytes > settings.maxBodyBytes ? 'too-large' : keyed.originMissing ? 'origin-missing' : null,
  }
  return { call, release }
}

/** Axios makes a header of user name and password; a task, which is shown and logged, must not hold them. */
function withoutUser(url: URL): string {
  if (!url.username && !url.password) return url.href
  const shown = new URL(url)
  shown.username = ''
  shown.password = ''
  return shown.href
}

function plainHeaders({ headers }: InternalAxiosRequestConfig): Headers {
  const plain = new Headers()
  // without those that are null or false
  for (const [name, value] of Object.entries(headers.toJSON())) {
    plain.set(name, String(value).replace(NOT_BYTES, ''))
  }
  return plain
}

/** `signal`, which need not be a real one, and the older `cancelToken` as one signal. */
function callerSignal({ signal, cancelToken }: InternalAxiosRequestConfig): {
  readonly signal: AbortSignal | null
  release(): void
} {
  if (!cancelToken && (!signal || signal instanceof AbortSignal)) return { signal: signal ?? null, release() {} }
  const controller = new AbortController()
  const abort = (reason?: unknown) => controller.abort(reason)
  const onSignal = () => abort((signal as AbortSignal).reason)
  cancelToken?.subscribe(abort)
  if (signal?.aborted) onSignal()
  else signal?.addEventListener?.('abort', onSignal)
  return {
    signal: controller.signal,
    // a token or signal may outlive thousands of calls
    release() {
      cancelToken?.unsubscribe(abort)
      signal?.removeEventListener?.('abort', onSignal)
    },
  }
}
