/** Workbox's queue in a page. Without a registration that knows `sync` it replays when it is told to, as in browsers without. */
import { Queue } from 'workbox-background-sync/Queue.js'

declare global {
  var Workbox: { readonly Queue: typeof Queue }
}

globalThis.Workbox = { Queue }
