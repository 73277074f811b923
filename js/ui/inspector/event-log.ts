/** The last events, the latest first. While it is paused it goes on listening and shows what it had. */

import type { InspectorEvent } from './source.ts'

const KEPT = 200

export class EventLog {
  #events: InspectorEvent[] = []
  #held: readonly InspectorEvent[] | undefined
  #missed = 0

  add(event: InspectorEvent): void {
    this.#events.unshift(event)
    if (this.#events.length > KEPT) this.#events.length = KEPT
    if (this.#held) this.#missed++
  }

  get shown(): readonly InspectorEvent[] {
    return this.#held ?? this.#events
  }

  get isPaused(): boolean {
    return this.#held !== undefined
  }

  /** Events since it was paused. */
  get missed(): number {
    return this.#missed
  }

  toggle(): void {
    this.#held = this.#held ? undefined : [...this.#events]
    this.#missed = 0
  }
}
