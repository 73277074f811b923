/**
 * One attempt over undici. The body of its answer is held back, its connection paused, until it is known who gets it: the caller, to whom it flows as
 * undici gives it; another attempt, before which a little is read of it; or none.
 */

import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import { bodyLetGo } from '../../call/discard.ts'
import type { Downstream, Raw, Source } from './downstream.ts'

type Controller = Dispatcher.DispatchController
/** The end of a body. */
type Ended = { readonly trailers: IncomingHttpHeaders } | { readonly error: unknown }
type Part = { readonly done?: boolean; readonly value?: Buffer }

interface Parts {
  /** Hears of interim answers. */
  readonly downstream: Downstream
  onAnswer(exchange: Exchange): void
  /** There will be no answer. */
  onFailure(error: unknown): void
}

export class Exchange implements Dispatcher.DispatchHandler, Source {
  status = 0
  headers: IncomingHttpHeaders = {}
  readonly #parts: Parts
  #controller: Controller | undefined
  #statusText: string | undefined
  /** Held back; all that came, where some was read ahead. */
  #chunks: Buffer[] = []
  /** How many of them were read ahead. */
  #read = 0
  #waiting: { readonly resolve: (part: Part) => void; readonly reject: (error: unknown) => void } | undefined
  #ended: Ended | undefined
  #abortedBy: { readonly reason: unknown } | undefined
  #reader: Downstream | undefined
  #copies: ReadableStreamDefaultController<Uint8Array>[] = []
  #isGone = false
  #isFlushing = false

  constructor(parts: Parts) {
    this.#parts = parts
  }

  get rawHeaders(): Raw {
    return this.#controller?.rawHeaders ?? null
  }

  get rawTrailers(): Raw {
    return this.#controller?.rawTrailers ?? null
  }

  // of undici

  onRequestStart(controller: Controller, context: unknown): void {
    this.#controller = controller
    Object.assign(this.#parts.downstream.context, context)
    if (this.#abortedBy) controller.abort(this.#abortedBy.reason as Error)
  }

  onResponseStarted(): void {
    this.#parts.downstream.firstByte()
  }

  onResponseStart(_: Controller, status: number, headers: IncomingHttpHeaders, statusText?: string): void {
    if (status < 200) {
      this.#parts.downstream.inform(status, headers, statusText)
      return
    }
    this.status = status
    this.headers = headers
    this.#statusText = statusText
    this.#parts.onAnswer(this)
  }

  onResponseData(_: Controller, chunk: Buffer): void {
    for (const copy of this.#copies) copy.enqueue(chunk)
    if (this.#reader && this.#chunks.length === 0) {
      this.#reader.data(chunk)
      return
    }
    // the next part is asked for: by the reader, by what reads ahead, or by a copy
    this.pause()
    if (!this.#isGone) this.#chunks.push(chunk)
    if (!this.#waiting) return
    if (!this.#isGone) this.#read++
    this.#waiting.resolve({ value: chunk })
    this.#waiting = undefined
  }

  onResponseEnd(_: Controller, trailers: IncomingHttpHeaders): void {
    for (const copy of this.#copies) copy.close()
    this.#over({ trailers })
    this.#waiting?.resolve({ done: true })
  }

  onResponseError(_: Controller, error: Error): void {
    if (this.status === 0) {
      this.#parts.onFailure(error)
      return
    }
    for (const copy of this.#copies) copy.error(error)
    this.#over({ error })
    this.#waiting?.reject(error)
  }

  // of its reader

  pause(): void {
    this.#controller?.pause()
  }

  resume(): void {
    this.#flush()
  }

  abort(reason: unknown): void {
    this.#abortedBy ??= { reason }
    if (!this.#ended) this.#controller?.abort(reason as Error)
  }

  // of its answer

  /** Gives it to the caller: what was held back, and then what comes. */
  giveTo(downstream: Downstream): void {
    this.#reader = downstream
    if (this.#isGone) this.#ended = { error: bodyLetGo() }
    try {
      downstream.start(this, this.status, this.headers, this.#statusText)
    } catch (error) {
      this.#fault(error)
    }
    this.#flush()
  }

  /** The next part of the body, which is kept to be given. */
  read(): Promise<Part> {
    const value = this.#chunks[this.#read]
    if (value) {
      this.#read++
      return Promise.resolve({ value })
    }
    if (this.#ended) return 'error' in this.#ended ? Promise.reject(this.#ended.error) : Promise.resolve({ done: true })
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject }
      this.#controller?.resume()
    })
  }

  /** Keeps nothing of the body any more, and ends the connection of one that is still to come. */
  drop(): void {
    this.#isGone = true
    this.#chunks = []
    this.#read = 0
    // a copy that is being read goes on
    if (this.#copies.length === 0) this.abort(bodyLetGo())
  }

  /** A copy of the body, from its first byte on. What its reader leaves unread is in memory. */
  copy(): ReadableStream<Uint8Array> {
    let own: ReadableStreamDefaultController<Uint8Array>
    return new ReadableStream<Uint8Array>({
      start: (controller) => {
        own = controller
        for (const chunk of this.#chunks) controller.enqueue(chunk)
        if (!this.#ended) this.#copies.push(controller)
        else if ('error' in this.#ended) controller.error(this.#ended.error)
        else controller.close()
      },
      pull: () => {
        if (!this.#reader) this.#controller?.resume()
      },
      cancel: () => {
        this.#copies = this.#copies.filter((each) => each !== own)
        if (this.#isGone && this.#copies.length === 0) this.abort(bodyLetGo())
      },
    })
  }

  #over(ended: Ended): void {
    this.#ended ??= ended
    this.#copies = []
    if ('error' in ended) this.#reader?.fail(ended.error)
    else this.#flush()
  }

  #flush(): void {
    const reader = this.#reader
    if (!reader || this.#isFlushing) return
    this.#isFlushing = true
    try {
      while (!reader.paused && this.#chunks.length > 0) reader.data(this.#chunks.shift() as Buffer)
    } catch (error) {
      this.#fault(error)
    } finally {
      this.#isFlushing = false
    }
    if (this.#chunks.length > 0) return
    if (!this.#ended) {
      if (!reader.paused) this.#controller?.resume()
    } else if ('error' in this.#ended) reader.fail(this.#ended.error)
    else reader.end(this.#ended.trailers)
  }

  /** The reader has thrown. undici ends a request for that, and gives its error to the reader. */
  #fault(error: unknown): void {
    this.#chunks = []
    this.abort(error)
    this.#reader?.fail(error)
  }
}
