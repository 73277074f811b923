/** Actions under way and what has come of them, each by the name of the thing that it is about: an error is shown beside its button. */

import { errorText } from 'redrive/internal'
import { type InspectorAct, InspectorError } from './source.ts'

export interface Outcome {
  readonly isBusy?: true
  readonly progress?: { readonly done: number; readonly total: number }
  /** Words for what was done. */
  readonly done?: string
  readonly error?: string
  /** Only one who accepts that the target does the work twice can do it. */
  readonly isKeyExpired?: boolean
}

/** The redrive that can be stopped. */
type Begin = (signal: AbortSignal, onProgress: (done: number, total: number) => void) => InspectorAct

export class Acts {
  readonly #outcomes = new Map<string, Outcome>()
  readonly #stops = new Map<string, AbortController>()
  readonly #changed: () => void

  constructor(changed: () => void) {
    this.#changed = changed
  }

  of(key: string): Outcome {
    return this.#outcomes.get(key) ?? {}
  }

  /** Never rejects: the outcome says it. One at a time for a key. */
  async run(key: string, begin: Begin, act: (act: InspectorAct) => Promise<string>): Promise<boolean> {
    if (this.of(key).isBusy) return false
    const stop = new AbortController()
    this.#stops.set(key, stop)
    this.#note(key, { isBusy: true })
    const onProgress = (done: number, total: number): void =>
      this.#note(key, { isBusy: true, progress: { done, total } })
    try {
      this.#note(key, { done: await act(begin(stop.signal, onProgress)) })
      return true
    } catch (error) {
      const isKeyExpired = error instanceof InspectorError && error.isKeyExpired
      this.#note(key, { error: errorText(error), isKeyExpired })
      return false
    } finally {
      this.#stops.delete(key)
    }
  }

  stop(key: string): void {
    this.#stops.get(key)?.abort()
  }

  /** Puts an error where none of the source's is. */
  fail(key: string, error: string): void {
    this.#note(key, { error })
  }

  /** Nothing is shown of it any more. */
  end(): void {
    for (const stop of this.#stops.values()) stop.abort()
  }

  #note(key: string, outcome: Outcome): void {
    this.#outcomes.set(key, outcome)
    this.#changed()
  }
}
