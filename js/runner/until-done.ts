/**
 * Tries again by itself what a queue needs and could not have: a chunk, a store. Each wait is twice as long as the one before. No
 * process is kept alive for it, and in a page the network coming back ends the wait.
 */

import { listen } from '../platform/abort.ts'
import type { Runner } from './runner.ts'

/** The longest wait for a chunk: a page may be offline for hours, and its server away for seconds. */
export const LAST_LOAD_WAIT_MS = 60_000
export const FIRST_LOAD_WAIT_MS = 1_000

/**
 * Does `work` now, and again after `waitMs` until it is done or the queue closes. `work` resolves with the longest wait before it is
 * done again; 0: it is done. Resolves after the first time.
 */
export async function untilDone(
  runner: Pick<Runner, 'host' | 'closing'>,
  waitMs: number,
  work: () => Promise<number>,
): Promise<void> {
  const lastMs = await work()
  const { host, closing } = runner
  if (lastMs === 0 || closing.aborted) return
  const waiting = new AbortController()
  const { signal } = waiting
  const end = () => waiting.abort()
  const again = () => {
    end()
    void untilDone(runner, Math.min(waitMs * 2, lastMs), work)
  }
  signal.addEventListener('abort', host.settings.clock.after(waitMs, again, true))
  listen(closing, 'abort', end, signal)
  listen(globalThis, 'online', again, signal)
}
