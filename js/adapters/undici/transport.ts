/** Attempts by the dispatcher that an interceptor is composed with. Each is a dispatch of its own, and each answer waits for its reader. */

import type { Dispatcher } from 'undici'
import { acceptedForm } from '../../call/accepted.ts'
import { isOwnError } from '../../call/own-error.ts'
import type { Acceptance, Answer, AttemptInit, BodyContent, FetchForm, Repeatable } from '../../call/transport.ts'
import { whenAborted } from '../../platform/abort.ts'
import { UndiciAnswer } from './answer.ts'
import type { Downstream } from './downstream.ts'
import { Exchange } from './exchange.ts'
import { dispatchOwn } from './guard.ts'
import type { Bytes, Request } from './request.ts'

/** No repeat mends them: the dispatcher that all attempts go by is closed. */
const CLOSED = /^UND_ERR_(CLOSED|DESTROYED)$/

export class UndiciTransport implements Repeatable {
  isSent = false
  readonly #dispatch: Dispatcher.Dispatch
  readonly #options: Dispatcher.DispatchOptions
  readonly #downstream: Downstream
  readonly #body: Bytes
  #headers: Request['headers']

  constructor(
    dispatch: Dispatcher.Dispatch,
    options: Dispatcher.DispatchOptions,
    headers: Request['headers'],
    body: Bytes,
    downstream: Downstream,
  ) {
    this.#dispatch = dispatch
    this.#options = options
    this.#headers = headers
    this.#body = body
    this.#downstream = downstream
  }

  send({ overlay, signal }: Pick<AttemptInit, 'overlay' | 'signal'>): Promise<UndiciAnswer> {
    this.isSent = true
    const headers = overlay ? laidOver(this.#headers, overlay) : this.#headers
    const body = this.#body as NonNullable<Dispatcher.DispatchOptions['body']> | null
    return new Promise((resolve, reject) => {
      const exchange = new Exchange({
        downstream: this.#downstream,
        onAnswer: (answered) => resolve(new UndiciAnswer(answered)),
        onFailure: reject,
      })
      whenAborted(signal, () => exchange.abort(signal.reason))
      dispatchOwn(this.#dispatch, { ...this.#options, headers: headers.flat() as string[], body }, exchange)
    })
  }

  putHeader(name: string, value: string): void {
    this.#headers = laidOver(this.#headers, new Headers({ [name]: value }))
  }

  async body(): Promise<BodyContent> {
    const body = this.#body
    return body instanceof Blob ? new Uint8Array(await body.arrayBuffer()) : body
  }

  /** A dispatcher, and what is set for one request of it, cannot be stored. */
  asFetch(): FetchForm {
    return { init: {}, withheld: [], isWhole: false }
  }

  isFinal(error: unknown): boolean {
    return CLOSED.test((error as { readonly code?: string } | undefined)?.code ?? '') || isOwnError(error)
  }

  accepted(acceptance: Acceptance): Response {
    const { headers, body } = acceptedForm(acceptance)
    return new Response(body, { status: 202, headers })
  }

  answered(response: Response): Response {
    return response
  }

  adopt(answer: Answer): UndiciAnswer {
    return answer as UndiciAnswer
  }
}

function laidOver(headers: Request['headers'], overlay: Headers): Request['headers'] {
  return [...headers.filter(([name]) => !overlay.has(name)), ...overlay]
}
