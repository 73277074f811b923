/**
 * Refuses what a queue without a store would lose without a word: in a Worker, since workerd runs nothing of a request that has ended, so
 * a call that is enqueued in memory is never sent again, and its caller has a receipt for it; and where a queue was to be durable.
 */

import { NotDurableError } from '../api/task-errors.ts'
import { CHECKS, type Checks } from '../options/checks.ts'
import type { RetryQueueOptions, Settings } from '../options/queue-options.ts'
import type { TaskOptions } from '../options/task-options.ts'
import { isPage } from '../platform/page.ts'

type Allowance = Pick<Settings, 'allowMemory'>

const NO_STORE = 'durable: true has no store outside a page'
const STORE =
  "in a server render leave the call to the browser, elsewhere give it a store, such as sqliteStore({ path: 'orders.db' }) of 'redrive/sqlite'"

/** The checks of a queue that was to be durable, and keeps its tasks in memory: reported at its first call. */
const UNKEPT: Checks = {
  ...CHECKS,
  plain(call, host) {
    host.degraded('storage_unavailable', `${NO_STORE}: calls are kept in memory; ${STORE}`, 'memory')
    if (call.options.mode === 'defer') refuse("mode: 'defer'", host.settings, call.options)
    CHECKS.plain(call, host)
  },
}

/**
 * The options and checks that a queue is made with. A server runs the modules of the page that it renders: a durable queue that such a
 * module makes is inert there, and what is wrong shows where it is used.
 */
export function keptOrNot(given: RetryQueueOptions): readonly [RetryQueueOptions, Checks] {
  const { durable, store } = Object(given) as RetryQueueOptions
  if (!durable || store || isPage()) return [given, CHECKS]
  CHECKS.queue(given)
  return [{ ...given, durable: false }, UNKEPT]
}

/** Throws for an `enqueue` of a queue that was to be durable, unless memory will do. */
export function assertStored(checks: Checks | undefined, settings: Allowance, given?: TaskOptions): void {
  if (checks === UNKEPT) refuse('RetryQueue.enqueue', settings, given)
}

function refuse(what: string, settings: Allowance, given: TaskOptions | undefined): void {
  const { allowMemory = settings.allowMemory } = given ?? {}
  if (allowMemory) return
  throw new NotDurableError(
    'no_store',
    `${what}: ${NO_STORE}, and nothing was sent; ${STORE}, or set allowMemory: true`,
  )
}

/** Throws for an `enqueue` in a Worker unless there is a store, or memory will do. */
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
  const object = `on Cloudflare use workerFetch({ queue: env.REDRIVE, ctx })${how} with a RedriveObject`
  const remedy = `${object}, elsewhere give it a store; or allowMemory: true`
  throw new NotDurableError('no_store', `${what} in a Worker: nothing is kept once this request has ended; ${remedy}`)
}
