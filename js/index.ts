/** redrive: a retry queue for HTTP, for Node and for pages while they are developed. The core comes as a chunk of its own. */

import type { EnqueueReceipt } from './api/methods.ts'
import type { EnqueueInit } from './call/read-fetch.ts'
import type { GivenOptions } from './options/queue-options.ts'
import type { RequestLike } from './platform/web.ts'
import type { EngineSource } from './queue/core-loader.ts'
import { internalsOf } from './queue/internals.ts'
import { patientLoader } from './queue/patient.ts'
import { RetryQueue as Queue } from './queue/queue.ts'
import { assertStored, keptOrNot } from './queue/unkept.ts'

export * from './exports.ts'

const source: EngineSource = () => import('./queue/chunk.node.ts')

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
 * // in a page; elsewhere give a `store`
 * const queue = new RetryQueue({ durable: true, principal: 'user-4711' })
 * const { taskId } = await queue.enqueue('/api/reports', { method: 'POST', body: 'all is well' })
 */
export class RetryQueue extends Queue {
  /**
   * Checks its options at once: TypeError and RangeError name the option, what was expected and what came. In the production bundle of a
   * page the checks come with the core's chunk: then `degraded` 'options_refused' says so, and calls are plain fetch.
   */
  constructor(options: GivenOptions = {}) {
    const [kept, checks] = keptOrNot(options)
    super(kept, source, checks, patientLoader)
  }

  override async enqueue(input: RequestLike, init?: EnqueueInit): Promise<EnqueueReceipt> {
    const { checks, settings } = internalsOf(this).host
    assertStored(checks, settings, init?.redrive)
    return super.enqueue(input, init)
  }
}
