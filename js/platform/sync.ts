/** Background Sync as browsers have it, which TypeScript's library does not know. */

export interface SyncEvent extends Event {
  readonly tag: string
  /** The browser will not repeat this sync. */
  readonly lastChance: boolean
  waitUntil(work: Promise<unknown>): void
}

/** That part of a service worker's registration. */
export interface Syncable {
  readonly sync: { register(tag: string): Promise<void> }
}
