/** One request to a bucket and its answer over undici. An answer's body is a stream that is read no faster than its reader takes it. */

import type { IncomingHttpHeaders } from 'node:http'
import { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'

export interface S3Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** Has to be read to its end, or destroyed. */
  readonly body: Readable
}

/** Rejects with the error of the connection, or of the body that was sent. */
export function s3Exchange(dispatcher: Dispatcher, options: Dispatcher.DispatchOptions): Promise<S3Answer> {
  return new Promise((resolve, reject) => {
    dispatcher.dispatch(options, new Handler(resolve, reject))
  })
}

class Handler implements Dispatcher.DispatchHandler {
  readonly #resolve: (answer: S3Answer) => void
  readonly #reject: (error: unknown) => void
  #body: Readable | undefined

  constructor(resolve: (answer: S3Answer) => void, reject: (error: unknown) => void) {
    this.#resolve = resolve
    this.#reject = reject
  }

  onRequestStart(): void {}

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return
    this.#body = new Readable({
      read: () => controller.resume(),
      destroy: (error, done) => {
        if (!controller.aborted) controller.abort(error ?? new Error('nothing more is read'))
        done(error)
      },
    })
    // it may break off while it has no reader yet, or none any more
    this.#body.on('error', () => {})
    this.#resolve({ status, headers, body: this.#body })
  }

  onResponseData(controller: Dispatcher.DispatchController, part: Buffer): void {
    if (this.#body?.push(part) === false) controller.pause()
  }

  onResponseEnd(): void {
    this.#body?.push(null)
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#reject(error)
    this.#body?.destroy(error)
  }
}
