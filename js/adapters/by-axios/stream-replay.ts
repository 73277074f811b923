/**
 * Has axios stream the body of a replay. By itself it reads every body to its end, however long that is and whenever it comes, before it says
 * whether the answer is a failure. What its http and fetch adapters make of a body is made of it here, where its caller gets it.
 */

import type { AxiosError, AxiosInstance, AxiosResponse, InternalAxiosRequestConfig } from 'axios'
import { type Clock, timeoutError } from '../../platform/clock.ts'
import type { ReadBody } from './answer.ts'
import { node, type StreamedBody } from './body.ts'

/**
 * Whether the adapter that sends it can stream: http or fetch, by name. XMLHttpRequest cannot, an adapter of the user's own may not, and a
 * `maxContentLength` is axios' own to hold.
 */
export function canStream(config: InternalAxiosRequestConfig): boolean {
  const { responseType, maxContentLength = -1 } = config
  if (responseType === 'stream' || maxContentLength > -1) return false
  const sender = senderOf(config)
  return sender === 'http' || sender === 'fetch'
}

/** The adapter that axios chooses here, as a name where it has one. */
export function senderOf({ adapter }: InternalAxiosRequestConfig): unknown {
  const names = [adapter ?? ['xhr', 'http', 'fetch']].flat()
  return names.find(
    (name) => typeof name !== 'string' || (name === 'xhr' ? 'XMLHttpRequest' in globalThis : isHere(name)),
  )
}

const isHere = (name: string): boolean =>
  name === 'http' ? node.process?.versions?.node !== undefined : name === 'fetch' && 'body' in Response.prototype

/** Reads a body as the call's own config asks. Rejects with axios' error where it breaks off. */
export function bodyReader(axios: AxiosInstance, config: InternalAxiosRequestConfig, clock: Clock): ReadBody {
  return async (body, response, mostMs) => {
    let isLate = false
    const { socket } = response.request ?? {}
    const onTimeout = () => {
      isLate = true
    }
    // axios' http adapter has the socket closed at the same time limit, which may come first and then looks like an abort
    socket?.once?.('timeout', onTimeout)
    try {
      return await inForm(
        await body.all(body.isNode ? (config.timeout ?? 0) : 0, mostMs, clock),
        body,
        response,
        config,
      )
    } catch (error) {
      body.discard()
      // it was a stream for the sake of the queue alone
      response.data = undefined
      throw await brokenOff((isLate ? timeoutError(String(error)) : error) as NodeError, axios, body, response, config)
    } finally {
      socket?.off?.('timeout', onTimeout)
    }
  }
}

/** The error that axios would have made of a status that is refused. */
export async function failed(axios: AxiosInstance, response: AxiosResponse): Promise<AxiosError> {
  const { status, config, request } = response
  const AxiosErrors = await errorsOf(axios)
  const code = status >= 400 && status < 500 ? 'ERR_BAD_REQUEST' : 'ERR_BAD_RESPONSE'
  const words = `Request failed with status code ${status}`
  return new AxiosErrors(words, code, config as InternalAxiosRequestConfig, request, response)
}

type NodeError = Error & { readonly code?: string }

/** The error that the adapter itself would have rejected with. */
async function brokenOff(
  error: NodeError,
  axios: AxiosInstance,
  { isNode }: StreamedBody,
  response: AxiosResponse,
  config: InternalAxiosRequestConfig,
): Promise<AxiosError> {
  const AxiosErrors = await errorsOf(axios)
  const { request } = response
  if (error.name === 'TimeoutError') {
    return new AxiosErrors(`timeout of ${config.timeout}ms exceeded`, 'ECONNABORTED', config, request)
  }
  if (!isNode) return AxiosErrors.from(error, error.code, config, request)
  if (error.message !== 'aborted') return AxiosErrors.from(error, error.code, config, request, response)
  // the stream says nothing of it: its socket does, if it was reset
  const reset: NodeError | null | undefined = request?.socket?.errored
  if (reset) return AxiosErrors.from(reset, reset.code, config, request)
  return new AxiosErrors('stream has been aborted', 'ERR_BAD_RESPONSE', config, request, response)
}

/** Gives a body the form in which the http adapter, or the fetch adapter, would have given it. */
export async function inForm(
  bytes: Uint8Array<ArrayBuffer>,
  { isNode }: Pick<StreamedBody, 'isNode'>,
  { headers }: Pick<AxiosResponse, 'headers'>,
  { responseType = 'text', responseEncoding }: InternalAxiosRequestConfig,
): Promise<unknown> {
  if (isNode) {
    const buffer = node.Buffer.from(bytes.buffer)
    if (responseType === 'arraybuffer') return buffer
    const text = buffer.toString(responseEncoding)
    const isUtf8 = !responseEncoding || responseEncoding === 'utf8'
    return isUtf8 && text.charCodeAt(0) === 0xfeff ? text.slice(1) : text
  }
  const type: unknown = headers['content-type']
  const response = new Response(bytes, typeof type === 'string' ? { headers: { 'content-type': type } } : {})
  switch (responseType.toLowerCase()) {
    case 'arraybuffer':
      return response.arrayBuffer()
    case 'blob':
      return response.blob()
    case 'formdata':
      return response.formData()
    default:
      return response.text()
  }
}

/** axios' class of errors, which an instance shows by its errors alone. */
export async function errorsOf(axios: AxiosInstance): Promise<typeof AxiosError> {
  const error: unknown = await axios.request({ adapter: [] }).catch((none: unknown) => none)
  return (error as { readonly constructor: typeof AxiosError }).constructor
}
