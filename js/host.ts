/** What the runner needs of its queue, and nothing more. */

import type { Emitter } from './events.ts'
import type { Draw } from './ids.ts'
import type { Settings } from './options.ts'
import type { DegradedCode, QueueEvents } from './types.ts'

export interface Host {
  readonly settings: Settings
  readonly events: Emitter<QueueEvents>
  /** The steady clock. */
  readonly now: () => number
  readonly draw: Draw
  /** Emits `degraded`; `once` names what it is about, where one report is enough. */
  degraded(code: DegradedCode, message: string, once?: string): void
  /** One more request went out. */
  sent(): void
  /** No task is left; the queue may have to tell somebody. */
  idle(): void
}
