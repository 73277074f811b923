/**
 * Delivery while no page is open, in browsers with Background Sync (Chromium's): a page asks for a sync while tasks wait, and
 * its service worker, woken by the browser once there is a network, sends them.
 *
 * Nothing depends on it: without it, or where the browser refuses, tasks are sent by the next page that is open. It never
 * ends a task: what a sync leaves stays in the store as it was.
 */

import { RedriveError } from './api/errors.ts'
import { check, int, object, type Rules } from './options/check.ts'
import { whenIdle } from './platform/page.ts'
import type { Syncable, SyncEvent } from './platform/sync.ts'
import { DRAIN_MS, drainOf } from './queue/drain.ts'
import { internalsOf } from './queue/internals.ts'
import type { RetryQueue } from './queue/queue.ts'
import type { QueueContext } from './runner/context.ts'

export interface BackgroundSyncOptions {
  /** In a page: whose service worker is to be woken. @default the page's own, `navigator.serviceWorker.ready` */
  readonly registration?: { readonly scope: string; update(): Promise<unknown> }
  /**
   * In a service worker: how long one sync may work, in ms, before what is left is handed back to the browser, which ends
   * a sync by itself after 5 minutes. 1,000 to 300,000. @default 240_000
   */
  readonly drainMs?: number
}

const RULES: Rules<BackgroundSyncOptions> = { registration: object, drainMs: int(1_000, 300_000) }
/** A failing server makes many retries; an unfinished sync is repeated by the browser, so asking once a minute is plenty. */
const ASK_AGAIN_MS = 60_000

type FindRegistration = () => object | undefined | Promise<object>

/**
 * Has the browser deliver the queue's stored tasks when there is a network again, also while no page is open. Called in
 * both places: in a page it asks for a sync (tag `redrive/<name>`) whenever tasks wait; in the service worker, where it has
 * to be called while the script first runs, it answers the sync. The queues of both have the same `name`.
 *
 * A sync lasts until nothing waits, nothing more is due soon, or `drainMs` is over. Where tasks are left it fails, so that
 * the browser repeats it; the last time it does not, and they wait for the next page.
 *
 * ```ts
 * // in the page
 * const queue = new RetryQueue({ name: 'reports', durable: true, principal: user.id })
 * registerBackgroundSync(queue)
 *
 * // in the service worker, with `RetryQueue` from 'redrive/service-worker'
 * const credentials = { self: async () => ({ authorization: await freshToken() }) }
 * const queue = new RetryQueue({ name: 'reports', credentials })
 * registerBackgroundSync(queue)
 * ```
 *
 * @returns what takes it back; false where there is nothing to do: no Background Sync here, or a queue in memory.
 */
export function registerBackgroundSync(queue: RetryQueue, options: BackgroundSyncOptions = {}): (() => void) | false {
  check('registerBackgroundSync', options, RULES)
  const { host } = internalsOf(queue, 'registerBackgroundSync(queue)')
  if (!('SyncManager' in globalThis) || !host.settings.durable) return false
  const isWorker = 'ServiceWorkerGlobalScope' in globalThis
  // a page without TLS has none, while Chromium has the rest there, too
  if (!isWorker && !options.registration && !navigator.serviceWorker) return false
  const tag = `redrive/${queue.name}`
  const inPage = () => options.registration ?? navigator.serviceWorker.ready
  const inWorker = (globalThis as { readonly registration?: object }).registration
  const asking = askingOf(host, tag, isWorker ? () => inWorker : inPage)
  const answers = isWorker ? answersOf(queue, host, tag, options.drainMs ?? DRAIN_MS) : undefined
  // what a sync leaves the browser repeats: one asked for meanwhile would follow at once, and another upon it
  const isAsked = () => answers?.isUnderWay !== true
  const undo = [
    queue.on('queued', () => isAsked() && asking.ask()),
    queue.on('retry', () => isAsked() && asking.askAgain()),
    answers ? answers.listen() : whenIdle(() => askIfLeft(queue, asking)),
  ]
  return () => {
    for (const each of undo) each()
  }
}

/** For what an earlier page has left: its sync may have had its last chance. */
function askIfLeft(queue: RetryQueue, asking: Asking): void {
  queue.list({ status: 'PENDING', limit: 1 }).then(
    ({ tasks }) => tasks.length > 0 && asking.ask(),
    () => {}, // closed meanwhile, or its store fails and says so by itself
  )
}

interface Asking {
  /** Asks the browser for a sync; many at once cost one. */
  ask(): void
  askAgain(): void
}

function askingOf({ degraded, now }: QueueContext, tag: string, registration: FindRegistration): Asking {
  let isAsking = false
  let askedAt = Number.NEGATIVE_INFINITY

  async function register(): Promise<void> {
    try {
      // a site without a service worker waits here for good, with one promise
      const { sync } = (await registration()) as Syncable
      // before it is asked: a task that is stored from here on may come after the sync has looked
      isAsking = false
      askedAt = now()
      await sync.register(tag)
    } finally {
      isAsking = false
    }
  }

  function ask(): void {
    if (isAsking) return
    isAsking = true
    register().catch((error) => {
      const still = 'its tasks wait for the next page that is open'
      degraded('sync_refused', `the browser refuses a background sync of '${tag}' (${error}): ${still}`, 'sync')
    })
  }

  return {
    ask,
    askAgain() {
      if (now() - askedAt >= ASK_AGAIN_MS) ask()
    },
  }
}

interface Answers {
  readonly isUnderWay: boolean
  /** Gives what takes it back. */
  listen(): () => void
}

/** The service worker's side: what happens when the browser has woken it. */
function answersOf(queue: RetryQueue, host: QueueContext, ownTag: string, drainMs: number): Answers {
  const drain = drainOf(queue, host)
  let underWay = 0

  async function answer(lastChance: boolean): Promise<void> {
    underWay++
    const isDone = await drain.run(drainMs).finally(() => {
      underWay--
    })
    const blindness = drain.blindness()
    if (lastChance || (isDone && blindness === undefined)) return
    const why = blindness ?? `not every task of '${queue.name}' could be sent`
    throw new RedriveError('SYNC_UNFINISHED', `${why}; the browser repeats the sync, and a page that is open goes on`)
  }

  return {
    get isUnderWay() {
      return underWay > 0
    },
    listen() {
      const onSync = (event: Event): void => {
        const { tag, lastChance } = event as SyncEvent
        if (tag === ownTag) (event as SyncEvent).waitUntil(answer(lastChance))
      }
      globalThis.addEventListener('sync', onSync)
      return () => {
        drain.stop()
        globalThis.removeEventListener('sync', onSync)
      }
    },
  }
}
