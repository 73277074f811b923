/** One attempt by axios: a fresh config to the original adapter, nothing of the outer call run again. */

import type { AxiosError, AxiosInstance, AxiosResponse, InternalAxiosRequestConfig } from 'axios'
import { type Answer, type AttemptInit, type Mark, mark, type Transport } from '../transport.ts'

/** A sibling of the user's instance, without interceptors or default headers. */
export type AxiosAttempts = Pick<AxiosInstance, 'request' | 'getUri'>

/** What axios rejects with when the network or the server is at fault; all its other errors are the caller's. */
const PASSING = /^(ERR_NETWORK|ECONNABORTED|ETIMEDOUT|E(CONN|PIPE|AI_|HOST|NET)\w*|ENOTFOUND|UND_ERR_\w+)$/

export class AxiosTransport implements Transport {
  readonly #axios: AxiosAttempts
  readonly #config: InternalAxiosRequestConfig
  readonly #data: unknown
  readonly #origin: string
  readonly #retryable: readonly number[]

  constructor(
    axios: AxiosAttempts,
    config: InternalAxiosRequestConfig,
    data: unknown,
    origin: string,
    retryable: readonly number[],
  ) {
    this.#axios = axios
    this.#config = config
    this.#data = data
    this.#origin = origin
    this.#retryable = retryable
  }

  async send({ overlay, signal, replay }: AttemptInit): Promise<Answer> {
    const { cancelToken: _, redrive: __, ...config } = this.#config
    const headers = config.headers.concat()
    overlay?.forEach((value, name) => {
      headers.set(name, value)
    })
    const { validateStatus } = config
    try {
      const response = await this.#axios.request({
        ...config,
        headers,
        signal,
        data: this.#data,
        transformRequest: [],
        transformResponse: [],
        // an answer worth another attempt is judged by the caller's rule only when it is the last
        validateStatus: (status) => !this.#retryable.includes(status) && (validateStatus?.(status) ?? true),
        ...(replay ? { beforeRedirect: this.#staysHome() } : {}),
      })
      return new AxiosAnswer(this.#restore(response), undefined, true)
    } catch (error) {
      const { response } = error as AxiosError
      if (!response) throw this.#restore(error as AxiosError)
      this.#restore(error as AxiosError)
      this.#restore(response)
      return new AxiosAnswer(response, error, !this.#retryable.includes(response.status), validateStatus)
    }
  }

  isFinal(error: unknown): boolean {
    return !PASSING.test((error as AxiosError | undefined)?.code ?? '')
  }

  accepted(taskId: string, traceId: string): Partial<AxiosResponse> {
    const config = this.#config
    const headers = { 'content-type': 'application/json', 'redrive-task-id': taskId }
    return { status: 202, statusText: 'Accepted', headers, data: { status: 'queued', taskId, traceId }, config }
  }

  /** In Node a replay's redirects are held to the recorded origin (S15); browsers follow them unasked. */
  #staysHome(): NonNullable<InternalAxiosRequestConfig['beforeRedirect']> {
    const { beforeRedirect } = this.#config
    return (options, ...details) => {
      if (new URL(options['href'] as string).origin !== this.#origin) {
        throw new Error('a replay is not redirected to another origin')
      }
      beforeRedirect?.(options, ...details)
    }
  }

  /** The caller sees its own config, not that of an attempt. */
  #restore<T extends { config?: InternalAxiosRequestConfig }>(result: T): T {
    if (typeof result === 'object' && result !== null) result.config = this.#config
    return result
  }
}

class AxiosAnswer implements Answer {
  readonly redirectRefused = false
  readonly #response: AxiosResponse
  readonly #error: unknown
  /** `validateStatus` was asked already. */
  readonly #judged: boolean
  readonly #validate: ((status: number) => boolean) | null | undefined

  constructor(
    response: AxiosResponse,
    error: unknown,
    judged: boolean,
    validate?: ((status: number) => boolean) | null | undefined,
  ) {
    this.#response = response
    this.#error = error
    this.#judged = judged
    this.#validate = validate
  }

  get status(): number {
    return this.#response.status
  }

  header(name: string): string | null {
    const value = (this.#response.headers as Record<string, unknown>)[name]
    return typeof value === 'string' ? value : null
  }

  deliver(redrive: Mark | null): AxiosResponse {
    const good = this.#judged ? this.#error === undefined : (this.#validate?.(this.status) ?? true)
    if (good) return mark(this.#response, redrive)
    throw mark(this.#error, redrive)
  }

  clone(): null {
    return null
  }

  /** Axios has read the body already, or it is a stream that nobody will. */
  discard(): void {
    const data: unknown = this.#response.data
    if (typeof data === 'object' && data !== null) {
      if ('destroy' in data && typeof data.destroy === 'function') data.destroy()
      else if (data instanceof ReadableStream) data.cancel().catch(() => {})
    }
  }
}
