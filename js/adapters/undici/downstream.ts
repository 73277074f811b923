/**
 * The handler of a request, and the one controller that it sees however many attempts there are. An abort reaches the attempt under way and the
 * wait between two; a pause reaches the answer that the handler reads.
 */

import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'

/** Headers as they came: names and values in turn. */
export type Raw = Exclude<Dispatcher.DispatchController['rawHeaders'], undefined>

/** The part of an answer that its reader steers. */
export interface Source {
  readonly rawHeaders: Raw
  readonly rawTrailers: Raw
  pause(): void
  resume(): void
  abort(reason: unknown): void
}

export class Downstream implements Dispatcher.DispatchController {
  /** Filled by interceptors further in, for the handler: that of the attempt whose answer it gets. */
  readonly context: Record<string, unknown> = {}
  readonly #handler: Dispatcher.DispatchHandler
  readonly #caller = new AbortController()
  #source: Source | undefined
  #isPaused = false
  #isOver = false
  #resumed: (() => void) | undefined

  constructor(handler: Dispatcher.DispatchHandler) {
    this.#handler = handler
  }

  /** Aborted by the handler. */
  get signal(): AbortSignal {
    return this.#caller.signal
  }

  get aborted(): boolean {
    return this.#caller.signal.aborted
  }

  get reason(): Error | null {
    return this.#caller.signal.reason ?? null
  }

  get paused(): boolean {
    return this.#isPaused
  }

  get rawHeaders(): Raw {
    return this.#source?.rawHeaders ?? null
  }

  get rawTrailers(): Raw {
    return this.#source?.rawTrailers ?? null
  }

  abort(reason: Error): void {
    this.#caller.abort(reason)
    this.#source?.abort(this.#caller.signal.reason)
    this.#wake()
  }

  pause(): void {
    this.#isPaused = true
    this.#source?.pause()
  }

  resume(): void {
    this.#isPaused = false
    this.#source?.resume()
    this.#wake()
  }

  /** Lets the handler abort from now on, before there is a connection. */
  begin(): void {
    this.#handler.onRequestStart?.(this, this.context)
  }

  /** An interim answer (1xx). */
  inform(status: number, headers: IncomingHttpHeaders, statusText?: string): void {
    this.#handler.onResponseStart?.(this, status, headers, statusText)
  }

  firstByte(): void {
    this.#handler.onResponseStarted?.()
  }

  start(source: Source, status: number, headers: IncomingHttpHeaders, statusText?: string): void {
    this.#source = source
    this.#handler.onResponseStart?.(this, status, headers, statusText)
  }

  data(chunk: Buffer): void {
    this.#handler.onResponseData?.(this, chunk)
  }

  end(trailers: IncomingHttpHeaders): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#handler.onResponseEnd?.(this, trailers)
  }

  fail(error: unknown): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#handler.onResponseError?.(this, error as Error)
  }

  /** Gives a Response that no attempt of its own has brought: a fallback's, or a copy of another call's. */
  async play(response: Response): Promise<void> {
    const { status, statusText, body } = response
    const reader = body?.getReader()
    const source: Source = {
      rawHeaders: null,
      rawTrailers: null,
      pause() {},
      resume() {},
      abort: (reason) => void reader?.cancel(reason).catch(() => {}), // broken off already
    }
    try {
      this.start(source, status, headersOf(response), statusText)
      for (;;) {
        const { done, value } = (await reader?.read()) ?? { done: true }
        if (this.aborted) return this.fail(this.reason)
        if (done) return this.end({})
        this.data(Buffer.from(value as Uint8Array))
        while (this.#isPaused && !this.aborted) await new Promise<void>((resolve) => (this.#resumed = resolve))
      }
    } catch (error) {
      this.fail(error)
    }
  }

  #wake(): void {
    this.#resumed?.()
    this.#resumed = undefined
  }
}

function headersOf({ headers }: Response): IncomingHttpHeaders {
  const cookies = headers.getSetCookie()
  return { ...Object.fromEntries(headers), ...(cookies.length > 0 && { 'set-cookie': cookies }) }
}
