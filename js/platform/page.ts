/** The page a queue runs in, where it runs in one: whether there is one, whether it is offline, and when it has time to spare. */

import { systemClock } from './clock.ts'

/** Whether this is a page, or a worker of one: a host with an address of its own, whose requests carry its user's cookies. */
export function isPage(): boolean {
  return globalThis.location !== undefined
}

/**
 * The origin of the page; undefined: this is none. A frame in a sandbox has none ('null') whatever its address, and a frame by `srcdoc` that of the page around
 * it. In all others the address has it: `origin` may be a variable of a script's.
 */
export function pageOrigin(): string | undefined {
  const address = globalThis.location?.origin
  const own = globalThis.origin ?? address
  return address && [address, own].includes('null') ? own : address
}

/** Only a browser knows; `true` there may still be wrong, `false` never is. */
export function isOffline(): boolean {
  return globalThis.navigator?.onLine === false
}

/** Calls `work` when the page has nothing better to do; returns what takes it back. */
export function whenIdle(work: () => void): () => void {
  // Safari and workers have none
  if ('requestIdleCallback' in globalThis) {
    const handle = requestIdleCallback(work, { timeout: 2_000 })
    return () => cancelIdleCallback(handle)
  }
  return systemClock.after(200, work)
}
