/** Tells listeners of changes of tasks. */

import type { SubscribeOptions, TaskChange } from '../api/methods.ts'
import type { QueueContext } from '../runner/context.ts'

/** Adds a listener; returns what takes it off again. `open`: a store that is not open tells no changes. */
export function subscribeTo(
  { checks, events, settings }: QueueContext,
  listener: (change: TaskChange) => void,
  options: SubscribeOptions,
  open: () => unknown,
): () => void {
  checks?.subscribe(listener, options)
  if (settings.durable) open()
  return events.on(options.scope ?? 'store', (change) => listener(change)) // twice the same function is two
}
