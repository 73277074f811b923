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

/** `call`: the call to name where `queue` is none, as its users write it. */
export function internalsOf(queue: object, call = 'this'): Internals {
  const internals = byQueue.get(queue)
  if (internals) return internals
  const came = queue === null ? queue : typeof queue
  const twice = came === 'object' ? '; is redrive installed twice?' : ''
  throw new TypeError(`${call}: expected a RetryQueue, got ${came}${twice}`)
}
