/** A typed emitter whose listeners cannot break the queue: one that throws is reported once and kept out of the way. */

import type { DegradedCode, QueueEvents } from './events.ts'

type Listener<T> = (payload: T) => unknown

export class Emitter<Events extends object> {
  readonly #listeners = new Map<keyof Events, Set<Listener<never>>>()
  readonly #reported = new WeakSet<object>()
  readonly #onThrow: (event: keyof Events, error: unknown) => void

  /** `onThrow` hears of the first error of each listener. */
  constructor(onThrow: (event: keyof Events, error: unknown) => void) {
    this.#onThrow = onThrow
  }

  on<E extends keyof Events>(event: E, listener: Listener<Events[E]>): () => void {
    const listeners = this.#listeners.get(event) ?? new Set()
    this.#listeners.set(event, listeners)
    listeners.add(listener)
    return () => listeners.delete(listener)
  }

  /** Payloads cost something to build: ask first. */
  has(event: keyof Events): boolean {
    return !!this.#listeners.get(event)?.size
  }

  emit<E extends keyof Events>(event: E, payload: Events[E]): void {
    for (const listener of this.#listeners.get(event) ?? []) {
      // as a promise: one that throws and one that rejects are told of alike, and neither ends the process
      new Promise((resolve) => resolve((listener as Listener<Events[E]>)(payload))).catch((error) => {
        if (this.#reported.has(listener)) return
        this.#reported.add(listener)
        this.#onThrow(event, error)
      })
    }
  }
}

/** Reports that are remembered: of the oldest it is told once more. */
const MOST_REPORTED = 1_000

/** Emits `degraded`; `once` names what it is about, where one report is enough. */
export function reporter(events: Emitter<QueueEvents>): (code: DegradedCode, message: string, once?: string) => void {
  const reported = new Set<string>()
  return (code, message, once) => {
    const report = `${code} ${once}`
    if (once !== undefined && reported.has(report)) return
    reported.add(report)
    const [oldest] = reported
    if (reported.size > MOST_REPORTED) reported.delete(oldest as string)
    events.emit('degraded', { code, message })
  }
}
