/** Requests of one connection are answered one after the other, however many of them a client sends at once: between two, others have their turn. */

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** A connection with more requests behind the one that is answered is closed. */
const MOST_WAITING = 16

export class Pipeline {
  /** Those that wait, of each connection that answers one. */
  readonly #waiting = new WeakMap<Socket, (() => void)[]>()

  /** Begins once the answers before have ended; never where the connection is closed by then. */
  take({ socket }: IncomingMessage, outgoing: ServerResponse, begin: () => void): void {
    if (socket.destroyed) return
    const run = (): void => {
      outgoing.once('close', () => setImmediate(() => this.#next(socket)))
      begin()
    }
    const waiting = this.#waiting.get(socket)
    if (!waiting) {
      this.#waiting.set(socket, [])
      run()
    } else if (waiting.length < MOST_WAITING) waiting.push(run)
    else socket.destroy()
  }

  #next(socket: Socket): void {
    const run = this.#waiting.get(socket)?.shift()
    if (!run) this.#waiting.delete(socket)
    // an answer may have been the last of its connection
    else if (socket.writable) run()
  }
}
