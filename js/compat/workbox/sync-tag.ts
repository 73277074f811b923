/** Background Sync under Workbox's own tag: a sync that Workbox or Serwist has asked for wakes this queue, too. */

import type { Syncable, SyncEvent } from '../../platform/sync.ts'

/** The service worker's own registration. */
function registrationHere(): object {
  const { registration } = globalThis as { readonly registration?: object }
  if (registration) return registration
  throw new TypeError(
    "Queue: expected a service worker, where `registration` is; in a page use RetryQueue of 'redrive'",
  )
}

export class SyncTag {
  readonly tag: string
  /** Whether the browser has it, and it is wanted. */
  readonly isSupported: boolean
  readonly #registration: object
  #isRefused = false

  constructor(name: string, isUnwanted: boolean) {
    this.tag = `workbox-background-sync:${name}`
    this.#registration = registrationHere()
    this.isSupported = 'sync' in this.#registration && !isUnwanted
  }

  /** Whether a sync may be expected. */
  get isUsable(): boolean {
    return this.isSupported && !this.#isRefused
  }

  /** Whether it was asked for. Rejects where the browser refuses. */
  async register(): Promise<boolean> {
    if (!this.isSupported) return false
    this.#isRefused = true
    await (this.#registration as Syncable).sync.register(this.tag)
    this.#isRefused = false
    return true
  }

  /** Answers each sync of this tag, or of Serwist's; gives what ends that. */
  listen(answer: (lastChance: boolean) => Promise<void>): () => void {
    const onSync = (event: Event): void => {
      const { tag, lastChance } = event as SyncEvent
      if (tag === this.tag || tag === this.tag.replace('workbox', 'serwist'))
        (event as SyncEvent).waitUntil(answer(lastChance))
    }
    globalThis.addEventListener('sync', onSync)
    return () => globalThis.removeEventListener('sync', onSync)
  }
}
