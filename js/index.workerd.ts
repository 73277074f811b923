/** redrive for runtimes that compile WebAssembly ahead: the same exports, with the core as a static import. */

import type { RetryQueueOptions } from './options/queue-options.ts'
import * as engine from './queue/chunk.workerd.ts'
import type { EngineSource } from './queue/core-loader.ts'
import { RetryQueue as Queue } from './queue/queue.ts'

export * from './exports.ts'

const source: EngineSource = async () => engine

/** Tries failed requests again: at the right time, under the same key, within limits. */
export class RetryQueue extends Queue {
  /** Checks its options at once: TypeError and RangeError name the option, what was expected and what came. */
  constructor(options: RetryQueueOptions = {}) {
    super(options, source)
  }
}
