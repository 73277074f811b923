/** The queue of a service worker, with all that it may need: no `import()` works there. */

import type { RetryQueueOptions } from '../options/queue-options.ts'
import { systemClock, within } from '../platform/clock.ts'
import { indexedDbStore } from '../stores/indexeddb.ts'
import * as engine from './chunk.service-worker.ts'
import { FollowPrincipal } from './follow-principal.ts'
import { internalsOf } from './internals.ts'
import { RetryQueue as Queue } from './queue.ts'

/** Longest that a first attempt waits to learn whose it is. */
const LOOK_MS = 2_000

/**
 * A queue that sends an HTTP request again when it fails for a passing reason. It differs from a page's queue in three things:
 *
 * - It is durable, in IndexedDB unless a `store` is given, whether or not a `principal` is; with `durable: false` it is not.
 * - Without `principal` the queue sends the tasks of the principal that a page declared last, and nothing before one did. With
 *   one it sends that one's tasks, while the pages declare the same. It never declares a principal itself. Without `principal`, each
 *   call is the declared one's, and before a page has declared any, null's.
 * - `preload` is 'never' by default: a service worker starts with each navigation, and mostly has nothing to send.
 */
export class RetryQueue extends Queue {
  readonly #following: FollowPrincipal | undefined

  /** Checks its options at once: TypeError and RangeError name the option, what was expected and what came. */
  constructor(options: RetryQueueOptions = {}) {
    const { clock = systemClock, name = 'default', principal, durable = true } = options
    const kept = durable ? (options.store ?? indexedDbStore({ name, clock })) : undefined
    const switchTo = async (named: string | null) => {
      // a core that is yet to come begins with it
      if (host.forget) await this.setPrincipal(named)
      else host.principal = named
    }
    const following = kept?.principals && new FollowPrincipal(kept, kept.principals, principal, switchTo)
    const given = { ...options, ...(kept ? { principal: principal ?? null, store: following?.store ?? kept } : {}) }
    const source = async () => {
      // it may be asked for while the queue is being made
      await Promise.resolve()
      await following?.learn()
      return engine
    }
    super({ preload: 'never', ...given }, source, engine.CHECKS)
    const { host } = internalsOf(this)
    this.#following = following
    if (!following || principal !== undefined) return
    host.whose = () => {
      const known = following.learn().then(() => host.principal)
      // a store that is blocked holds up no first attempt for long; a task waits until it is known
      const soon = within(clock, LOOK_MS, '', known).catch(() => host.principal)
      return Object.assign(soon, { known })
    }
  }

  /** Resolves as a page's does, and only once the store was asked which tasks wait now, and for which principal. */
  override get ready(): Promise<void> {
    return this.#open()
  }

  async #open(): Promise<void> {
    const named = await this.#following?.learn()
    await super.ready
    // closed meanwhile, or a store that fails: `degraded` has said so
    if (named !== undefined) await this.setPrincipal(named).catch(() => {})
  }
}
