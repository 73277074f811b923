/**
 * Refuses what a Worker's queue without a store would lose without a word: workerd runs nothing of a request that has ended, so a call
 * that is handed over to memory is never sent again, and its caller was told that it is queued.
 */

import { NotDurableError } from '../api/task-errors.ts'
import type { Settings } from '../options/queue-options.ts'
import type { TaskOptions } from '../options/task-options.ts'

/** Throws for an `enqueue` unless there is a store, or memory will do. */
export function assertEnqueuedKept(settings: Settings, given?: TaskOptions): void {
  assertKept('RetryQueue.enqueue', '.enqueue(...)', settings, given)
}

/** Likewise for a call that its caller may have deferred. */
export function assertDeferredKept(settings: Settings, given: TaskOptions | false | undefined): void {
  if (given && given.mode === 'defer') assertKept("mode: 'defer'", '', settings, given)
}

function assertKept(what: string, how: string, settings: Settings, given: TaskOptions | undefined): void {
  const { allowMemory = settings.allowMemory } = given ?? {}
  if (settings.durable || allowMemory) return
  const remedy = `use workerFetch({ queue: env.REDRIVE, ctx })${how} with a RedriveObject, or allowMemory: true`
  throw new NotDurableError('no_store', `${what} in a Worker: nothing is kept once this request has ended; ${remedy}`)
}
