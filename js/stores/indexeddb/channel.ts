/**
 * Hints between the tabs of a store, over a BroadcastChannel: ids only, and a reason to look, never more. Nothing depends on
 * one arriving. A channel does not hear itself.
 */

import type { Hint } from '../../api/store.ts'

const KINDS: ReadonlySet<unknown> = new Set<Hint['kind']>(['due', 'settled', 'cancelled', 'principal'])

export class Channel {
  readonly #name: string
  readonly #listeners = new Set<(hint: Hint) => void>()
  #open: BroadcastChannel | undefined

  constructor(storeName: string) {
    this.#name = `redrive/${storeName}`
  }

  post(hints: readonly Hint[]): void {
    if (hints.length > 0) this.#channel()?.postMessage(hints.map(shown))
  }

  /** Hears what others post; returns what ends it. */
  listen(listener: (hint: Hint) => void): () => void {
    const own = (hint: Hint): void => listener(hint) // twice the same function is two listeners
    this.#listeners.add(own)
    this.wake()
    return () => {
      this.#listeners.delete(own)
      if (this.#listeners.size === 0) this.rest()
    }
  }

  /** After a rest: hears again, if anybody listens. */
  wake(): void {
    if (this.#listeners.size > 0) this.#channel()
  }

  /** Hears and holds nothing, until the next call of any other kind. */
  rest(): void {
    this.#open?.close()
    this.#open = undefined
  }

  #channel(): BroadcastChannel | undefined {
    if (this.#open) return this.#open
    try {
      this.#open = new BroadcastChannel(this.#name)
    } catch {
      return undefined // there are none here, or storage is forbidden; hints are only hints
    }
    this.#open.onmessage = ({ data }) => this.#hear(data)
    // Node would wait for it to be closed
    const { unref } = this.#open as { unref?(): void }
    unref?.call(this.#open)
    return this.#open
  }

  /** Later versions may say more, and other code of the site anything. */
  #hear(data: unknown): void {
    if (!Array.isArray(data)) return
    const hints = data.filter(isHint).map(shown)
    for (const hint of hints) for (const listener of this.#listeners) queueMicrotask(() => listener(hint))
  }
}

function isHint(value: unknown): value is Hint {
  if (typeof value !== 'object' || value === null) return false
  const { kind, taskId } = value as { readonly kind?: unknown; readonly taskId?: unknown }
  return KINDS.has(kind) && (taskId === undefined || typeof taskId === 'string')
}

/** Nothing but the fields of a hint. */
const shown = ({ kind, taskId }: Hint): Hint => (taskId === undefined ? { kind } : { kind, taskId })
