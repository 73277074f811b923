/** A caller's own first attempt by fetch, as every page loads it. Repeating it is left to `fetch-repeat.ts`. */

import { cancelBody } from './read-body.ts'
import { type Answer, type AttemptInit, laidOver, type Transport } from './transport.ts'

export type SentInit = RequestInit & { readonly method: string; readonly headers: Headers }

/** The arguments of fetch, and which fetch. */
export interface Sendable {
  readonly fetch: typeof fetch
  readonly url: string
  readonly init: SentInit
  /** The request itself, with a body that is too large to be kept: it can be sent once. */
  readonly whole?: Request | undefined
}

export class FetchTransport implements Transport {
  readonly sendable: Sendable

  constructor(sendable: Sendable) {
    this.sendable = sendable
  }

  async send({ overlay, signal }: AttemptInit): Promise<Answer> {
    const { fetch, url, init, whole } = this.sendable
    const headers = overlay ? laidOver(init.headers, overlay) : init.headers
    return new FetchAnswer(await fetch(whole ?? url, { ...init, headers, signal }))
  }
}

export class FetchAnswer implements Answer {
  readonly response: Response
  readonly status: number
  readonly redirectRefused: boolean = false

  /** Throws where a `fetch` of the user's own gives nothing. */
  constructor(response: Response) {
    this.response = response
    this.status = response.type === 'opaque' ? 200 : response.status
  }

  deliver(): Response {
    return this.response
  }

  discard(): void {
    cancelBody(this.response.body)
  }
}
