/**
 * Reads an axios config, as its adapter gets it, into the call the queue repeats. Where it leads, headers and data are frozen:
 * what axios or its user does to the config later does not change what a retry sends, nor where.
 */

import type { AxiosInstance, AxiosResponse, InternalAxiosRequestConfig } from 'axios'
import { BodyNotReplayableError } from '../../api/errors.ts'
import { type Call, type CallContext, makeCall, patience } from '../../call/call.ts'
import { whileThere } from '../../call/leaving.ts'
import { isStream } from '../../call/read-fetch.ts'
import { ATTEMPT_MS } from '../../options/first-policy.ts'
import type { TaskOptions } from '../../options/task-options.ts'
import { taskPolicies } from '../../options/task-policies.ts'
import { FOREVER } from '../../platform/clock.ts'
import { utf8 } from '../../platform/utf8.ts'
import { senderOf } from './stream-replay.ts'
import { AxiosTransport } from './transport.ts'
import { withoutUser } from './where.ts'

/** Characters that axios takes out of a header's value before it sends it. */
const NOT_BYTES = /[^\t\x20-\x7e\x80-\xff]+/g
/** axios' own time limit comes first, with its own error; an adapter that does not heed it is held to it so much later. */
const GRACE_MS = 1_000
const NO_METHOD: ReadonlySet<string> = new Set()

/** The options of a call: what its config says, laid over `defaults`. */
export function optionsOf(
  config: InternalAxiosRequestConfig,
  { checks }: CallContext,
  defaults: TaskOptions,
): TaskOptions {
  const { redrive = {} } = config
  checks?.beside(config)
  // first: laid over the defaults, what is no object would be nothing
  if (redrive) checks?.call(redrive)
  return { ...defaults, ...(redrive || undefined) }
}

/** `signal` is the caller's, from `callerSignal`, and `options` are from `optionsOf`. */
export async function readAxios(
  config: InternalAxiosRequestConfig,
  url: URL,
  signal: AbortSignal | null,
  axios: AxiosInstance,
  context: CallContext,
  options: TaskOptions,
): Promise<Call> {
  const { settings } = context
  const pair = taskPolicies(context, options)
  const method = (config.method ?? 'get').toUpperCase()
  const { origin } = url
  const { header } = settings.idempotency
  const plain = plainHeaders(config)

  const request = {
    method,
    url: withoutUser(url),
    origin,
    headers: plain,
    options,
    ...pair,
    signal,
    ...limitIn(config),
  }
  // false is how axios is told never to send a header
  const complete = makeCall(config.headers.get(header) === false ? withoutKeys(context) : context, request)
  const key = plain.get(header)
  // in the caller's config too: sent again after a refusal, it is the same intent
  if (key) config.headers.set(header, key, true)

  const freezing = freezeData(config, `${method} ${origin}`, settings.maxBodyBytes).catch(async (error) => {
    await context.checks?.unread(config.data, error)
    throw error
  })
  const readMs = patience(options.waitMs, settings.maxBodyBytes)
  const { value: data, bytes, contentType } = await whileThere(request, settings.clock, readMs, freezing)
  const headers = config.headers.concat()
  if (contentType) {
    headers.set('Content-Type', contentType)
    plain.set('content-type', contentType)
  }
  const { auth } = config
  const { attemptTimeoutMs = ATTEMPT_MS } = pair.policy
  const bodyMs = config.timeout || attemptTimeoutMs || FOREVER
  const frozen = { config: { ...config, ...(auth && { auth: { ...auth } }) }, url, bodyMs, plain, headers, data }
  const transport = new AxiosTransport(axios, config, frozen, pair.policy.retryableStatusCodes)
  return complete({ hasBody: bytes > 0, bytes, transport })
}

/** The limit of an attempt that its user has set; otherwise it is the policy's. */
function limitIn({ timeout = 0 }: InternalAxiosRequestConfig): { readonly timeoutMs?: number } {
  return timeout > 0 ? { timeoutMs: timeout + GRACE_MS } : {}
}

/** The context of a call that is to be given no key. */
function withoutKeys({ settings, ...context }: CallContext): CallContext {
  const idempotency = { ...settings.idempotency, keyed: NO_METHOD }
  return { ...context, settings: { ...settings, idempotency } }
}

function plainHeaders({ headers }: InternalAxiosRequestConfig): Headers {
  const plain = new Headers()
  // without those that are null or false
  for (const [name, value] of Object.entries(headers.toJSON())) {
    plain.set(name, String(value).replace(NOT_BYTES, ''))
  }
  return plain
}

/** `signal`, which need not be a real one, and the older `cancelToken` as one signal; `release` stops listening to both. */
export function callerSignal({ signal, cancelToken }: InternalAxiosRequestConfig): {
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

/** Stops listening for the caller, with `release` of `callerSignal`, once its answer is over: a streamed body can still be taken back. */
export function releaseAfter(answer: AxiosResponse | undefined, release: () => void): void {
  const data = Object(answer?.data)
  if (answer && 'getReader' in data && !data.locked) {
    // nothing else tells when a stream of the web ends
    const { readable, writable } = new TransformStream()
    data.pipeTo(writable).then(release, release)
    answer.data = readable
  } else if ('destroy' in data && 'once' in data && !data.destroyed) data.once('close', release)
  else release()
}

/** The data of a call, after its transforms, as something that is the same on every attempt. */
interface FrozenData {
  readonly value: unknown
  readonly bytes: number
  /** Set where the bytes are worth nothing without it, as without a multipart boundary, or where axios sets it only as it sends them. */
  readonly contentType: string | null
}

/** The `form-data` package, which axios uses in Node for plain objects sent as multipart. */
interface NodeFormData {
  hasKnownLength(): boolean
  getLengthSync(): number
  getBuffer(): Uint8Array
  getHeaders(): Record<string, string>
}

async function freezeData(config: InternalAxiosRequestConfig, what: string, most: number): Promise<FrozenData> {
  const { headers } = config
  const data: unknown = config.data
  if (typeof data === 'string') return frozen(data, utf8(data).byteLength)
  if (typeof data !== 'object' || data === null) return frozen(data, 0)
  // by its name, as axios has it: another realm or library has classes of its own
  const kind = Object.prototype.toString.call(data).slice(8, -1)
  if (kind === 'ArrayBuffer') return copied(new Uint8Array(data as ArrayBuffer))
  if (ArrayBuffer.isView(data)) return copied(new Uint8Array(data.buffer, data.byteOffset, data.byteLength))
  // a transform of the user's own has left it as it was
  if (kind === 'URLSearchParams') {
    const type = headers.get('content-type') ?? 'application/x-www-form-urlencoded;charset=utf-8'
    return frozen(String(data), utf8(String(data)).byteLength, type as string | null)
  }
  if (isNodeFormData(data)) return copied(formBytes(data, what), data.getHeaders()['content-type'])
  // still a Blob: each of axios' adapters has its own idea of the content type of one
  // and as it is, where it is too large to be kept: it is sent once
  if (isBlob(data) && data.size > most) return frozen(data, data.size)
  if (isBlob(data)) {
    // the http adapter's, which goes before the caller's
    const type = data.size > 0 && senderOf(config) === 'http' ? data.type || 'application/octet-stream' : null
    return frozen(await ownBlob(data), data.size, type)
  }
  if (kind === 'FormData' || data instanceof FormData) {
    const response = await multipart(data as FormData)
    // where the form is jsdom's and Response Node's, axios alone knows how to send it
    if (!response) return frozen(data, 0)
    const bytes = await response.arrayBuffer()
    return frozen(bytes, bytes.byteLength, response.headers.get('content-type'))
  }
  if (isStream(data) || 'pipe' in data) throw new BodyNotReplayableError(what)
  // nothing that can be sent: axios will say so
  return frozen(data, 0)
}

/** The form as the platform sends it. One that the platform does not know, of a library say, is made again of its entries. */
async function multipart(form: FormData): Promise<Response | undefined> {
  const known = new Response(form)
  if (isMultipart(known)) return known
  const entries = Symbol.iterator in form ? [...form] : undefined
  if (!entries?.every(([, value]) => typeof value === 'string' || isBlob(value))) return undefined
  const own = new FormData()
  for (const [name, value] of entries) {
    if (typeof value === 'string') own.append(name, value)
    else own.append(name, await ownBlob(value), value.name)
  }
  const remade = new Response(own)
  return isMultipart(remade) ? remade : undefined
}

const isMultipart = ({ headers }: Response): boolean => !!headers.get('content-type')?.startsWith('multipart/')

/** Whether it is a Blob or File, of whatever realm or library. */
const isBlob = (given: object): given is Blob =>
  /^\[object (Blob|File)/.test(Object.prototype.toString.call(given)) && 'arrayBuffer' in given

const ownBlob = async (blob: Blob): Promise<Blob> => new Blob([await blob.arrayBuffer()], { type: blob.type })

function frozen(value: unknown, bytes: number, contentType: string | null = null): FrozenData {
  return { value, bytes, contentType }
}

/** A copy as an ArrayBuffer, which all three of axios' adapters take. */
function copied(bytes: Uint8Array, contentType?: string): FrozenData {
  const value = new Uint8Array(bytes).buffer
  return frozen(value, value.byteLength, contentType)
}

function isNodeFormData(data: object): data is NodeFormData {
  return 'getBuffer' in data && 'getHeaders' in data && 'hasKnownLength' in data
}

/** All of the form or nothing: it may hold streams, some of which it claims to know the length of. */
function formBytes(form: NodeFormData, what: string): Uint8Array {
  try {
    if (form.hasKnownLength()) {
      const bytes = form.getBuffer()
      if (bytes.byteLength === form.getLengthSync()) return bytes
    }
  } catch {
    // getBuffer() meets the stream
  }
  throw new BodyNotReplayableError(what)
}
