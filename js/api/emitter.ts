/** A typed emitter whose listeners cannot break the queue: one that throws is reported once and kept out of the way. */

import type { DegradedCode, QueueEvents } from './events.ts'

type Listener<T> = (payload: T) => unknown

export class Emitter<Events extends object> {
  readonly #listeners = new Map<string, Set<[Listener<never>]>>()
  readonly #reported = new WeakSet<object>()
  /** Which listeners are the package's own. */
  readonly #own = new WeakMap<object, boolean>()
  readonly #onThrow: (event: string, error: unknown) => void
  readonly #onUnheard: Unheard | undefined

  /** `onThrow` hears of the first error of each listener, `onUnheard` of what has a subject and no listener of the user's. */
  constructor(onThrow: (event: string, error: unknown) => void, onUnheard?: Unheard) {
    this.#onThrow = onThrow
    this.#onUnheard = onUnheard
  }

  /** `isOwn`: it is the package's, so the user does not hear of the event by it. */
  on<E extends keyof Events & string>(event: E, listener: Listener<Events[E]>, isOwn = false): () => void {
    // first: it throws for nothing or a text, which would pass for one who hears of the event
    this.#own.set(listener, isOwn)
    const listeners = this.#listeners.get(event) ?? new Set()
    this.#listeners.set(event, listeners)
    const entry: [Listener<never>] = [listener] // twice the same function is two listeners
    listeners.add(entry)
    return () => listeners.delete(entry)
  }

  /** Payloads cost something to build: ask first. */
  has(event: keyof Events & string): boolean {
    return !!this.#listeners.get(event)?.size
  }

  /** `subject`: what the event is about, for those that a user should hear of once even without a listener. */
  emit<E extends keyof Events & string>(event: E, payload: Events[E], subject?: string): void {
    let isHeard = false
    for (const [listener] of this.#listeners.get(event) ?? []) {
      isHeard ||= !this.#own.get(listener)
      // as a promise: one that throws and one that rejects are told of alike, and neither ends the process
      const told = async () => (listener as Listener<Events[E]>)(payload)
      told().catch((error) => {
        if (this.#reported.has(listener)) return
        this.#reported.add(listener)
        this.#onThrow(event, error)
      })
    }
    if (subject !== undefined && !isHeard) this.#onUnheard?.(event, payload as object, subject)
  }
}

type Unheard = (event: string, payload: object, subject: string) => void

/** Reports that are remembered: the oldest is reported once more. */
const MOST_REPORTED = 1_000

/** Emits `degraded`; `once` names what it is about, where one report is enough. */
export type Report = (
  code: DegradedCode,
  message: string,
  once?: string,
  more?: Readonly<Omit<QueueEvents['degraded'], 'code' | 'message'>>,
) => void

export function reporter(events: Emitter<QueueEvents>): Report {
  const reported = new Set<string>()
  return (code, message, once, more) => {
    const report = `${code} ${once}`
    if (once !== undefined && reported.has(report)) return
    reported.add(report)
    const [oldest] = reported
    if (reported.size > MOST_REPORTED) reported.delete(oldest as string)
    events.emit('degraded', { code, message, ...more }, report)
  }
}

/** Writes to the console what has no listener, once for each subject: a warning that no one hears is none. */
export function consoleWarner(name: string): Unheard {
  const said = new Set<string>()
  return (event, payload: { readonly error?: object }, subject) => {
    if (said.has(subject) || said.size === MOST_REPORTED) return
    said.add(subject)
    const { code = event, message } = (payload.error ?? payload) as { readonly code?: string; readonly message: string }
    console.warn(`redrive: queue '${name}': ${code}: ${message} (once; on('${event}', ...) or warn: false silences it)`)
  }
}
