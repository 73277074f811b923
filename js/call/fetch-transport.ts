/** A caller's own first attempt by fetch, as every page loads it. Repeating it is left to `fetch-repeat.ts`. */

import { RedriveError } from '../api/errors.ts'
import type { Clock } from '../platform/clock.ts'
import { CHUNK_BYTES, cancelBody, KEPT_BYTES, REST_MS } from './read-body.ts'
import { type Answer, type AttemptInit, laidOver, type Transport } from './transport.ts'

export type SentInit = RequestInit & { readonly method: string; readonly headers: Headers }

/** A copy of an answer, which itself stays unread. None in happy-dom, whose `clone()` empties both (21.0.4), and where no connection is to be spared. */
export const copyOf = (response: Response): Response | null => ('happyDOM' in globalThis ? null : response.clone())

/** The arguments of fetch, and which fetch. */
export interface Sendable {
  readonly fetch: typeof fetch
  readonly url: string
  readonly init: SentInit
  /** The request itself, with a body that is too large to be kept: it can be sent once. */
  readonly whole?: Request | undefined
  /** The GET that a redirect has made of it: see `Repeatable`. */
  seeOther?: string | undefined
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
  /** A copy of it was made, and may be cancelled. */
  declare isShared?: boolean

  /** Throws where a `fetch` of the user's own gives nothing, or what stands for a lost connection. */
  constructor(response: Response) {
    if (response.type === 'error') throw new TypeError('no answer')
    this.response = response
    this.status = response.type === 'opaque' ? 200 : response.status
  }

  deliver(): Response {
    return this.response
  }

  header(name: string): string | null {
    // a `fetch` of the user's own may give an answer of any kind
    return this.response.headers?.get?.(name) ?? null
  }

  readAhead(clock: Clock, controller: AbortController): () => void {
    let reader: ReadableStreamDefaultReader<Uint8Array> | undefined
    const cut = () => controller.abort(new RedriveError('BODY_DROPPED', `no body within ${REST_MS} ms`))
    const disarm = clock.after(REST_MS, cut)
    const read = async () => {
      // the response itself stays unread
      reader = copyOf(this.response)?.body?.getReader()
      this.isShared = !!reader
      for (let left = KEPT_BYTES; left >= 0; ) {
        const chunk = await reader?.read()
        if (!chunk?.value) return disarm()
        left -= Math.max(chunk.value.byteLength || 0, CHUNK_BYTES)
      }
    }
    // broken off, or of a `fetch` of the user's own, which may give a body of any kind
    read().catch(disarm)
    return () => {
      disarm()
      cancelBody(reader)
    }
  }

  discard(): void {
    cancelBody(this.response.body)
  }
}
