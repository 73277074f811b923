/** redrive: a retry queue for HTTP. The core comes as a chunk of its own. */

import type { EngineSource } from './loader.ts'
import type { RetryQueueOptions } from './options.ts'
import { RetryQueue as Queue } from './queue.ts'

export * from './public.ts'

const source: EngineSource = () => import('./engine.ts')

/** Tries failed requests again: at the right time, under the same key, within limits. */
export class RetryQueue extends Queue {
  /** Checks its options at once: TypeError and RangeError name the option, what was expected and what came. */
  constructor(options: RetryQueueOptions = {}) {
    super(options, source)
  }
}
