/** A caller's own first attempt by fetch, as every page loads it. Repeating it is left to `fetch-repeat.ts`. */

import type { Answer, AttemptInit, Transport } from './transport.ts'

export type SentInit = RequestInit & { readonly method: string; readonly headers: Headers }

/** The arguments of fetch, and which fetch. */
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
  readonly response: Response
  readonly redirectRefused: boolean = false

  constructor(response: Response) {
    this.response = response
  }

  get status(): number {
    return this.response.type === 'opaque' ? 200 : this.response.status
  }

  deliver(): Response {
    return this.response
  }
}
