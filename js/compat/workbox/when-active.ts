/** Waits until a service worker is the one in charge: while it is installed, an older one may still be at work on the same database. */

import type { Clock } from '../../platform/clock.ts'

interface Worker extends EventTarget {
  readonly state: string
}

/** Calls `begin` soon, once this worker is active; gives what takes it back. A browser that does not tell is taken at its word. */
export function whenActive(clock: Clock, begin: () => void): () => void {
  const { serviceWorker } = globalThis as { readonly serviceWorker?: Worker }
  const isActive = (): boolean => !serviceWorker || serviceWorker.state.startsWith('activat')
  if (isActive()) return clock.after(0, begin, true)
  const onChange = (): void => {
    if (!isActive()) return
    serviceWorker?.removeEventListener('statechange', onChange)
    begin()
  }
  serviceWorker?.addEventListener('statechange', onChange)
  return () => serviceWorker?.removeEventListener('statechange', onChange)
}
