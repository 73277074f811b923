/**
 * The stream of one listener, as Server-Sent Events (HTML, 9.2). What it has not read yet is kept, up to a limit: one that reads too
 * slowly gets `closed` and is closed, so that none makes the service grow.
 */

import type { Clock } from 'redrive'
import { utf8 } from 'redrive/internal'

/** Bytes that a listener may be behind for longer than a moment. */
const MOST_BEHIND = 2 ** 20
/** That moment: a batch makes more than that at once, before any listener can read. */
const PATIENCE_MS = 2_000
/** Bytes that it may be behind at all. The texts are the same for all listeners. */
const MOST_AT_ONCE = 16 * 2 ** 20
/** Bytes of what is given to a socket at a time, more or less. */
const CHUNK = 2 ** 16
/** A listener that was closed may read what is left for so long. */
const REST_MS = 10_000

/** Why a stream ends: the `reason` of its last event. */
export type CloseReason = 'slow' | 'draining' | 'displaced' | 'unauthorized'

const DETAILS: Readonly<Record<CloseReason, string>> = {
  slow: 'more than 1 MiB was not read; connect again with Last-Event-ID, and ask for fewer `types` or one `origin`',
  draining: 'the service is stopping; connect again, to another process or to this one once it is back',
  displaced: 'this process has as many listeners as it takes, and this tenant the most of them; ask another, or later',
  unauthorized: 'the token does not count any more',
}

/** An event as it is sent; `id` only where it can be gone on from. */
export const eventText = (type: string, data: object, id?: string): string =>
  `${id === undefined ? '' : `id: ${id}\n`}event: ${type}\ndata: ${JSON.stringify(data)}\n\n`

export const commentText = (text: string): string => `: ${text}\n\n`

export class FeedStream {
  readonly body: ReadableStream<Uint8Array<ArrayBuffer>>
  readonly #clock: Clock
  readonly #left: () => void
  #kept: string[] = []
  #bytes = 0
  /** Nothing more is kept for it. */
  #isOver = false
  /** Nothing more is read of it. */
  #isGone = false
  #controller: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>> | undefined
  #wake: (() => void) | undefined
  #disarm: (() => void) | undefined

  /** `left`: called once, when nothing more is wanted. */
  constructor(clock: Clock, left: () => void) {
    this.#clock = clock
    this.#left = left
    const source: UnderlyingDefaultSource<Uint8Array<ArrayBuffer>> = {
      start: (controller) => {
        this.#controller = controller
      },
      pull: () => this.#pull(),
      cancel: () => this.#end(),
    }
    // nothing is read ahead of the socket: what is kept here is all that the listener is behind
    this.body = new ReadableStream(source, { highWaterMark: 0 })
  }

  push(text: string): void {
    if (this.#isOver) return
    this.#keep(text)
    if (this.#bytes > MOST_AT_ONCE) this.close('slow')
    else if (this.#bytes > MOST_BEHIND) this.#disarm ??= this.#clock.after(PATIENCE_MS, () => this.#judge(), true)
  }

  #judge(): void {
    this.#disarm = undefined
    if (this.#bytes > MOST_BEHIND) this.close('slow')
  }

  /** Says why, and ends once that is read. */
  close(reason: CloseReason): void {
    if (this.#isOver) return
    this.#keep(eventText('closed', { reason, detail: DETAILS[reason] }))
    this.#isOver = true
    this.#left()
    const cut = (): void => {
      this.#end()
      this.#controller?.error(new Error('the listener does not read'))
    }
    this.#disarm?.()
    this.#disarm = this.#clock.after(REST_MS, cut, true)
  }

  #keep(text: string): void {
    this.#kept.push(text)
    this.#bytes += Buffer.byteLength(text)
    this.#wake?.()
  }

  async #pull(): Promise<void> {
    if (this.#kept.length === 0 && !this.#isOver) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
      this.#wake = undefined
    }
    if (this.#isGone) return
    const bytes = this.#taken()
    if (bytes.length > 0) this.#controller?.enqueue(bytes)
    if (!this.#isOver || this.#kept.length > 0) return
    this.#disarm?.()
    this.#controller?.close()
  }

  /** The next of what is kept, and no longer kept. */
  #taken(): Uint8Array<ArrayBuffer> {
    let length = 0
    const count = this.#kept.findIndex((text) => {
      length += text.length
      return length >= CHUNK
    })
    const bytes = utf8(this.#kept.splice(0, count < 0 ? this.#kept.length : count + 1).join(''))
    this.#bytes -= bytes.length
    return bytes
  }

  /** Its reader has left. */
  #end(): void {
    this.#disarm?.()
    this.#isGone = true
    this.#kept = []
    this.#bytes = 0
    if (!this.#isOver) {
      this.#isOver = true
      this.#left()
    }
    this.#wake?.()
  }
}
