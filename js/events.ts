/** A typed emitter whose listeners cannot break the queue: one that throws is reported once and kept out of the way. */

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
    return () => {
      listeners.delete(listener)
    }
  }

  /** Payloads cost something to build: ask first. */
  has(event: keyof Events): boolean {
    return (this.#listeners.get(event)?.size ?? 0) > 0
  }

  emit<E extends keyof Events>(event: E, payload: Events[E]): void {
    for (const listener of this.#listeners.get(event) ?? []) {
      const failed = (error: unknown) => this.#report(event, listener, error)
      try {
        const result = (listener as Listener<Events[E]>)(payload)
        // an async listener must not end the process by an unhandled rejection
        if (result instanceof Promise) result.catch(failed)
      } catch (error) {
        failed(error)
      }
    }
  }

  #report(event: keyof Events, listener: object, error: unknown): void {
    if (this.#reported.has(listener)) return
    this.#reported.add(listener)
    this.#onThrow(event, error)
  }
}
