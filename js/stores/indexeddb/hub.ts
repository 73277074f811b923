/**
 * Who listens to which database: store objects of one page hear each other at once, other tabs over a channel. One for all
 * store objects of a name, since two channels of one page would hear each other too.
 */

import type { Hint } from '../../api/store.ts'
import { Channel } from './channel.ts'

type Listener = (hint: Hint) => void

const hubs = new Map<string, Hub>()

export function hubOf(name: string): Hub {
  const hub = hubs.get(name) ?? new Hub(name)
  hubs.set(name, hub)
  return hub
}

export class Hub {
  /** Rises with each hint: who sees another number than after its own transaction knows that somebody else has written. */
  changes = 0
  readonly #listeners = new Set<Listener>()
  readonly #channel: Channel
  #stop = (): void => {}

  constructor(name: string) {
    this.#channel = new Channel(name)
  }

  listen(listener: Listener): () => void {
    if (this.#listeners.size === 0) this.#stop = this.#channel.listen((hint) => this.tellPage([hint]))
    const own: Listener = (hint) => listener(hint) // twice the same function is two listeners
    this.#listeners.add(own)
    return () => {
      this.#listeners.delete(own)
      if (this.#listeners.size === 0) this.#stop()
    }
  }

  /** Other tabs. */
  post(hints: readonly Hint[]): void {
    this.#channel.post(hints)
  }

  /** Each listener by itself: one that throws does not keep the others from hearing. */
  tellPage(hints: readonly Hint[]): void {
    this.changes += hints.length
    for (const hint of hints) for (const listener of this.#listeners) queueMicrotask(() => listener(hint))
  }

  /** After a rest, or before. */
  wake(): void {
    this.#channel.wake()
  }

  /** A store object is closed: where nobody listens, nothing is kept open. */
  leave(): void {
    if (this.#listeners.size === 0) this.#channel.rest()
  }

  rest(): void {
    this.#channel.rest()
  }
}
