/**
 * Outbound: a handler's own call is deferred where it fails, and its client gets an answer that says so. The call throws once its task is kept, so that a
 * handler reads as if the call had succeeded, and the middleware turns what was thrown into the 202.
 */

import { RedriveError } from '../../api/errors.ts'
import type { RedriveResponse } from '../../api/mark.ts'
import type { AcceptedBody } from '../../api/methods.ts'
import type { Durability } from '../../api/task.ts'
import type { RedriveInit } from '../../call/read-fetch.ts'
import type { TaskOptions } from '../../options/task-options.ts'
import type { RequestLike } from '../../platform/web.ts'
import type { RetryQueue } from '../../queue/queue.ts'
import { wrapFetch } from '../fetch.ts'

/** `DEFERRED`: the call has failed in a way that may pass, and its task is kept. It is no failure: the answer to it is a 202. */
export class DeferredError extends RedriveError {
  override readonly name = 'DeferredError'
  readonly taskId: string
  readonly traceId: string
  /** Where the task is kept. */
  readonly durability: Durability
  constructor({ taskId, traceId, durability }: Omit<AcceptedBody, 'status'>) {
    super('DEFERRED', `the call is kept as task ${taskId}: answer with a 202, as deferredErrors() does`)
    this.taskId = taskId
    this.traceId = traceId
    this.durability = durability
  }
}

/** fetch, but where the answer would be the 202 of a deferred call it throws a `DeferredError`. */
export type FetchOrDefer = (input: RequestLike, init?: RedriveInit) => Promise<RedriveResponse>

/**
 * Makes a fetch that defers a call to `queue` if its first attempt fails, or takes longer than `waitMs`, and then throws a
 * `DeferredError`. An answer that no retry can follow is returned as it is. `init.redrive` of a call is laid over `defaults`.
 */
export function orDefer(queue: RetryQueue, defaults: Omit<TaskOptions, 'mode'> = {}): FetchOrDefer {
  const send = wrapFetch(queue, { ...defaults, mode: 'defer' })
  return async (input, init) => {
    const response = await send(input, init)
    if (!isOwn(response)) return response
    throw new DeferredError((await response.json()) as AcceptedBody)
  }
}

/** Whether a 202 is the queue's. One that came over the network, from a service with this middleware, has a URL. */
const isOwn = ({ status, url, headers }: Response): boolean =>
  status === 202 && url === '' && headers.has('redrive-task-id')
