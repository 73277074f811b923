/** The parts of a queue that adapters use and its users do not. */

import type { Call } from '../call/call.ts'
import type { QueueContext } from '../runner/context.ts'

export interface Internals {
  readonly host: QueueContext
  /** Sends a call and tries it again as its policy says; settles with what its transport delivers. */
  run(call: Call): Promise<unknown>
}

const byQueue = new WeakMap<object, Internals>()

export function expose(queue: object, internals: Internals): void {
  byQueue.set(queue, internals)
}

export function internalsOf(queue: object): Internals {
  const internals = byQueue.get(queue)
  if (!internals) throw new TypeError('expected a RetryQueue of this copy of redrive; is the package installed twice?')
  return internals
}
