/** An answer that axios has read. The caller's `validateStatus` is asked about it once, at the end. */

import type { AxiosResponse } from 'axios'
import { type Mark, mark, type RepeatAnswer } from '../../call/transport.ts'

export type ValidateStatus = (status: number) => boolean

export class AxiosAnswer implements RepeatAnswer {
  redirectRefused = false
  readonly #response: AxiosResponse
  readonly #error: unknown
  readonly #validate: ValidateStatus | undefined

  /** `error`: axios would reject with it; without one the answer is good. `validate`: the caller's rule, still to be asked. */
  constructor(response: AxiosResponse, error: unknown, validate?: ValidateStatus) {
    this.#response = response
    this.#error = error
    this.#validate = validate
  }

  /** A browser shows nothing of it. */
  get isOpaque(): boolean {
    return this.#response.status === 0
  }

  get status(): number {
    return this.#response.status || 200
  }

  header(name: string): string | null {
    const { headers } = this.#response
    // adapters give names in any case
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

  rest(): undefined {
    return undefined
  }

  /** Ends a stream that has no reader; any other body is read already. */
  discard(): void {
    const { data }: { data: unknown } = this.#response
    const body = data instanceof Response ? data.body : data
    // the answer was given up already: an error in the rest of it means nothing any more
    if (body instanceof ReadableStream) body.cancel().catch(() => {})
    else if (typeof body === 'object' && body !== null && 'destroy' in body && typeof body.destroy === 'function') {
      body.destroy()
    }
  }
}
