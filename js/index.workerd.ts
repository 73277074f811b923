/** redrive for runtimes that compile WebAssembly ahead: the same exports, with the core as a static import. */

import type { RedriveResponse } from './api/mark.ts'
import type { EnqueueReceipt } from './api/methods.ts'
import type { EnqueueInit, RedriveInit } from './call/read-fetch.ts'
import type { GivenOptions } from './options/queue-options.ts'
import type { RequestLike } from './platform/web.ts'
import * as engine from './queue/chunk.workerd.ts'
import type { EngineSource } from './queue/core-loader.ts'
import { expose, internalsOf } from './queue/internals.ts'
import { RetryQueue as Queue } from './queue/queue.ts'
import { RequestLoader } from './queue/request-loader.ts'
import { assertDeferredKept, assertEnqueuedKept, keptOrNot } from './queue/unkept.ts'

export * from './exports.ts'

const source: EngineSource = async () => engine

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
  /** Checks its options at once: TypeError and RangeError name the option, what was expected and what came. */
  constructor(options: GivenOptions = {}) {
    const [kept, checks] = keptOrNot(options)
    super(kept, source, checks, (...given) => new RequestLoader(...given))
    const { host, run } = internalsOf(this)
    // adapters that read calls themselves
    const runKept = async (call: Parameters<typeof run>[0]) => {
      assertDeferredKept(host.settings, call.options)
      return run(call)
    }
    expose(this, { host, run: runKept })
  }

  override async fetch(input: RequestLike, init?: RedriveInit): Promise<RedriveResponse> {
    assertDeferredKept(internalsOf(this).host.settings, init?.redrive)
    return super.fetch(input, init)
  }

  override async enqueue(input: RequestLike, init?: EnqueueInit): Promise<EnqueueReceipt> {
    assertEnqueuedKept(internalsOf(this).host.settings, init?.redrive)
    return super.enqueue(input, init)
  }
}
