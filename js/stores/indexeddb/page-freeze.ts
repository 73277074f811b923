/**
 * Tells when the page is frozen. It hears no answer then, and a transaction that waits for one keeps all other tabs out of the
 * database until the browser ends it: Chromium (156) does so after a minute.
 *
 * A page that is kept for the way back is frozen too. It is left alone: a browser throws it away where another waits for its transaction,
 * and what was asked for as it was left is to be stored.
 */

import { listen } from '../../platform/abort.ts'

export class PageFreeze {
  /** Settles when the page is back; undefined: it is not frozen. */
  thawed: Promise<void> | undefined
  #thaw: () => void = () => {}
  #freezing = new AbortController()
  #watching: AbortController | undefined
  #isLeft = false

  /** Aborted when the page freezes. */
  get signal(): AbortSignal {
    return this.#freezing.signal
  }

  /** Outside of pages nothing happens. */
  watch(): void {
    const { document } = globalThis
    if (this.#watching || !document) return
    this.#watching = new AbortController()
    const { signal } = this.#watching
    listen(globalThis, 'pagehide', () => this.#leave(true), signal)
    listen(globalThis, 'pageshow', () => this.#leave(false), signal)
    listen(document, 'freeze', () => this.#freeze(), signal)
    listen(document, 'resume', () => this.#resume(), signal)
  }

  stop(): void {
    this.#watching?.abort()
    this.#watching = undefined
    this.#resume()
  }

  #leave(isLeft: boolean): void {
    this.#isLeft = isLeft
  }

  #freeze(): void {
    if (this.#isLeft || this.thawed) return
    this.thawed = new Promise((resolve) => {
      this.#thaw = resolve
    })
    this.#freezing.abort()
  }

  #resume(): void {
    if (!this.thawed) return
    this.thawed = undefined
    this.#freezing = new AbortController()
    this.#thaw()
  }
}
