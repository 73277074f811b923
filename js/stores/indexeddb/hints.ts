/**
 * Hints, which are reasons to look and never more: nothing depends on one arriving. Store objects of one page hear each
 * other at once, those of other tabs over a BroadcastChannel, which does not hear itself.
 */

import type { Hint } from '../../api/store.ts'

type Listener = (hint: Hint) => void

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
  readonly #listeners = new Set<Listener>()
  readonly #tabs: TabHints
  #stop = (): void => {}

  constructor(name: string) {
    this.#tabs = new TabHints(name)
  }

  listen(listener: Listener): () => void {
    if (this.#listeners.size === 0) this.#stop = this.#tabs.listen((hint) => this.tellPage([hint]))
    const own: Listener = (hint) => listener(hint) // twice the same function is two listeners
    this.#listeners.add(own)
    return () => {
      this.#listeners.delete(own)
      if (this.#listeners.size === 0) this.#stop()
    }
  }

  /** Gives hints to other tabs. */
  post(hints: readonly Hint[]): void {
    this.#tabs.post(hints)
  }

  /** Gives hints to this page, to each listener by itself: one that throws does not keep the others from hearing. */
  tellPage(hints: readonly Hint[]): void {
    this.changes += hints.length
    for (const hint of hints) for (const listener of this.#listeners) queueMicrotask(() => listener(hint))
  }

  resume(): void {
    this.#tabs.resume()
  }

  /** For a store object that is closed: without listeners nothing is kept open. */
  leave(): void {
    if (this.#listeners.size === 0) this.#tabs.suspend()
  }

  suspend(): void {
    this.#tabs.suspend()
  }
}

const KINDS: ReadonlySet<unknown> = new Set<Hint['kind']>(['due', 'settled', 'cancelled', 'principal'])

/** Hints between the tabs of a store: ids only, and a reason. */
export class TabHints {
  readonly #name: string
  readonly #listeners = new Set<(hint: Hint) => void>()
  #open: BroadcastChannel | undefined

  constructor(storeName: string) {
    this.#name = `redrive/${storeName}`
  }

  post(hints: readonly Hint[]): void {
    if (hints.length > 0) this.#channel()?.postMessage(hints.map(shown))
  }

  /** Has `listener` hear what other tabs post; returns what ends that. */
  listen(listener: (hint: Hint) => void): () => void {
    const own = (hint: Hint): void => listener(hint) // twice the same function is two listeners
    this.#listeners.add(own)
    this.resume()
    return () => {
      this.#listeners.delete(own)
      if (this.#listeners.size === 0) this.suspend()
    }
  }

  /** Hears again after it was suspended, if there are listeners. */
  resume(): void {
    if (this.#listeners.size > 0) this.#channel()
  }

  /** Hears and holds nothing, until the next call of any other kind. */
  suspend(): void {
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
    this.#open.onmessage = ({ data }) => this.#onMessage(data)
    // Node would wait for it to be closed
    const { unref } = this.#open as { unref?(): void }
    unref?.call(this.#open)
    return this.#open
  }

  /** Takes what it knows: later versions may say more, and other code of the site anything. */
  #onMessage(data: unknown): void {
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

/** A hint with nothing but its own fields. */
const shown = ({ kind, taskId }: Hint): Hint => (taskId === undefined ? { kind } : { kind, taskId })
