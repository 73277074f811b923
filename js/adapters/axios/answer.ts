/** An answer that axios has read. Whether it is good is asked of the caller's `validateStatus` once, at the end. */

import type { AxiosResponse } from 'axios'
import { type Mark, mark, type RepeatAnswer } from '../../call/transport.ts'

export type ValidateStatus = (status: number) => boolean

export class AxiosAnswer implements RepeatAnswer {
  redirectRefused = false
  readonly #response: AxiosResponse
  readonly #error: unknown
  readonly #validate: ValidateStatus | undefined

  /** `error`: what axios would reject with; without it the answer is good. `validate`: still to be asked. */
  constructor(response: AxiosResponse, error: unknown, validate?: ValidateStatus) {
    this.#response = response
    this.#error = error
    this.#validate = validate
  }

  /** Nothing can be known of it. */
  get isOpaque(): boolean {
    return this.#response.status === 0
  }

  get status(): number {
    return this.#response.status || 200
  }

  header(name: string): string | null {
    const { headers } = this.#response
    // adapters give any case
    const value: unknown = typeof headers.get === 'function' ? headers.get(name) : headers[name]
    return typeof value === 'string' ? value : null
  }

  clone(): null {
    return null
  }

  refuseRedirect(): this {
    this.redirectRefused = true
    return this
  }

  deliver(redrive: Mark | null): AxiosResponse {
    if (this.#error === undefined || this.#validate?.(this.#response.status)) return this.#response
    throw mark(this.#error, redrive)
  }

  /** The body is read already, or it is a stream that nobody will read. */
  discard(): void {
    const { data }: { data: unknown } = this.#response
    const body = data instanceof Response ? data.body : data
    // the answer was given up already: an error in what is left of it concerns nobody
    if (body instanceof ReadableStream) body.cancel().catch(() => {})
    else if (typeof body === 'object' && body !== null && 'destroy' in body && typeof body.destroy === 'function') {
      body.destroy()
    }
  }
}
