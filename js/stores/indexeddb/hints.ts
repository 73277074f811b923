/**
 * Hints, which are reasons to look and never more: nothing depends on one arriving. Store objects of one page hear each
 * other at once; those of other tabs over a BroadcastChannel, which carries ids and a reason, and does not hear itself.
 */

import type { Hint } from '../../api/store.ts'
import { openChannel } from '../../platform/channel.ts'

type Listener = (hint: Hint) => void

const KINDS: ReadonlySet<unknown> = new Set<Hint['kind']>(['due', 'settled', 'cancelled', 'changed', 'principal'])

const byName = new Map<string, Hints>()

/** One for all store objects of a name, since two channels of one page would hear each other too. */
export function hintsOf(name: string): Hints {
  const hints = byName.get(name) ?? new Hints(name)
  byName.set(name, hints)
  return hints
}

export class Hints {
  /** Rises with each hint: another number than after its own transaction tells a store object that another has written. */
  changes = 0
  readonly #name: string
  readonly #listeners = new Set<Listener>()
  #channel: BroadcastChannel | undefined

  constructor(storeName: string) {
    this.#name = `redrive/${storeName}`
  }

  /** Returns what ends it. */
  listen(listener: Listener): () => void {
    const own: Listener = (hint) => listener(hint) // twice the same function is two listeners
    this.#listeners.add(own)
    this.resume()
    return () => {
      this.#listeners.delete(own)
      this.leave()
    }
  }

  /** Gives hints to other tabs. */
  post(hints: readonly Hint[]): void {
    if (hints.length > 0) this.#open()?.postMessage(hints.map(bare))
  }

  /** Gives hints to this page, to each listener by itself: one that throws does not keep the others from hearing. */
  tellPage(hints: readonly Hint[]): void {
    this.changes += hints.length
    for (const hint of hints) for (const listener of this.#listeners) queueMicrotask(() => listener(hint))
  }

  /** Hears other tabs again after it was suspended, if there are listeners. */
  resume(): void {
    if (this.#listeners.size > 0) this.#open()
  }

  /** For a store object that is closed: without listeners nothing is kept open. */
  leave(): void {
    if (this.#listeners.size === 0) this.suspend()
  }

  /** Hears and holds nothing, until the next call of any other kind. */
  suspend(): void {
    this.#channel?.close()
    this.#channel = undefined
  }

  #open(): BroadcastChannel | undefined {
    try {
      this.#channel ??= openChannel(this.#name, (data) => {
        if (Array.isArray(data)) this.tellPage(data.filter(isHint).map(bare))
      })
    } catch {
      // hints are only hints
    }
    return this.#channel
  }
}

function isHint(value: unknown): value is Hint {
  if (typeof value !== 'object' || value === null) return false
  const { kind, taskId } = value as { readonly kind?: unknown; readonly taskId?: unknown }
  return KINDS.has(kind) && (taskId === undefined || typeof taskId === 'string')
}

/** A hint with nothing but its own fields. */
const bare = ({ kind, taskId }: Hint): Hint => (taskId === undefined ? { kind } : { kind, taskId })
