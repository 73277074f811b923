/**
 * What happens to stored tasks when their queue closes, or when its page is put away: what runs is given back, what waits stays.
 *
 * A page that is hidden for good, frozen, or kept for the way back may never run again, and keeps what it holds. So it holds
 * nothing: its locks and leases are let go, and others go on at once.
 */

import { QueueClosedError } from '../api/errors.ts'
import { notSent, UNSENT } from '../call/not-sent.ts'
import type { StoredTasks } from './stored-tasks.ts'

/**
 * Attempts in flight are aborted and count as not made; the store learns of it with the next turn. One that the server may
 * have, and that must not be repeated, was made: how it ended nobody knows.
 */
function giveBackAll({ loop, runner }: StoredTasks, reason: unknown): void {
  for (const task of [...loop.leased.values()]) {
    const { lease, call, controller } = task
    const isMade = lease?.isSent && call?.replayable === false
    if (isMade) lease.reason = 'outcome_unknown'
    controller?.abort(reason)
    if (!isMade && task.slot >= 0) runner.settle(task, notSent(UNSENT.released, runner.host.now()))
  }
}

/** The queue closes: callers get what there is. */
export async function drain(durable: StoredTasks): Promise<void> {
  const { loop, store, runner } = durable
  const closed = new QueueClosedError(runner.host.settings.name)
  // what a claim under way brings is given back too; a store that fails is asked no more often than this
  for (let round = 0; round < 3; round++) {
    giveBackAll(durable, closed)
    if (round > 0 && loop.settling === 0) break
    await loop.run()
  }
  durable.stop(closed)
  await store.homes?.hold(loop.owner, 0).catch(durable.failed)
  await store.close().catch(durable.failed)
}

/** Listens to the page's life; returns what ends it. Where there is none, nothing happens. */
export function watchPage(durable: StoredTasks): () => void {
  const { document } = globalThis
  const { store } = durable
  if (!document || !store.rest) return () => {}
  const watching = new AbortController()
  const { signal } = watching
  const putAway = () => {
    suspend(durable).catch(durable.failed)
  }
  const back = () => {
    resumeFromSuspend(durable).catch(durable.failed)
  }
  // also for a page that is thrown away: what it lets go of in time nobody has to wait for
  globalThis.addEventListener?.('pagehide', putAway, { signal })
  globalThis.addEventListener?.('pageshow', ({ persisted }) => persisted && back(), { signal })
  document.addEventListener('freeze', putAway, { signal })
  document.addEventListener('resume', back, { signal })
  // timers of a hidden page come late
  document.addEventListener('visibilitychange', () => !document.hidden && durable.runner.tick(), { signal })
  return () => watching.abort()
}

async function suspend(durable: StoredTasks): Promise<void> {
  const { store, loop } = durable
  loop.suspend()
  giveBackAll(durable, new DOMException('the page is put away', 'AbortError'))
  const told = loop.settleEnded()
  // at once: a page that still holds a lock is not kept for the way back
  store.rest?.()
  await told
  if (loop.isSuspended) store.rest?.()
}

async function resumeFromSuspend(durable: StoredTasks): Promise<void> {
  const { loop, callers, runner } = durable
  if (!loop.isSuspended) return
  loop.resumeFromSuspend()
  // where it cannot be said that callers wait here, they are looked after all the same
  await loop.leadership.resumeFromSuspend().catch(durable.failed)
  await durable.guard.check()
  for (const task of durable.watched()) callers.lookSoon(task)
  runner.tick()
}
