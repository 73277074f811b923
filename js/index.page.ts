/** redrive for the production bundles of pages: the same exports. Options are checked when the core's chunk has come, and not before. */

import type { GivenOptions } from './options/queue-options.ts'
import type { EngineSource } from './queue/core-loader.ts'
import { RetryQueue as Queue } from './queue/queue.ts'

export * from './exports.ts'

const source: EngineSource = () => import('./queue/chunk.ts')

/**
 * A queue that sends an HTTP request again when it fails for a passing reason: after a wait, under one idempotency key, and within limits
 * that spare the server. `fetch` gives the caller the answer; `enqueue` keeps work that may take hours. Make one queue for the whole program,
 * and give it to the adapters: `wrapFetch`, `attachToAxios` and their like.
 *
 * @example
 * const queue = new RetryQueue({ idempotency: { origins: ['https://api.example.com'] } })
 * const response = await queue.fetch('https://api.example.com/orders', { method: 'POST', body: 'A-1' })
 *
 * @example
 * const queue = new RetryQueue({ durable: true, principal: 'user-4711' })
 * const { taskId } = await queue.enqueue('/api/reports', { method: 'POST', body: 'all is well' })
 */
export class RetryQueue extends Queue {
  /**
   * Where an option is wrong, `degraded` 'options_refused' says so once the chunk has come, and calls are plain fetch. One that cannot be
   * read at all, such as `policies` that are no list, throws the platform's own TypeError at once.
   */
  constructor(options: GivenOptions = {}) {
    // as they are now: that is what is checked later
    super({ ...options }, source)
  }
}
