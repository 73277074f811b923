/** A page that is put away: kept for the way back, frozen, or left for good. */

import { listen } from './abort.ts'

/** Calls `onAway` when the page is put away, and `onBack` when it is back, until `signal` is aborted. */
export function whenPutAway(onAway: () => void, onBack: () => void, signal: AbortSignal): void {
  const { document } = globalThis
  listen(globalThis, 'pagehide', onAway, signal)
  // it is also told of a page that is new
  const onShow = ({ persisted }: PageTransitionEvent) => persisted !== false && onBack()
  listen(globalThis, 'pageshow', onShow, signal)
  listen(document, 'freeze', onAway, signal)
  listen(document, 'resume', onBack, signal)
}
