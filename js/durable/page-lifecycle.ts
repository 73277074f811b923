/**
 * Gives stored tasks back when their queue closes or when its page is put away. What runs is given back, what waits stays.
 *
 * A page that is hidden for good, frozen, or kept for the way back may never run again, and keeps the locks and leases it has.
 * So it releases them at once, and other tabs go on with its tasks.
 */

import { notSent } from '../call/not-sent.ts'
import { OUTCOME_RELEASED } from '../core/codes.ts'
import { listen } from '../platform/abort.ts'
import { whenPutAway } from '../platform/put-away.ts'
import type { Leadership } from './leadership.ts'
import type { PrincipalGuard } from './principal-guard.ts'
import type { StoredState } from './state.ts'
import type { StoreLoop } from './store-loop.ts'
import type { WaitingCallers } from './waiting-callers.ts'

/** The parts of a queue that rest while its page is put away. */
export interface PageParts {
  readonly state: StoredState
  readonly loop: StoreLoop
  readonly leadership: Leadership
  readonly callers: WaitingCallers
  readonly guard: PrincipalGuard
}

/**
 * Aborts the attempts in flight, and gives back leases that wait for an answer of the store. They count as not made, and the store learns
 * of it with the next turn. An attempt that the server may have, and that must not be repeated, was made: its outcome is unknown.
 */
function giveBackAll({ leased, pending, runner }: StoredState, reason: unknown): void {
  pending.giveBack()
  for (const task of [...leased.values()]) {
    const { lease, call, attempt } = task
    const isMade = lease?.isSent && call?.replayable === false
    if (isMade) lease.reason = 'outcome_unknown'
    attempt?.abort(reason)
    if (!isMade && task.slot >= 0) runner.settle(task, notSent(OUTCOME_RELEASED, runner.host.now()))
  }
}

/** Gives back what runs, and has the store written down what has ended, before the queue closes for `reason`. */
export async function drain({ state, loop }: PageParts, reason: unknown): Promise<void> {
  // what a claim under way brings is given back too; a store that fails is asked no more often than this
  for (let round = 0; round < 3; round++) {
    giveBackAll(state, reason)
    if (round > 0 && loop.settling === 0) break
    await loop.run()
  }
}

/** Suspends the parts while the page is put away; returns what stops the watching. Outside of pages nothing happens. */
export function watchPage(parts: PageParts): () => void {
  const { document } = globalThis
  const { store, failed, runner } = parts.state
  if (!document || !store.suspend) return () => {}
  const watching = new AbortController()
  const { signal } = watching
  // also for a page that is thrown away: no tab has to wait for what it lets go of in time
  whenPutAway(
    () => void suspend(parts).catch(failed),
    () => void resumeFromSuspend(parts).catch(failed),
    signal,
  )
  // timers of a hidden page come late
  listen(document, 'visibilitychange', () => !document.hidden && runner.tick(), signal)
  return () => watching.abort()
}

async function suspend({ state, loop, guard }: PageParts): Promise<void> {
  const { store } = state
  loop.suspend()
  // its timers may come back before it does, and another user have logged in meanwhile
  guard.suspend()
  giveBackAll(state, new DOMException('the page is put away', 'AbortError'))
  const settled = loop.settleEnded()
  // at once: a page that still holds a lock is not kept for the way back
  store.suspend?.()
  await settled
  if (loop.isSuspended) store.suspend?.()
}

async function resumeFromSuspend({ state, loop, leadership, callers, guard }: PageParts): Promise<void> {
  if (!loop.isSuspended) return
  loop.resumeFromSuspend()
  // where the store cannot be told that callers wait here, they are looked after all the same
  await leadership.resumeFromSuspend().catch(state.failed)
  await guard.resumeFromSuspend()
  for (const task of state.watched()) callers.lookSoon(task)
  state.runner.tick()
}
