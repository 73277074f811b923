/** Sends one request by fetch, as often as asked. What only a replay needs is in `fetch-replay.ts`. */

import { type Answer, type AttemptInit, type Mark, mark, type Transport } from './transport.ts'

export type SentInit = RequestInit & { readonly method: string; readonly headers: Headers }

/** All that an attempt by fetch needs. */
export interface Sendable {
  readonly fetch: typeof fetch
  readonly url: string
  readonly init: SentInit
}

export class FetchTransport implements Transport {
  readonly sendable: Sendable

  constructor(sendable: Sendable) {
    this.sendable = sendable
  }

  async send({ signal }: AttemptInit): Promise<Answer> {
    const { fetch, url, init } = this.sendable
    return new FetchAnswer(await fetch(url, { ...init, signal }))
  }
}

export class FetchAnswer implements Answer {
  readonly #response: Response
  readonly redirectRefused: boolean

  constructor(response: Response, redirectRefused = false) {
    this.#response = response
    this.redirectRefused = redirectRefused
  }

  get status(): number {
    return this.#response.type === 'opaque' ? 200 : this.#response.status
  }

  header(name: string): string | null {
    return this.#response.headers.get(name)
  }

  deliver(redrive: Mark | null): Response {
    return mark(this.#response, redrive)
  }

  clone(): Response {
    return this.#response.clone()
  }

  discard(): void {
    discardBody(this.#response)
  }
}

const SMALL_BODY_BYTES = 64 * 1024

/** Frees the connection: a short body is read to its end so that the connection can be used again, a long one cancelled. */
export function discardBody(response: Response): void {
  if (!response.body || response.bodyUsed) return
  const length = Number(response.headers.get('content-length') ?? Number.NaN)
  const done = length <= SMALL_BODY_BYTES ? response.arrayBuffer() : response.body.cancel()
  // the answer was given up already: an error in what is left of it concerns nobody
  done.catch(() => {})
}
