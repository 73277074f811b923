/** redrive: a retry queue for HTTP, for Node and for pages while they are developed. The core comes as a chunk of its own. */

import { CHECKS } from './options/checks.ts'
import type { RetryQueueOptions } from './options/queue-options.ts'
import type { EngineSource } from './queue/core-loader.ts'
import { RetryQueue as Queue } from './queue/queue.ts'

export * from './exports.ts'

const source: EngineSource = () => import('./queue/chunk.node.ts')

/** Tries failed requests again: at the right time, under the same key, within limits. */
export class RetryQueue extends Queue {
  /**
   * Checks its options at once: TypeError and RangeError name the option, what was expected and what came. In the production bundle of a
   * page the checks come with the core's chunk: then `degraded` 'options_refused' says so, and calls are plain fetch.
   */
  constructor(options: RetryQueueOptions = {}) {
    super(options, source, CHECKS)
  }
}
